"""From drawn ink to a scan with its truth: geometry, ink on paper, light, blur, noise and JPEG."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from anypage_pages.canvas import Canvas
from anypage_pages.page import CATEGORIES, Box, Category, Mask, Page, TextBlock
from anypage_pages.paper import Field, Shape, clouds, tooth

Pixels = NDArray[np.float32]  # (H, W, 3), 0 to 255
Coefficients = tuple[float, float, float, float, float, float, float, float]


@dataclass(frozen=True, kw_only=True)
class Capture:
    """How a page is taken. The defaults are an ordinary scan of middling quality."""

    blur: float = 0.7  # deviation of the optics' spread, in pixels
    noise: float = 3.0  # deviation of the sensor's noise, in grey levels
    quality: int = 82  # of the JPEG file
    colour: bool = True
    skew: float = 0.0  # degrees
    contrast: float = 1.0  # about middle grey; below 1 the picture is flat
    lift: float = 0.0  # grey levels added to everything


def any_capture(rng: np.random.Generator, **fixed: float | bool) -> Capture:
    """A capture as scanning rooms make them, a little different for each page."""
    values: dict[str, float | bool] = {
        "blur": rng.uniform(0.55, 0.95),
        "noise": rng.uniform(1.5, 5.0),
        "quality": int(rng.integers(65, 93)),
        "colour": bool(rng.random() < 0.6),
        "skew": rng.normal(0, 0.35),
    }
    return Capture(**(values | fixed))  # type: ignore[arg-type]


def homography(source: list[tuple[float, float]], target: list[tuple[float, float]]) -> Coefficients:
    """The coefficients that take target corners to source corners, as Pillow wants them."""
    rows, values = [], []
    for (x, y), (u, v) in zip(target, source, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    a, b, c, d, e, f, g, h = np.linalg.solve(np.array(rows), np.array(values))
    return (float(a), float(b), float(c), float(d), float(e), float(f), float(g), float(h))


def skewed(width: int, height: int, degrees: float) -> Coefficients:
    """A turn about the middle of the page."""
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    x, y = width / 2, height / 2
    return (cos, -sin, x - cos * x + sin * y, sin, cos, y - sin * x - cos * y, 0.0, 0.0)


def moved(box: Box, coefficients: Coefficients) -> Box:
    """The box around a box after the page was taken through a homography."""
    a, b, c, d, e, f, g, h = coefficients
    inverse = np.linalg.inv(np.array([[a, b, c], [d, e, f], [g, h, 1.0]]))
    left, top, right, bottom = box
    corners = np.array([[left, top, 1], [right, top, 1], [right, bottom, 1], [left, bottom, 1]]) @ inverse.T
    x, y = corners[:, 0] / corners[:, 2], corners[:, 1] / corners[:, 2]
    return (float(x.min()), float(y.min()), float(x.max()), float(y.max()))


def warp(picture: Image.Image, coefficients: Coefficients) -> Image.Image:
    """A layer after the page was taken through a homography."""
    if coefficients[6:] == (0.0, 0.0):  # the same picture, in less time
        return picture.transform(
            picture.size, Image.Transform.AFFINE, coefficients[:6], Image.Resampling.BICUBIC
        )
    return picture.transform(
        picture.size, Image.Transform.PERSPECTIVE, coefficients, Image.Resampling.BICUBIC
    )


def warped_share(picture: Image.Image, coefficients: Coefficients) -> Field:
    """A warped layer as shares from 0 to 1."""
    return np.asarray(warp(picture, coefficients), np.float32) / np.float32(255)


def worn(coverage: Field, pixels: float, unevenness: Field) -> Field:
    """Edges worn away here and squeezed out there, by up to so many pixels."""
    soft = ndimage.gaussian_filter(coverage, 0.6)
    return np.asarray(np.clip((soft - 0.13 * pixels * unevenness - 0.5) * 2.2 + 0.5, 0, 1), np.float32)


def _shape(field: NDArray[np.float32]) -> Shape:
    return (field.shape[0], field.shape[1])


@dataclass
class Exposure:
    """A page between ink and scan: coverage of each layer in its final place."""

    canvas: Canvas
    coefficients: Coefficients
    coverages: list[Field]
    strikes: list[Field | None]

    @property
    def shape(self) -> Shape:
        """Rows and columns."""
        return (self.canvas.height, self.canvas.width)

    def masks(self) -> dict[Category, Mask]:
        """The true ink: pixels of which ink covers at least half, each in one category only."""
        taken: Mask = np.zeros(self.shape, np.bool_)
        masks: dict[Category, Mask] = {}
        for category in CATEGORIES:
            mask: Mask = np.zeros(self.shape, np.bool_)
            for layer, coverage in zip(self.canvas.layers, self.coverages, strict=True):
                if layer.category == category:
                    mask |= coverage >= 0.5
            mask &= ~taken
            taken |= mask
            if mask.any():
                masks[category] = mask
        return masks

    def blocks(self) -> list[TextBlock]:
        """The blocks of known text, where they are now."""
        return [
            TextBlock(block.category, moved(block.box, self.coefficients), block.text, block.turn)
            for block in self.canvas.blocks
        ]


def expose(canvas: Canvas, coefficients: Coefficients, rng: np.random.Generator) -> Exposure:
    """Put every layer where it will be in the scan, and wear its edges."""
    coverages: list[Field] = []
    strikes: list[Field | None] = []
    unevenness = np.clip(clouds(rng, (canvas.height, canvas.width), 0.6, 2), -2, 2)
    for layer in canvas.layers:
        coverage = warped_share(layer.coverage, coefficients)
        coverages.append(worn(coverage, layer.ink.wear, unevenness) if layer.ink.wear else coverage)
        strike: Field | None = None
        if layer.strike is not None:
            even = ndimage.gaussian_filter(warped_share(layer.strike, coefficients), 1.5)
            strike = np.maximum(even, np.float32(0.5))
        strikes.append(strike)
    return Exposure(canvas, coefficients, coverages, strikes)


def put_ink(paper: Pixels, exposure: Exposure, rng: np.random.Generator) -> Pixels:
    """The inks on the paper, and halftones below them."""
    result, canvas = paper.copy(), exposure.canvas
    faded = np.clip(0.5 + 0.35 * clouds(rng, exposure.shape, 1.8, 8), 0, 1)
    rough = np.clip(0.5 + 0.4 * tooth(rng, exposure.shape), 0, 1)
    if canvas.tone is not None:
        tone = np.asarray(warp(canvas.tone, exposure.coefficients), np.float32)
        lay(result, tone * (0.85 / 255), (30, 30, 30))
    for layer, coverage, strike in zip(canvas.layers, exposure.coverages, exposure.strikes, strict=True):
        ink = layer.ink
        share = coverage * ink.density * (1 - ink.fading * faded) * (1 - ink.grain * rough)
        lay(result, share if strike is None else share * strike, ink.colour)
    return result


def lay(pixels: Pixels, share: Field, colour: tuple[int, int, int]) -> None:
    """Cover a share of every pixel with a colour, in place."""
    for channel, value in enumerate(colour):
        pixels[..., channel] += share * (value - pixels[..., channel])


def shine_through(paper: Pixels, verso: Canvas, strength: float, rng: np.random.Generator) -> Pixels:
    """Let the ink of the other side, mirrored and spread by the paper, darken this side."""
    shape = _shape(paper)
    ink = np.zeros(shape, np.float32)
    for layer in verso.layers:
        ink = np.maximum(ink, np.asarray(layer.coverage, np.float32)[:, ::-1] / 255)
    ink = ndimage.gaussian_filter(ink, rng.uniform(1.2, 2.2))
    patchy = np.clip(0.8 + 0.2 * clouds(rng, shape, 1.6, 6), 0.4, 1.15)
    return np.asarray(paper * (1 - strength * patchy * ink)[..., None], np.float32)


def take(pixels: Pixels, capture: Capture, rng: np.random.Generator) -> NDArray[np.uint8]:
    """The scan of what lies under the camera: blur, noise and JPEG."""
    shape = _shape(pixels)
    shared = capture.noise * rng.standard_normal(shape, np.float32)
    weights = np.array([0.299, 0.587, 0.114], np.float32)
    planes = [pixels[..., channel] for channel in range(3)] if capture.colour else [pixels @ weights]
    taken = []
    for plane in planes:
        value = (ndimage.gaussian_filter(plane, capture.blur) - 128) * capture.contrast + 128 + capture.lift
        value += shared
        if capture.colour:
            value += capture.noise / 3 * rng.standard_normal(shape, np.float32)
        taken.append(np.clip(value, 0, 255).astype(np.uint8))
    picture = Image.fromarray(np.dstack(taken) if capture.colour else taken[0])
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=capture.quality)
    return np.asarray(Image.open(file).convert("RGB"))


def scan_page(
    kind: str,
    number: int,
    canvas: Canvas,
    paper: Pixels,
    capture: Capture,
    rng: np.random.Generator,
    *,
    coefficients: Coefficients | None = None,
    after: Callable[[Pixels, Exposure], Pixels] | None = None,
) -> Page:
    """The whole way from a canvas and its paper to a page. `after` may darken what lies under the camera."""
    coefficients = coefficients or skewed(canvas.width, canvas.height, capture.skew)
    exposure = expose(canvas, coefficients, rng)
    pixels = put_ink(paper, exposure, rng)
    if after is not None:
        pixels = after(pixels, exposure)
    tone: Mask = np.zeros(exposure.shape, np.bool_)
    for box in canvas.tone_boxes:
        left, top, right, bottom = (round(side) for side in moved(box, coefficients))
        tone[max(0, top - 2) : bottom + 3, max(0, left - 2) : right + 3] = True
    masks = {category: mask & ~tone for category, mask in exposure.masks().items()}
    return Page(kind, number, take(pixels, capture, rng), masks, tone, exposure.blocks())
