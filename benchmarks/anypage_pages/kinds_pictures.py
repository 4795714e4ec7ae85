"""Pages with a picture in tone: a photograph with its caption in a page of text."""

from __future__ import annotations

import numpy as np
from PIL import Image

from anypage_pages.canvas import PRINT, Canvas
from anypage_pages.drawing import halftone
from anypage_pages.fonts import load_font, pick_font
from anypage_pages.page import Box, Page
from anypage_pages.paper import CREAM, WHITE, clouds, make_paper, uneven_light
from anypage_pages.prose import ENGLISH, HEADLINES
from anypage_pages.scanning import any_capture, scan_page
from anypage_pages.typesetting import Words, set_block, set_centred

Generator = np.random.Generator


def caption(number: int, rng: Generator) -> Page:
    """A photograph, in continuous tone or in dots, with a caption below it and text around it."""
    width, height = 1200, 1500
    canvas, words = Canvas(width, height), Words(ENGLISH, rng)
    title = load_font("Oswald", 58, 600)
    top = set_centred(canvas, "headline", PRINT, str(rng.choice(HEADLINES)), title, width / 2, 60)[3] + 40
    wide, high = rng.uniform(480, 900), rng.uniform(330, 620)
    left = rng.uniform(90, width - 90 - wide)
    if number % 2:
        halftone(canvas, (left, top, left + wide, top + high), rng)
    else:
        photograph(canvas, (left, top, left + wide, top + high), rng)
    small = load_font("PT Serif", 25)
    end = top + high + 100
    set_block(
        canvas, "small print", PRINT, words, small, (left, top + high + 20, left + wide, end), read=False
    )
    font = pick_font(rng, "book", int(rng.integers(29, 34)))
    set_block(canvas, "text", PRINT, words, font, (90, end + 20, width - 90, height - 80))
    paper = make_paper(rng, (height, width), (WHITE, CREAM)[number // 2 % 2], rng.uniform(0.1, 0.5))
    paper *= uneven_light(rng, (height, width), rng.uniform(0.05, 0.2))[..., None]
    return scan_page("photograph with caption", number, canvas, paper, any_capture(rng), rng)


def photograph(canvas: Canvas, box: Box, rng: Generator) -> None:
    """A photographic print: sky, hills in several tones and a few sharp things; no pixel of it is scored."""
    left, top, right, bottom = (round(side) for side in box)
    shape = (bottom - top, right - left)
    y = np.linspace(0, 1, shape[0], dtype=np.float32)[:, None]
    tone = np.asarray(0.15 + 0.1 * y + 0.06 * clouds(rng, shape, 1.8, 4), np.float32)
    x = np.linspace(0, 1, shape[1], dtype=np.float32)[None]
    for depth in range(3):
        phase, height = rng.uniform(0, 6), 0.35 + 0.2 * depth + rng.uniform(-0.05, 0.05)
        ridge = height + 0.08 * np.sin(x * rng.uniform(4, 9) + phase)
        hill = np.clip(0.35 + 0.17 * depth + 0.1 * clouds(rng, shape, 1.4, 3), 0.1, 0.97)
        tone = np.where(y > ridge, hill, tone)
    for _ in range(int(rng.integers(4, 9))):
        at, size = rng.uniform(0.1, 0.9), rng.uniform(0.02, 0.06)
        inside = (np.abs(x - at) < size) & (y > 0.5) & (y < rng.uniform(0.65, 0.9))
        tone = np.where(inside, rng.uniform(0.1, 0.95), tone)
    picture = Image.fromarray((np.clip(tone, 0.03, 0.97) * 255).astype(np.uint8))
    canvas.tone = canvas.tone or Image.new("L", (canvas.width, canvas.height), 0)
    canvas.tone.paste(picture, (left, top))
    canvas.tone_boxes.append(box)
