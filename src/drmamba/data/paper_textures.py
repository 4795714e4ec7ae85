"""Blank sheets: procedural paper and papyrus, or windows of scanned paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drmamba.data.compositing import darkened
from drmamba.data.filters import smoothstep
from drmamba.data.geometry import flipped, rotated, window
from drmamba.data.noise import ramp
from drmamba.data.page import Field, Picture
from drmamba.data.wide_noise import clouds, noise
from drmamba.errors import DataError
from drmamba.images import READABLE_IMAGES, read_rgb

LARGEST = 1600  # pixels; textures with longer sides are scaled down to this
RULED = "ruled"  # name of the folders that hold ruled, squared or other lined paper
RULED_SHARE = 0.3  # of the sheets with a texture that may be ruled, if there are both kinds
EXPOSURE = 0.8  # of full brightness; the paper of a darker texture is brought to this

# Typical colours (RGB) of old sheets under a scanner, each with its relative frequency.
COLOURS: tuple[tuple[tuple[float, float, float], float], ...] = (
    ((0.95, 0.93, 0.87), 3),  # well-kept rag paper
    ((0.90, 0.84, 0.72), 3),  # cream
    ((0.85, 0.74, 0.55), 2),  # tan
    ((0.74, 0.66, 0.55), 2),  # brown-grey
    ((0.87, 0.69, 0.38), 1.5),  # amber
    ((0.80, 0.76, 0.50), 1.5),  # yellow-green
    ((0.76, 0.81, 0.82), 1.5),  # blue-grey
    ((0.66, 0.72, 0.62), 0.7),  # green
    ((0.78, 0.67, 0.62), 1),  # rosy
    ((0.97, 0.97, 0.96), 1.5),  # bleached, or photocopied
    ((0.70, 0.70, 0.70), 1.5),  # grey microfilm
    ((0.50, 0.45, 0.40), 0.7),  # dark
)
# Colours of papyrus, each with its relative frequency.
PAPYRI: tuple[tuple[tuple[float, float, float], float], ...] = (
    ((0.55, 0.44, 0.30), 2),
    ((0.46, 0.42, 0.27), 1),
    ((0.36, 0.29, 0.24), 1),
    ((0.66, 0.56, 0.42), 1),
)


class PaperTextures:
    """A source of blank sheets. Texture files are read once; without any, all sheets are procedural.

    Textures in folders named `ruled` have lines. These are no ink under the convention `contest`, but look like the
    rules that are ink under `all`, so sheets for the latter are taken from the other textures alone.
    """

    def __init__(self, textures: Path | str | None = None, *, share: float = 0.5) -> None:
        files = texture_files(Path(textures)) if textures else []
        files.sort(key=is_ruled)  # the ruled ones are the last
        self.textures: Sequence[NDArray[np.uint8]] = [load_texture(file) for file in files]
        self.plain = sum(not is_ruled(file) for file in files)  # the number of textures without lines
        self.share = share

    def sheet(self, rng: np.random.Generator, shape: tuple[int, int], *, ruled: bool = True) -> Picture:
        """A blank sheet of the given height and width, which may be ruled or not."""
        first, last = 0, self.plain
        if ruled and self.plain < len(self.textures) and (not self.plain or rng.random() < RULED_SHARE):
            first, last = self.plain, len(self.textures)
        if rng.random() < self.share and last > first:
            return scanned(self.textures[int(rng.integers(first, last))], rng, shape)
        return paper(rng, shape)


def texture_files(folder: Path) -> list[Path]:
    """The pictures below a folder, also in folders that are linked right below it; none is an error."""
    linked = [p for p in folder.glob("*") if p.is_symlink() and p.is_dir()]
    files = sorted(
        p for start in (folder, *linked) for p in start.rglob("*") if p.suffix.lower() in READABLE_IMAGES
    )
    if not files:
        raise DataError(f"{folder} holds no pictures of paper ({', '.join(sorted(READABLE_IMAGES))})")
    return files


def is_ruled(file: Path) -> bool:
    """Whether a texture lies in a folder of ruled paper."""
    return RULED in file.parts


def load_texture(file: Path) -> NDArray[np.uint8]:
    """A picture of paper, scaled down to at most LARGEST pixels a side, and as light as a scanner exposes paper."""
    picture = Image.fromarray(read_rgb(file))
    picture.thumbnail((LARGEST, LARGEST), Image.Resampling.BICUBIC)
    pixels = np.asarray(picture)
    gain = EXPOSURE * 255 / max(1.0, float(np.median(pixels[::4, ::4].mean(2))))
    return np.clip(pixels * np.float32(gain), 0, 255).astype(np.uint8) if gain > 1 else pixels


def scanned(texture: NDArray[np.uint8], rng: np.random.Generator, shape: tuple[int, int]) -> Picture:
    """A window of a scanned sheet, slightly scaled and tinted, and flipped at random."""
    side = max(shape)
    zoom = float(np.exp(rng.uniform(-0.4, 0.5)))
    reach = math.ceil(side / zoom)
    top = int(rng.integers(max(1, texture.shape[0] - reach + 1)))
    left = int(rng.integers(max(1, texture.shape[1] - reach + 1)))
    piece = flipped(window(texture, top, left, (reach, reach)), *(rng.random(3) < 0.5))
    sheet = rotated(np.ascontiguousarray(piece), (side, side), side / reach, 0)[: shape[0], : shape[1]]
    tint = rng.normal(1, 0.03, 3).astype(np.float32) * np.float32(rng.uniform(0.8, 1.1) / 255)
    return np.clip(sheet * tint, 0, 1)


def paper(rng: np.random.Generator, shape: tuple[int, int]) -> Picture:
    """A procedural sheet of paper: mottled and grainy, sometimes with laid lines or fibres."""
    shade = _mottle(rng, shape, rng.uniform(0.005, 0.035))
    shade += noise(rng, shape, 2) * np.float32(rng.uniform(0.002, 0.02))
    if rng.random() < 0.3:
        shade += laid_lines(rng, shape)
    if rng.random() < 0.15:
        shade += fibres(rng, shape, rng.uniform(0.005, 0.02))
    return tinted(shade, drawn(COLOURS, rng), rng)


def papyrus(rng: np.random.Generator, shape: tuple[int, int]) -> Picture:
    """A procedural sheet of papyrus: dark, of crossed fibres, uneven at every scale."""
    shade = _mottle(rng, shape, rng.uniform(0.06, 0.16))
    shade += fibres(rng, shape, rng.uniform(0.07, 0.16))
    cross = fibres(rng, (shape[1], shape[0]), rng.uniform(0.01, 0.05)).T
    shade += cross + noise(rng, shape, 2) * np.float32(rng.uniform(0.01, 0.04))
    return tinted(shade, drawn(PAPYRI, rng), rng)


def drawn(
    palette: Sequence[tuple[tuple[float, float, float], float]], rng: np.random.Generator
) -> NDArray[np.float32]:
    """A random colour of the palette, slightly varied."""
    cumulative = np.cumsum([weight for _, weight in palette])
    base = np.array(palette[int(np.searchsorted(cumulative, rng.uniform(0, cumulative[-1])))][0])
    return np.clip(base * rng.uniform(0.88, 1.08) * rng.normal(1, 0.02, 3), 0.05, 1).astype(np.float32)


def tinted(shade: Field, colour: NDArray[np.float32], rng: np.random.Generator) -> Picture:
    """Turn a field of brightness (around 0) into a picture whose darker places are browner, like aged paper."""
    rust = np.array([0.6, 1.0, 1.5], np.float32) * np.float32(rng.uniform(0.7, 1)) + np.float32(0.2)
    return darkened(np.broadcast_to(colour, (*shade.shape, 3)), shade, -rust)


def _mottle(rng: np.random.Generator, shape: tuple[int, int], height: float) -> Field:
    return clouds(rng, shape, rng.uniform(40, 160), octaves=4) * np.float32(height)


def laid_lines(rng: np.random.Generator, shape: tuple[int, int]) -> Field:
    """The fine parallel lines of hand-made paper and its widely spaced chain lines."""
    pitch, height = rng.uniform(3, 8), rng.uniform(0.004, 0.02)
    wobble = noise(rng, shape, 120) * np.float32(0.8)
    y = np.arange(shape[0], dtype=np.float32)[:, None] + wobble
    lines = np.sin(y * np.float32(2 * math.pi / pitch)) * np.float32(height)
    if rng.random() < 0.5:
        x = np.arange(shape[1], dtype=np.float32)[None, :] + wobble
        chain = np.cos(x * np.float32(2 * math.pi / rng.uniform(50, 120)))
        lines -= smoothstep(chain, 0.97, 1.0) * np.float32(2 * height)
    return lines if rng.random() < 0.5 or shape[0] != shape[1] else lines.T


def fibres(rng: np.random.Generator, shape: tuple[int, int], height: float) -> Field:
    """Long, thin streaks across the sheet, of three widths, drifting slightly up and down."""
    thin = noise(rng, shape, (2, rng.uniform(60, 200)))
    middle = noise(rng, shape, (rng.uniform(3, 7), rng.uniform(100, 300)))
    broad = noise(rng, shape, (rng.uniform(10, 24), 300))
    streaks = (0.8 * thin + 0.7 * middle + 0.3 * broad) * (1 + 0.4 * noise(rng, shape, 50))
    lean = np.rint(ramp(rng, (1, shape[1]))[0] * rng.uniform(0, 6)).astype(np.int64)
    rows = (np.arange(shape[0])[:, None] + lean[None, :]) % shape[0]
    return np.take_along_axis(streaks, rows, 0) * np.float32(height)
