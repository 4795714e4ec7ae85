"""Character errors of the blocks whose text is known."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from anypage_pages.page import Category, Mask, Page, TextBlock
from reading import edit_distance, read

READING_ZOOM = 2  # tesseract reads small print better when it is enlarged; every method gets the same
MARGIN = 24  # white pixels around a block, as tesseract wants them


def block_picture(found: Mask, block: TextBlock) -> NDArray[np.uint8]:
    """A block cut from a binarized page, upright, black on white and enlarged."""
    height, width = found.shape
    left, top = max(0, round(block.box[0])), max(0, round(block.box[1]))
    right, bottom = min(width, round(block.box[2])), min(height, round(block.box[3]))
    cut = np.rot90(found[top:bottom, left:right], -block.turn // 90)
    if block.category == "headline" and cut.mean() > 0.5:  # white letters on a black band
        cut = ~cut
    page = np.pad(np.where(cut, 0, 255).astype(np.uint8), MARGIN, constant_values=255)
    picture = Image.fromarray(page)
    size = (picture.width * READING_ZOOM, picture.height * READING_ZOOM)
    return np.asarray(picture.resize(size, Image.Resampling.BICUBIC))


def character_errors(found: Mask, page: Page) -> dict[Category, tuple[int, int]]:
    """Wrong characters and characters of the text, by the category of the blocks."""
    errors: dict[Category, tuple[int, int]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for block in page.blocks:
            text = " ".join(block.text.split())
            seen = " ".join(read(block_picture(found, block), Path(folder)).split())
            wrong, length = errors.get(block.category, (0, 0))
            # Noise can be read as any number of characters: no block is more than all wrong.
            errors[block.category] = (
                wrong + min(edit_distance(seen, text), len(text)),
                length + len(text),
            )
    return errors
