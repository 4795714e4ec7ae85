"""JBIG2 coding of pages in PDF files by jbig2enc, where that program is installed.

Pages are coded without loss, pixel by pixel. The program's symbol mode, which replaces letters by others that look
like them, is never used: it has turned sixes into eights.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from drmamba.errors import ImageError
from drmamba.images.arrays import DPI
from drmamba.images.writing.bitmap import Bitmap

PROGRAM = "jbig2"
MAX_SECONDS = 600.0  # for one page; a page of 500 megapixels takes less than a minute
MAX_SIDE = 65_535  # pixels; larger pages are coded by G4


@dataclass(frozen=True)
class Jbig2Page:
    """A page as a JBIG2 stream for a PDF file."""

    data: bytes
    width: int
    height: int
    dpi: DPI | None


def find_jbig2() -> str | None:
    """Return the path of jbig2enc's program, or None if it is not installed."""
    return shutil.which(PROGRAM)


def encode_jbig2(bitmap: Bitmap, program: str) -> Jbig2Page:
    """Code a page without loss."""
    with tempfile.TemporaryDirectory(prefix="drmamba-") as folder:
        page = Path(folder) / "page.pbm"
        page.write_bytes(f"P4\n{bitmap.width} {bitmap.height}\n".encode() + bitmap.bits.tobytes())
        try:
            done = subprocess.run(
                [program, "-p", str(page)],
                capture_output=True,
                timeout=MAX_SECONDS,
                check=True,
                stdin=subprocess.DEVNULL,
            )
        except (OSError, subprocess.SubprocessError) as error:
            said = (getattr(error, "stderr", b"") or b"").decode(errors="replace")
            reason = " ".join(said.split())[-200:] or str(error)
            raise ImageError(f"{program} could not code a page: {reason}; use --pdf-coding g4") from error
    if not done.stdout:
        raise ImageError(f"{program} gave no data for a page; use --pdf-coding g4")
    return Jbig2Page(done.stdout, bitmap.width, bitmap.height, bitmap.dpi)
