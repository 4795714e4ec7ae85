"""The settings of writing files; they change no pixel."""

from typing import Literal

PdfCoding = Literal["auto", "g4", "jbig2"]  # auto is jbig2 where jbig2enc is installed, and g4 elsewhere
