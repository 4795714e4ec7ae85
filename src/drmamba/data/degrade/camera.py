"""What scanners, cameras, microfilm and file formats do to a page; none of it moves the ink."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from drmamba.data.degrade.passes import STEPS, grained, tinted, toned
from drmamba.data.degrade.wide import clouds, noise, white
from drmamba.data.fields import blur, ramp, smoothstep
from drmamba.data.layering import covered, darkened
from drmamba.data.page import Page, Picture

LEAST = 0.05  # what must remain of the contrast between ink and paper


def illumination(page: Page, rng: np.random.Generator) -> Page:
    """Light that falls unevenly: a slope, a cloudy unevenness, sometimes the edge of a shadow."""
    light = 1 + np.float32(rng.uniform(0, 0.3)) * ramp(rng, page.shape)
    light += np.float32(rng.uniform(0, 0.15)) * clouds(
        rng, page.shape, rng.uniform(0.4, 1.2) * max(page.shape)
    )
    if rng.random() < 0.3:
        soft = rng.uniform(0.02, 0.5)
        light *= 1 - np.float32(rng.uniform(0.1, 0.5)) * smoothstep(
            ramp(rng, page.shape) + 0.1 * noise(rng, page.shape, 100), -soft, soft
        )
    light *= np.float32(rng.uniform(0.75, 1.05)) / light.max()  # bright places must not swallow faint ink
    return Page(darkened(page.image, 1 - light, (1, 1, 1)), page.ink)


def contrast(page: Page, rng: np.random.Generator) -> Page:
    """Another exposure: gamma, then a flatter range, or a harder one that clips as a photocopy does."""
    curve = np.linspace(0, 1, STEPS + 1) ** np.exp(rng.uniform(-0.5, 0.5))
    present = page.contrast()
    if present > 0.25 and rng.random() < 0.4:
        black, span = rng.uniform(-0.25, 0), rng.uniform(1.1, 1.3)
    else:  # ink that is faint already must not get lost
        span = max(rng.uniform(0.3, 1), min(1.0, LEAST / max(present, LEAST)))
        black = rng.uniform(0, 1 - span)
    return Page(toned(page.image, np.clip(curve * span + black, 0, 1).astype(np.float32)), page.ink)


def colour(page: Page, rng: np.random.Generator) -> Page:
    """A cast from lamp, lens or age, and more or less saturation."""
    return Page(tinted(page.image, np.exp(rng.normal(0, 0.05, 3)), rng.uniform(0.3, 1.3)), page.ink)


def grey(page: Page, rng: np.random.Generator) -> Page:
    """No colour: one channel, or a mixture."""
    weights = rng.dirichlet((1, 1.5, 0.7)).astype(np.float32)
    flat = page.image @ weights
    return Page(np.repeat(flat[..., None], 3, 2), page.ink)


def out_of_focus(page: Page, rng: np.random.Generator) -> Page:
    """The whole picture a little soft."""
    return Page(blur(page.image, rng.uniform(0.4, 1.2)), page.ink)


def defocus(page: Page, rng: np.random.Generator) -> Page:
    """Part of the picture soft, as where the sheet bends away from the glass."""
    scale = rng.uniform(60, max(250.0, 0.4 * max(page.shape)))
    where = smoothstep(clouds(rng, page.shape, scale, octaves=2), -0.4, rng.uniform(0.2, 0.8))
    return Page(covered(page.image, where, blur(page.image, rng.uniform(0.8, 2.2))), page.ink)


def grain(page: Page, rng: np.random.Generator) -> Page:
    """Sensor noise, film grain, or the speckle of microfilm."""
    height = min(rng.uniform(0.01, 0.07), 0.6 * page.contrast())
    kind = rng.integers(3)
    if kind == 0:
        speckle: Picture = white(rng, page.shape)[..., None]
    elif kind == 1:
        speckle = noise(rng, page.shape, rng.uniform(1.5, 2.5))[..., None] * np.float32(1.3)
    else:
        speckle = np.stack([white(rng, page.shape) for _ in range(3)], 2)
    return Page(grained(page.image, speckle, height, in_the_dark=rng.random() < 0.3), page.ink)


def jpeg(page: Page, rng: np.random.Generator) -> Page:
    """Save the picture as a JPEG of low quality and read it back."""
    pixels = (page.image * 255 + np.float32(0.5)).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(
        file, "JPEG", quality=int(rng.integers(18, 75)), subsampling=int(rng.integers(3))
    )
    return Page(np.asarray(Image.open(file)) * np.float32(1 / 255), page.ink)
