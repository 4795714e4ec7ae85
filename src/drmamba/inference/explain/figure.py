"""An explanation as a figure for people, and as files for measurements."""

from __future__ import annotations

import importlib.util
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, PngImagePlugin

from drmamba.errors import EXTRAS, ImageError, InputError, MissingExtra
from drmamba.files import write_atomic
from drmamba.images import RGB, Ink
from drmamba.inference.binarizer import BinarizedPage
from drmamba.inference.explain.exploration import Map

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST = 1400  # pixels; a panel's longer side is drawn with no more, because paper does not show them
WIDTH = 13.0  # inches; the width of the figure
FIGURE_DPI = 150  # pixels an inch
RIM = 24  # pixels; at the page's edge the scans have only begun, so its values do not set the colours
FALSE_INK, LOST_INK = (214, 39, 40), (31, 119, 240)
FORMATS = (".png", ".pdf", ".svg", ".jpg", ".jpeg", ".webp")


@dataclass(frozen=True)
class Panel:
    """One picture of the figure."""

    title: str
    words: str
    values: NDArray[Any]  # (H, W, 3) colours, or (H, W) values for the colour map
    colours: str | None = None  # the name of a colour map
    limits: tuple[float, float] | None = None


def panels(source: RGB, page: BinarizedPage, truth: Ink | None = None) -> list[Panel]:
    """Return what the figure shows, in order."""
    if page.explanation is None:
        raise InputError("this page was made without its maps; use Binarizer(..., explain=True)")
    why = page.explanation
    ink = _white(page.binary)
    shown = [
        Panel("Input", "the scan as the program reads it", _small(source)),
        Panel("Detail route  D", "forgets fast: strokes and edges", _small(why.D), "magma"),
        Panel("Background route  B", "forgets slowly: paper, stains, shadow", _small(why.B), "viridis"),
        Panel("Gate  β", "how much of the background to take away", _small(why.beta), "cividis"),
        Panel("Taken away  β · B", "what was subtracted from D", _small(why.taken), "viridis"),
        Panel("Probability of ink", "the network's answer", _small(page.probability), "gray_r", (0.0, 1.0)),
        Panel("Output", _output_words(page), _small(ink)),
    ]
    if truth is not None:
        shown.append(_difference(page.binary, truth))
    return shown


def check_suffix(suffix: str) -> None:
    """Raise unless a figure can be written with this ending."""
    if suffix.lower() not in FORMATS:
        raise ImageError(f"a figure is written as {', '.join(FORMATS)}, not as {suffix!r}")


def require_matplotlib() -> None:
    """Raise if the library that draws figures is missing, before there is work that would be lost."""
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtra("matplotlib", EXTRAS["matplotlib"])


def draw(
    source: RGB, page: BinarizedPage, *, title: str = "", truth: Ink | None = None, suffix: str = ".png"
) -> bytes:
    """Return the figure as the bytes of a PNG, PDF, SVG, JPEG or WebP."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    check_suffix(suffix)
    shown = panels(source, page, truth)
    tall = source.shape[0] / source.shape[1]
    columns = 4 if tall > 0.75 else 2  # two wide pages in a row stay legible
    rows = -(-len(shown) // columns)
    panel = WIDTH / columns
    height = rows * (min(2.2, max(0.12, tall)) * panel * (0.88 if columns == 2 else 0.8) + 0.62) + 0.6
    spaces = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.08, wspace=0.02, hspace=0.0)
    figure = Figure(figsize=(WIDTH, height), dpi=FIGURE_DPI, layout=spaces)
    FigureCanvasAgg(figure)
    warning = "UNTRAINED MODEL: these maps mean nothing  ·  " if "untrained" in page.quality.flags else ""
    figure.suptitle(
        warning + title, fontsize=12, color="#b00020" if warning else "#222222", x=0.01, ha="left"
    )
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax, one in zip(axes, shown, strict=False):
        _draw_panel(ax, one)
    for ax in axes[len(shown) :]:
        ax.axis("off")
    buffer = io.BytesIO()
    figure.savefig(buffer, format=suffix.lower().lstrip("."))
    return buffer.getvalue()


def _draw_panel(ax: Axes, panel: Panel) -> None:
    if panel.colours is None:
        ax.imshow(panel.values, interpolation="antialiased")
    else:
        low, high = panel.limits or _usual(panel.values)
        drawn = ax.imshow(panel.values, cmap=panel.colours, vmin=low, vmax=high, interpolation="antialiased")
        beside = ax.inset_axes((1.015, 0.0, 0.02, 1.0))  # as high as the picture, whatever its shape
        bar = ax.figure.colorbar(drawn, cax=beside)
        bar.ax.tick_params(labelsize=8, length=2)
        bar.ax.locator_params(nbins=4)
        bar.outline.set_linewidth(0.4)
    ax.set_title(panel.title, fontsize=12, fontweight="bold", loc="left", pad=19)
    ax.annotate(
        panel.words, (0, 1), (0, 6), xycoords="axes fraction", textcoords="offset points",
        fontsize=9, color="#555555",
    )  # fmt: skip
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set(color="#bbbbbb", linewidth=0.6)


def _usual(values: Map) -> tuple[float, float]:
    """Return the range of a map without outliers and without the page's rim."""
    down, across = (min(RIM, side // 4) for side in values.shape)
    inner = values[down : values.shape[0] - down, across : values.shape[1] - across]
    low, high = np.percentile(inner, (0.5, 99.5))
    return float(low), float(high)


def _output_words(page: BinarizedPage) -> str:
    return f"{page.quality.ink:.1%} of the page is ink"


def _difference(ink: Ink, truth: Ink) -> Panel:
    if truth.shape != ink.shape:
        sizes = f"{truth.shape[1]} x {truth.shape[0]}, the page {ink.shape[1]} x {ink.shape[0]}"
        raise InputError(f"the ground truth is {sizes} pixels; give the one of this page")
    both, false, lost = (int(np.count_nonzero(x)) for x in (ink & truth, ink & ~truth, truth & ~ink))
    colours = np.full((*ink.shape, 3), 255, np.uint8)
    colours[ink & truth] = 150
    colours[ink & ~truth] = FALSE_INK
    colours[truth & ~ink] = LOST_INK
    score = 200 * both / max(1, 2 * both + false + lost)
    words = f"red: false ink {false:,}   blue: lost ink {lost:,}   F-measure {score:.2f}"
    return Panel("Difference to the ground truth", words, _small(colours))


def _white(ink: Ink) -> RGB:
    """Return ink as black on white."""
    return np.repeat(np.where(ink, np.uint8(0), np.uint8(255))[:, :, None], 3, axis=2)


def _small(values: NDArray[Any]) -> NDArray[Any]:
    """Reduce a picture to the size at which it is drawn; areas are averaged, so that thin strokes do not break."""
    factor = -(-max(values.shape[:2]) // LONGEST)
    return values if factor == 1 else np.asarray(Image.fromarray(values).reduce(factor))


def write_maps(folder: Path, stem: str, page: BinarizedPage) -> list[Path]:
    """Write each map as a 16-bit PNG, in which 65535 is the largest value, and all maps unscaled as one npz.

    The text field `drmamba` of a PNG says which value 65535 stands for.
    """
    if page.explanation is None:
        raise InputError("this page was made without its maps; use Binarizer(..., explain=True)")
    maps: dict[str, Map] = page.explanation.maps() | {"probability": page.probability}
    written = []
    for name, values in maps.items():
        largest = 1.0 if name == "probability" else float(values.max()) or 1.0
        info = PngImagePlugin.PngInfo()
        info.add_itxt("drmamba", json.dumps({"map": name, "65535": largest}))
        buffer = io.BytesIO()
        grey = Image.fromarray(np.rint(values / largest * 65535).astype(np.uint16))
        grey.save(buffer, "PNG", pnginfo=info)
        written.append(folder / f"{stem}.{name}.png")
        write_atomic(written[-1], buffer.getvalue())
    packed = io.BytesIO()
    np.savez_compressed(packed, **maps, binary=page.binary)  # type: ignore[arg-type]
    written.append(folder / f"{stem}.npz")
    write_atomic(written[-1], packed.getvalue())
    return written
