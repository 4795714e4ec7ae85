"""Pictures of a page at the size of a screen: the scan, the result, and the network's maps in colour."""

from __future__ import annotations

import matplotlib
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drmamba.errors import InputError
from drmamba.images import RGB, Bitmap
from drmamba.inference.explain import Exploration, Map

LONGEST_SIDE = 1600  # pixels of a picture on the screen
THUMBNAIL_SIDE = 240  # pixels
THUMBNAIL_GREY = 236  # grey level around a thumbnail
RIM = 24  # pixels at the border, where the scans have only begun and the maps say little
LAYERS = ("Result", "Probability", "Gate β", "Background B", "Taken away β·B")


def thumbnail(bitmap: Bitmap) -> RGB:
    """Return a small picture of a result on a square."""
    small = bitmap.image().convert("L")
    small.thumbnail((THUMBNAIL_SIDE, THUMBNAIL_SIDE))
    square = Image.new("L", (THUMBNAIL_SIDE, THUMBNAIL_SIDE), THUMBNAIL_GREY)
    square.paste(small, ((THUMBNAIL_SIDE - small.width) // 2, (THUMBNAIL_SIDE - small.height) // 2))
    return np.asarray(square.convert("RGB"))


def screen_sized(rgb: RGB) -> RGB:
    """Return a page reduced to the size of a screen."""
    factor = -(-max(rgb.shape[:2]) // LONGEST_SIDE)
    return rgb if factor == 1 else np.asarray(Image.fromarray(rgb).reduce(factor))


def layer_picture(exploration: Exploration, layer: str) -> RGB:
    """Return the picture of one of the LAYERS."""
    if layer not in LAYERS:
        raise InputError(f"there is no layer {layer!r}; there are {', '.join(LAYERS)}")
    page, rows = exploration.page, exploration.rows
    if layer == "Result":
        return grey_picture(np.where(page.binary, np.uint8(0), np.uint8(255)))
    if layer == "Probability":
        return grey_picture((255 - page.probability * 255 + 0.5).astype(np.uint8))
    why = exploration.explanation()
    values = {"Gate β": why.beta, "Background B": why.B, "Taken away β·B": why.taken}[layer]
    small = screen_sized(rows.rows(0, rows.height))
    return overlay(small, resized(values, small.shape[:2]))


def grey_picture(values: NDArray[np.uint8]) -> RGB:
    """Return grey values as RGB at the size of a screen."""
    return screen_sized(np.repeat(values[:, :, None], 3, axis=2))


def resized(values: Map, shape: tuple[int, ...]) -> Map:
    """Return a map at the size of a picture."""
    return np.asarray(Image.fromarray(values).resize((shape[1], shape[0]), Image.Resampling.BOX))


def overlay(page: RGB, values: Map) -> RGB:
    """Return a map in colours, through which the page is visible."""
    rim = [min(RIM, side // 4) for side in values.shape]
    inner = values[rim[0] : values.shape[0] - rim[0], rim[1] : values.shape[1] - rim[1]]
    low, high = np.percentile(inner, (1, 99))
    level = np.clip((values - low) / max(float(high - low), 1e-9), 0, 1)
    colours = 255 * matplotlib.colormaps["viridis"](level)[:, :, :3]
    brightness = page.mean(axis=2, keepdims=True) / 255
    shaded: RGB = np.rint(colours * (0.45 + 0.55 * brightness)).astype(np.uint8)
    return shaded
