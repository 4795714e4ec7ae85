"""The record of how a page was made, as it is found inside the PNG, TIFF and PDF files of this package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PIL import Image

from drmamba.files import open_regular
from drmamba.images.pillow import pillow_limit_disabled
from drmamba.images.tiff_directory import DESCRIPTION, SOFTWARE

PROGRAM = "drmamba"  # the software named in a TIFF, the key of a PNG's text, and a PDF's producer
PDF_RECORD = f"/{PROGRAM}"  # the entry of a PDF's document information


def read_record(path: Path) -> str:
    """Return the record in a file of this package; it is empty if the file has none or is foreign."""
    try:
        with open_regular(path):  # A pipe in place of a file must not be waited for.
            pass
        if path.suffix.lower() == ".pdf":
            import pikepdf

            with pikepdf.open(path) as pdf:
                return str(pdf.docinfo.get(PDF_RECORD, ""))
        with pillow_limit_disabled(), Image.open(path, formats=["PNG", "TIFF"]) as image:
            if image.format == "PNG":
                return str(image.info.get(PROGRAM, ""))
            tags: Any = image.tag_v2  # type: ignore[attr-defined]
            return str(tags.get(DESCRIPTION, "")) if tags.get(SOFTWARE) == PROGRAM else ""
    except Exception:  # A foreign or damaged file has no record, whatever the decoder says about it.
        return ""
