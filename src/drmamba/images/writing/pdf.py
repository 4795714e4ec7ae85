"""PDF files of CCITT G4 or JBIG2 pages, with pictures in grey below the ink.

They are written with pikepdf, which is loaded when the first PDF is written.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

from drmamba.config import ReadingConfig
from drmamba.images.record import PDF_RECORD, PROGRAM
from drmamba.images.writing.g4 import G4Page, GreyLayer
from drmamba.images.writing.jbig2 import Jbig2Page

MAX_POINTS = 14_400  # points (1/72 inch); the longest side of a page that PDF allows


def encode_pdf(pages: Iterable[G4Page | Jbig2Page], record: str = "") -> bytes:
    """Return the bytes of a PDF file; the size of each page on paper follows from its resolution."""
    import pikepdf

    default = (float(ReadingConfig().dpi),) * 2  # A PDF page has a size on paper even if none is known.
    with pikepdf.new() as pdf:
        for page in pages:
            dpi_x, dpi_y = page.dpi or default
            wide, high = 72 * page.width / dpi_x, 72 * page.height / dpi_y
            unit = max(1.0, wide / MAX_POINTS, high / MAX_POINTS)  # Larger pages are given in larger units.
            wide, high = wide / unit, high / unit
            pictures, drawn, left = pikepdf.Dictionary(), "", page.height
            layers = page.layers if isinstance(page, G4Page) else ()
            for number, layer in enumerate(layers):
                drawn += _place(layer, page, wide, high) + f" cm /Picture{number} Do Q\n"
                pictures[f"/Picture{number}"] = pikepdf.Stream(
                    pdf,
                    layer.jpeg,
                    Type=pikepdf.Name.XObject,
                    Subtype=pikepdf.Name.Image,
                    Width=layer.width,
                    Height=layer.height,
                    ColorSpace=pikepdf.Name.DeviceGray,
                    BitsPerComponent=8,
                    Filter=pikepdf.Name.DCTDecode,
                )
            # Above pictures the ink is a stencil, so that they show through where there is none.
            colours = {"ImageMask": True} if layers else {"ColorSpace": pikepdf.Name.DeviceGray}
            strips = page.strips if isinstance(page, G4Page) else [(page.height, page.data)]
            for number, (rows, data) in enumerate(strips):
                left -= rows
                place = f"{wide:.4f} 0 0 {high * rows / page.height:.4f} 0 {high * left / page.height:.4f}"
                drawn += f"q {place} cm /Page{number} Do Q\n"
                pictures[f"/Page{number}"] = pikepdf.Stream(
                    pdf,
                    data,
                    Type=pikepdf.Name.XObject,
                    Subtype=pikepdf.Name.Image,
                    Width=page.width,
                    Height=rows,
                    **colours,
                    BitsPerComponent=1,
                    **_filter(page, rows),
                )
            leaf = pikepdf.Dictionary(
                Type=pikepdf.Name.Page,
                MediaBox=[0, 0, round(wide, 4), round(high, 4)],
                Resources=pikepdf.Dictionary(XObject=pictures),
                Contents=pdf.make_stream(drawn.encode()),
            )
            if unit > 1:
                leaf.UserUnit = round(unit, 4)
            pdf.pages.append(pikepdf.Page(leaf))
        pdf.docinfo["/Producer"] = PROGRAM
        if record:
            pdf.docinfo[PDF_RECORD] = record
        buffer = io.BytesIO()
        pdf.save(buffer, deterministic_id=True, object_stream_mode=pikepdf.ObjectStreamMode.generate)
    return buffer.getvalue()


def _filter(page: G4Page | Jbig2Page, rows: int) -> dict[str, Any]:
    """Return what a PDF states about the coding of a picture."""
    import pikepdf

    if isinstance(page, Jbig2Page):
        return {"Filter": pikepdf.Name.JBIG2Decode}
    facts = pikepdf.Dictionary(K=-1, Columns=page.width, Rows=rows, BlackIs1=False)
    return {"Filter": pikepdf.Name.CCITTFaxDecode, "DecodeParms": facts}


def _place(layer: GreyLayer, page: G4Page | Jbig2Page, wide: float, high: float) -> str:
    """Return how a layer is scaled and moved to its box, in the operators of PDF."""
    left, top, right, bottom = layer.box
    across, down = wide / page.width, high / page.height
    size = f"{(right - left) * across:.4f} 0 0 {(bottom - top) * down:.4f}"
    return f"q {size} {left * across:.4f} {(page.height - bottom) * down:.4f}"
