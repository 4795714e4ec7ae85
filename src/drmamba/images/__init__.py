"""Files to arrays and back: the only package that knows formats, orientation, resolution and polarity."""

from __future__ import annotations

from drmamba.images.arrays import DPI, RGB, Ink
from drmamba.images.reading import (
    READABLE,
    READABLE_IMAGES,
    ArraySource,
    FilePage,
    PageSource,
    as_page_source,
    count_pages,
    open_pages,
    read_ink,
    read_rgb,
)
from drmamba.images.record import read_record
from drmamba.images.writing import (
    Bitmap,
    CodedPage,
    GreyLayer,
    encode,
    encode_document,
    encode_grey,
    encode_page,
    write_bitmap,
    write_ink,
)

__all__ = [
    "ArraySource",
    "Bitmap",
    "CodedPage",
    "DPI",
    "FilePage",
    "GreyLayer",
    "Ink",
    "PageSource",
    "READABLE",
    "READABLE_IMAGES",
    "RGB",
    "as_page_source",
    "count_pages",
    "encode",
    "encode_document",
    "encode_grey",
    "encode_page",
    "open_pages",
    "read_ink",
    "read_record",
    "read_rgb",
    "write_bitmap",
    "write_ink",
]
