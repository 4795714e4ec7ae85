"""The text that tesseract reads on a page, and its character errors, for the benchmarks that use OCR."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image


def tesseract_found() -> bool:
    """Whether tesseract is on the PATH."""
    return shutil.which("tesseract") is not None


def read(page: NDArray[np.uint8], folder: Path) -> str:
    """The text that tesseract reads, as one block of English at 300 dpi."""
    path = folder / "page.png"
    Image.fromarray(page).save(path, dpi=(300, 300))
    command = ["tesseract", str(path), "stdout", "--psm", "6", "-l", "eng"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def edit_distance(a: str, b: str) -> int:
    """The Levenshtein distance of two strings, computed one row of the table at a time."""
    letters = np.array([ord(c) for c in b])
    row = np.arange(len(b) + 1)
    steps = np.arange(len(b) + 1)
    for number, letter in enumerate(a, 1):
        best = np.minimum(row[:-1] + (letters != ord(letter)), row[1:] + 1)
        row = np.minimum.accumulate(np.concatenate([[number], best]) - steps) + steps
    return int(row[-1])


def error_rate(found: str, text: str) -> float:
    """The character error rate; any run of white space counts as one space."""
    found, text = " ".join(found.split()), " ".join(text.split())
    return edit_distance(found, text) / len(text)
