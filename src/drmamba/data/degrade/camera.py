"""Degradations by scanners, cameras and file formats; none of them moves the ink."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from drmamba.data.compositing import covered, darkened
from drmamba.data.degrade.passes import STEPS, grained, tinted, toned
from drmamba.data.filters import blur, smoothstep
from drmamba.data.noise import ramp
from drmamba.data.page import LabelledPage, Picture
from drmamba.data.wide_noise import clouds, noise, white

LEAST_CONTRAST = 0.05  # difference in brightness between ink and paper that must remain


def illumination(page: LabelledPage, rng: np.random.Generator) -> LabelledPage:
    """Uneven illumination: a gradient, cloudy variation, and sometimes the edge of a shadow."""
    light = 1 + np.float32(rng.uniform(0, 0.3)) * ramp(rng, page.shape)
    light += np.float32(rng.uniform(0, 0.15)) * clouds(
        rng, page.shape, rng.uniform(0.4, 1.2) * max(page.shape)
    )
    if rng.random() < 0.3:
        soft = rng.uniform(0.02, 0.5)
        light *= 1 - np.float32(rng.uniform(0.1, 0.5)) * smoothstep(
            ramp(rng, page.shape) + 0.1 * noise(rng, page.shape, 100), -soft, soft
        )
    light *= np.float32(rng.uniform(0.75, 1.05)) / light.max()  # bright places must not wash out faint ink
    return LabelledPage(darkened(page.image, 1 - light, (1, 1, 1)), page.ink)


def contrast(page: LabelledPage, rng: np.random.Generator) -> LabelledPage:
    """Another exposure: a gamma curve, then less contrast, or more, which clips as a photocopy does."""
    curve = np.linspace(0, 1, STEPS + 1) ** np.exp(rng.uniform(-0.5, 0.5))
    present = page.contrast()
    if present > 0.25 and rng.random() < 0.4:
        black, span = rng.uniform(-0.25, 0), rng.uniform(1.1, 1.3)
    else:  # ink that is already faint must not get lost
        span = max(rng.uniform(0.3, 1), min(1.0, LEAST_CONTRAST / max(present, LEAST_CONTRAST)))
        black = rng.uniform(0, 1 - span)
    return LabelledPage(toned(page.image, np.clip(curve * span + black, 0, 1).astype(np.float32)), page.ink)


def colour(page: LabelledPage, rng: np.random.Generator) -> LabelledPage:
    """A colour cast, as from a lamp, a lens or age, and another saturation."""
    return LabelledPage(tinted(page.image, np.exp(rng.normal(0, 0.05, 3)), rng.uniform(0.3, 1.3)), page.ink)


def grey(page: LabelledPage, rng: np.random.Generator) -> LabelledPage:
    """Conversion to grey by a random mixture of the channels."""
    weights = rng.dirichlet((1, 1.5, 0.7)).astype(np.float32)
    flat = page.image @ weights
    return LabelledPage(np.repeat(flat[..., None], 3, 2), page.ink)


def out_of_focus(page: LabelledPage, rng: np.random.Generator) -> LabelledPage:
    """Slight blur of the whole picture."""
    return LabelledPage(blur(page.image, rng.uniform(0.4, 1.2)), page.ink)


def defocus(page: LabelledPage, rng: np.random.Generator) -> LabelledPage:
    """Blur of part of the picture, as where the sheet bends away from the glass."""
    scale = rng.uniform(60, max(250.0, 0.4 * max(page.shape)))
    where = smoothstep(clouds(rng, page.shape, scale, octaves=2), -0.4, rng.uniform(0.2, 0.8))
    return LabelledPage(covered(page.image, where, blur(page.image, rng.uniform(0.8, 2.2))), page.ink)


def grain(page: LabelledPage, rng: np.random.Generator) -> LabelledPage:
    """Sensor noise, film grain, or the speckle of microfilm."""
    height = min(rng.uniform(0.01, 0.07), 0.6 * page.contrast())
    kind = rng.integers(3)
    if kind == 0:
        speckle: Picture = white(rng, page.shape)[..., None]
    elif kind == 1:
        speckle = noise(rng, page.shape, rng.uniform(1.5, 2.5))[..., None] * np.float32(1.3)
    else:
        speckle = np.stack([white(rng, page.shape) for _ in range(3)], 2)
    return LabelledPage(grained(page.image, speckle, height, in_the_dark=rng.random() < 0.3), page.ink)


def jpeg(page: LabelledPage, rng: np.random.Generator) -> LabelledPage:
    """Save the picture as a JPEG of low quality and read it back."""
    pixels = (page.image * 255 + np.float32(0.5)).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(
        file, "JPEG", quality=int(rng.integers(18, 75)), subsampling=int(rng.integers(3))
    )
    return LabelledPage(np.asarray(Image.open(file)) * np.float32(1 / 255), page.ink)
