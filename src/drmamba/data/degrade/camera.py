"""What scanners, cameras, microfilm and file formats do to a page; none of it moves the ink."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from drmamba.data.fields import blur, clouds, noise, ramp, smoothstep
from drmamba.data.page import Page, Picture


def illumination(page: Page, rng: np.random.Generator) -> Page:
    """Light that falls unevenly: a slope, a cloudy unevenness, sometimes the edge of a shadow."""
    light = 1 + np.float32(rng.uniform(0, 0.3)) * ramp(rng, page.shape)
    light += np.float32(rng.uniform(0, 0.15)) * clouds(rng, page.shape, rng.uniform(0.4, 1.2) * max(page.shape))
    if rng.random() < 0.3:
        soft = rng.uniform(0.02, 0.5)
        light *= 1 - np.float32(rng.uniform(0.1, 0.5)) * smoothstep(
            ramp(rng, page.shape) + 0.1 * noise(rng, page.shape, 100), -soft, soft
        )
    light *= np.float32(rng.uniform(0.85, 1.05))
    return Page(np.clip(page.image * light[..., None], 0, 1), page.ink)


def contrast(page: Page, rng: np.random.Generator) -> Page:
    """Another exposure: gamma, then black and white points that lie elsewhere, or clip."""
    image = np.maximum(page.image, 1e-4) ** np.float32(np.exp(rng.uniform(-0.5, 0.5)))
    if rng.random() < 0.6:  # flat
        black, white = rng.uniform(0, 0.35), rng.uniform(0.6, 1)
    else:  # hard, as a photocopy
        black, white = rng.uniform(-0.25, 0), rng.uniform(1, 1.3)
    return Page(np.clip(image * np.float32(white - black) + np.float32(black), 0, 1), page.ink)


def colour(page: Page, rng: np.random.Generator) -> Page:
    """A cast from lamp, lens or age, and more or less saturation."""
    image = page.image * np.exp(rng.normal(0, 0.05, 3)).astype(np.float32)
    grey = (image @ np.full(3, 1 / 3, np.float32))[..., None]
    return Page(np.clip(grey + (image - grey) * np.float32(rng.uniform(0.3, 1.5)), 0, 1), page.ink)


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
    where = smoothstep(clouds(rng, page.shape, rng.uniform(60, 250), octaves=2), -0.4, rng.uniform(0.2, 0.8))
    soft = blur(page.image, rng.uniform(0.8, 2.2))
    return Page(page.image + where[..., None] * (soft - page.image), page.ink)


def grain(page: Page, rng: np.random.Generator) -> Page:
    """Sensor noise, film grain, or the speckle of microfilm."""
    height = np.float32(rng.uniform(0.01, 0.07))
    kind = rng.integers(3)
    if kind == 0:
        speckle: Picture = rng.standard_normal((*page.shape, 1), dtype=np.float32)
    elif kind == 1:
        speckle = noise(rng, page.shape, rng.uniform(1.5, 2.5))[..., None] * np.float32(1.3)
    else:
        speckle = rng.standard_normal((*page.shape, 3), dtype=np.float32)
    if rng.random() < 0.3:
        speckle = speckle * (np.float32(1.5) - page.image)  # more of it in the dark
    return Page(np.clip(page.image + height * speckle, 0, 1), page.ink)


def jpeg(page: Page, rng: np.random.Generator) -> Page:
    """Save the picture as a JPEG of low quality and read it back."""
    pixels = (page.image * 255 + np.float32(0.5)).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=int(rng.integers(18, 75)), subsampling=int(rng.integers(3)))
    return Page(np.asarray(Image.open(file)) * np.float32(1 / 255), page.ink)
