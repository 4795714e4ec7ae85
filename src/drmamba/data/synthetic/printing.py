"""Typeset text: lines in one font that fill part of a page, worn like old type."""

from __future__ import annotations

import math
import unicodedata
from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drmamba.compilation import compiled
from drmamba.data.filters import blur
from drmamba.data.page import Field
from drmamba.data.synthetic.fonts import settable
from drmamba.data.synthetic.texts import RIGHT_TO_LEFT, Script
from drmamba.data.synthetic.typecase import Face, lay, set_type
from drmamba.data.wide_noise import clouds, noise


def typeset(
    rng: np.random.Generator,
    shape: tuple[int, int],
    file: str,
    script: Script,
    size: int,
    *,
    capitals: bool = False,
    whole: bool = False,
) -> Field:
    """Lines of words in one font, as the share of each pixel that ink covers.

    `capitals` sets capital letters without gaps between words, as on papyri and inscriptions. Lines and words are cut
    off at the edges as on part of a page, unless `whole` asks for a complete block of text.
    """
    face = Face(file, script)
    vocabulary = settable(file, script)
    page = np.zeros(shape, np.float32)
    step = size * rng.uniform(1.0, 1.7)
    left = -rng.uniform(0, 5) * size if rng.random() < 0.75 else rng.uniform(0.02, 0.3) * shape[1]
    top = -rng.uniform(0, step)
    if whole:
        left = top = 0.0
    ragged = rng.random() < 0.3
    word = int(rng.integers(len(vocabulary)))
    while top < shape[0] - (step if whole else 0):
        draw = rng.random()
        if draw > 0.06:  # some lines are left out
            start = left + (rng.uniform(0, 0.4) * shape[1] if draw > 0.9 else 0)
            room = shape[1] - start - (rng.uniform(0, 0.3) * shape[1] if ragged else 0)
            row = _words(vocabulary, word, math.ceil(max(1.0, room / size * 2.4)), capitals)
            line = set_type(face, size, "".join(row).rstrip())
            while whole and len(row) > 1 and line.shape[1] > room:
                row = row[: max(1, min(len(row) - 1, int(len(row) * room / line.shape[1])))]
                line = set_type(face, size, "".join(row).rstrip())
            word += len(row)
            place = top + rng.normal(0, 0.01) * size
            lay(page, line, shape[1] - start - line.shape[1] if script in RIGHT_TO_LEFT else start, place)
        top += step
    return page


def _words(vocabulary: tuple[str, ...], start: int, length: int, capitals: bool) -> list[str]:
    """Consecutive words of the text with the spaces after them, at least `length` characters in all."""
    row: list[str] = []
    while sum(map(len, row)) < length:
        word = vocabulary[(start + len(row)) % len(vocabulary)]
        row.append(plain_capitals(word) if capitals else f"{word} ")
    return row


@cache
def plain_capitals(word: str) -> str:
    """Capital letters without accents, breathings and punctuation."""
    return "".join(c for c in unicodedata.normalize("NFD", word.upper()) if c.isalpha())


def worn(coverage: Field, rng: np.random.Generator, amount: float) -> Field:
    """Worn type on rough paper: edges fray, thin places are missing, and ink squeezes out."""
    if amount <= 0:
        return coverage
    rough = noise(rng, coverage.shape, rng.uniform(2, 4)) * np.float32(0.28 * amount)
    rough += clouds(rng, coverage.shape, 40, octaves=2) * np.float32(0.08 * amount)
    soft = blur(coverage, 0.5 + 0.4 * amount)
    weight = np.float32(rng.normal(0.04, 0.07))  # a heavier or a lighter impression
    result: Field = _frayed(soft, rough, weight)
    return result


@compiled(nogil=True)
def _frayed(soft: Field, rough: Field, weight: float) -> Field:  # pragma: no cover - compiled
    """Add roughness and weight where there is ink, then apply a soft threshold from 0.25 to 0.75."""
    result = np.zeros_like(soft)
    for y in range(soft.shape[0]):
        for x in range(soft.shape[1]):
            value = soft[y, x]
            if value <= 0:
                continue
            value += rough[y, x] * min(4 * value, np.float32(1)) + (weight if value > 0.05 else 0)
            t = min(max(2 * value - np.float32(0.5), np.float32(0)), np.float32(1))
            result[y, x] = t * t * (3 - 2 * t)
    return result


def tilted(coverage: Field, rng: np.random.Generator, degrees: float) -> Field:
    """The layer rotated by a small random angle about its middle; the new corners are blank."""
    values: NDArray[np.uint8] = (coverage * 255).astype(np.uint8)
    rotated = Image.fromarray(values).rotate(float(rng.normal(0, degrees)), Image.Resampling.BICUBIC)
    return np.asarray(rotated) * np.float32(1 / 255)
