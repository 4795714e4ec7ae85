"""Black-and-white pages to files: 1-bit PNG, CCITT G4 TIFF and PDF, with ink black and resolution kept."""

from drmamba.images.writing.bitmap import Bitmap
from drmamba.images.writing.encoding import (
    WRITABLE,
    CodedPage,
    encode,
    encode_document,
    encode_grey,
    encode_page,
    write_bitmap,
    write_ink,
)
from drmamba.images.writing.g4 import G4Page, GreyLayer, encode_g4

__all__ = [
    "Bitmap",
    "CodedPage",
    "G4Page",
    "GreyLayer",
    "WRITABLE",
    "encode",
    "encode_document",
    "encode_g4",
    "encode_grey",
    "encode_page",
    "write_bitmap",
    "write_ink",
]
