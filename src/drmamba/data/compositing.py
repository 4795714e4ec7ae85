"""Compositing: darken a picture, or blend another picture or a colour into it, in one pass over the pixels.

numpy needs several passes and is slow where the last axis has only three elements. Each kernel spells out its own loop
over pixels and channels, because a loop shared through a function argument would not be inlined.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from drmamba.compilation import compiled
from drmamba.data.page import Field, Picture


def darkened(image: Picture, amount: Field, dark: ArrayLike) -> Picture:
    """Darken a picture: image * (1 - amount * dark), clipped to [0, 1]; `dark` is (3,), one value per channel."""
    share = np.asarray(dark, np.float32)
    result: Picture = _darkened(np.ascontiguousarray(image), np.ascontiguousarray(amount), share)
    return result


def covered(image: Picture, amount: Field, other: Picture | NDArray[np.float32]) -> Picture:
    """Blend: the image where `amount` is 0, the other picture or colour (3,) where it is 1."""
    function = _coloured if other.ndim == 1 else _covered
    layers = (np.ascontiguousarray(values) for values in (image, amount, other))
    result: Picture = function(*layers)
    return result


@compiled(nogil=True)
def _darkened(image: Picture, amount: Field, dark: Field) -> Picture:  # pragma: no cover - compiled
    result = np.empty_like(image)
    one, zero = np.float32(1), np.float32(0)
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            a = amount[y, x]
            for c in range(3):
                result[y, x, c] = min(one, max(zero, image[y, x, c] * (one - a * dark[c])))
    return result


@compiled(nogil=True)
def _covered(image: Picture, amount: Field, other: Picture) -> Picture:  # pragma: no cover - compiled
    result = np.empty_like(image)
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            a = amount[y, x]
            for c in range(3):
                result[y, x, c] = image[y, x, c] + a * (other[y, x, c] - image[y, x, c])
    return result


@compiled(nogil=True)
def _coloured(image: Picture, amount: Field, colour: Field) -> Picture:  # pragma: no cover - compiled
    result = np.empty_like(image)
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            a = amount[y, x]
            for c in range(3):
                result[y, x, c] = image[y, x, c] + a * (colour[c] - image[y, x, c])
    return result
