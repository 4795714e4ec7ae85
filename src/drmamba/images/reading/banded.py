"""Pages too large to be decoded at once, decoded a band at a time: TIFF, PNG and baseline JPEG.

Pages in other formats, progressive JPEGs, interlaced PNGs and pages that are stored sideways need memory for all their
pixels.
"""

from __future__ import annotations

from drmamba.images.reading.banded_jpeg import BandedJpegPage, can_stream_jpeg
from drmamba.images.reading.banded_png import BandedPngPage
from drmamba.images.reading.banded_tiff import BandedTiffPage, StreamedTiffPage, has_large_pieces
from drmamba.images.reading.metadata import UPRIGHT
from drmamba.images.reading.raster import RasterPage
from drmamba.images.tiff_directory import STRIP_OFFSETS, TILE_OFFSETS


def banded_page(page: RasterPage) -> RasterPage:
    """Return the page as one that is decoded in bands, or the page itself if that is impossible."""
    if page.orientation != UPRIGHT or page.turned_by_pillow:
        return page
    if page.format == "TIFF" and (STRIP_OFFSETS in page.tags or TILE_OFFSETS in page.tags):
        kind = StreamedTiffPage if has_large_pieces(page) else BandedTiffPage
        return kind(page.image, page.path)
    if page.format == "PNG" and not page.image.info.get("interlace"):
        return BandedPngPage(page.image, page.path)
    if can_stream_jpeg(page):
        return BandedJpegPage(page.image, page.path)
    return page
