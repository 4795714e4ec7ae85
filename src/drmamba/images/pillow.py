"""Opening pictures with Pillow under this package's own size limit."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from PIL import Image

_lock = threading.Lock()


@contextlib.contextmanager
def pillow_limit_disabled() -> Iterator[None]:
    """Switch off Pillow's size limit, because this package applies a limit of its own (`max_pixels`)."""
    with _lock:
        before, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
        try:
            yield
        finally:
            Image.MAX_IMAGE_PIXELS = before
