"""What all decoders share: one kind of error for damaged files, and a limit on declared sizes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from PIL import UnidentifiedImageError

from drmamba.errors import ImageError, MemoryLimitError, PixelLimitError
from drmamba.images.reading.formats import READABLE

# What decoders say when memory runs out, and sometimes for a damaged file as well.
STARVED = ("could not create decoder object", "decoder error -9")


@contextlib.contextmanager
def decoding(path: Path) -> Iterator[None]:
    """Turn whatever a decoder raises for a damaged file into an ImageError that names the file."""
    try:
        yield
    except ImageError:
        raise
    except UnidentifiedImageError as error:
        known = path.suffix.lower() in READABLE
        words = "is damaged, or not the picture that its name says" if known else "is not a picture"
        raise ImageError(f"{path} {words}; this program reads {', '.join(READABLE)}") from error
    except MemoryError as error:
        raise MemoryLimitError(f"{path}: there is not enough memory to decode it") from error
    # Decoders raise nearly any exception for damaged input (struct.error, KeyError, SyntaxError, ...).
    except Exception as error:
        if (
            isinstance(error, OSError) and error.errno is not None
        ):  # The system refused, whatever the file holds.
            raise ImageError(f"cannot read {path}: {error.strerror or error}") from error
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        starved = reason in STARVED
        words = (
            "is damaged, or needs more memory than there is" if starved else "is damaged and cannot be read"
        )
        raise ImageError(f"{path} {words}: {reason}") from error


def check_size(path: Path, height: int, width: int, max_pixels: int) -> None:
    """Refuse a page by its declared size, before anything is decoded."""
    if height < 1 or width < 1:
        raise ImageError(f"{path} declares a page of {width} x {height} pixels")
    if height * width > max_pixels:
        size = f"{width} x {height} = {height * width / 1e6:,.0f} megapixels"
        words = f"{path} declares {size}, over the limit of {max_pixels / 1e6:,.0f}"
        raise PixelLimitError(words, height * width, max_pixels)
