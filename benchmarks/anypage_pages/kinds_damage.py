"""Damages that contests hardly have: bleed-through far from any ink, a stain over half of the page, washed-out ink."""

from __future__ import annotations

import numpy as np

from anypage_pages.canvas import OLD_PRINT, PEN, Canvas
from anypage_pages.fonts import pick_font
from anypage_pages.page import Page
from anypage_pages.paper import CREAM, OLD, WHITE, clouds, make_paper, stain, uneven_light
from anypage_pages.prose import ENGLISH
from anypage_pages.scanning import Exposure, Pixels, any_capture, scan_page, shine_through
from anypage_pages.typesetting import Words, fill_line, set_block, set_centred, write_line

Generator = np.random.Generator


def distant_bleed(number: int, rng: Generator) -> Page:
    """A few lines of ink in one place; everywhere else the dense other side shines through."""
    width, height = 1150, 1350
    canvas, verso, words = Canvas(width, height), Canvas(width, height), Words(ENGLISH, rng)
    ink = OLD_PRINT if number % 2 else PEN
    size = int(rng.integers(33, 39))
    font = pick_font(rng, "book", size)
    top = (110, height - 110 - 6 * int(size * 1.35), 480)[number % 3]
    set_block(canvas, "text", ink, words, font, (110, top, width - 110, top + 5.5 * size * 1.35))
    if number % 2:
        page = (100, 90, width - 100, height - 90)
        set_block(verso, "text", ink, words, pick_font(rng, "book", size), page, read=False)
    else:
        hand, y = pick_font(rng, "hand", 60), 70.0
        while y < height - 130:
            line = " ".join(fill_line(words, hand, width - 380))
            write_line(verso, PEN, line, hand, 90, y, rng)
            y += hand.size * 1.2
    paper = make_paper(rng, (height, width), (CREAM, OLD, WHITE)[number % 3], rng.uniform(0.3, 0.9))
    paper = shine_through(paper, verso, rng.uniform(0.16, 0.34), rng)
    return scan_page("distant bleed-through", number, canvas, paper, any_capture(rng), rng)


def half_stain(number: int, rng: Generator) -> Page:
    """A page of print, half of which lies under a stain with a dark edge."""
    width, height = 1150, 1350
    canvas, words = Canvas(width, height), Words(ENGLISH, rng)
    font = pick_font(rng, "book", int(rng.integers(31, 37)))
    heading = pick_font(rng, "capitals", 54)
    top = set_centred(canvas, "headline", OLD_PRINT, "CHAPTER VII", heading, width / 2, 80)[3] + 40
    set_block(canvas, "text", OLD_PRINT, words, font, (110, top, width - 110, height - 90), readable_lines=12)
    shape = (height, width)
    depth = rng.uniform(0.25, 0.5)
    mark = stain(rng, shape, share=rng.uniform(0.4, 0.6), depth=depth, edge=rng.uniform(0.05, 0.2))
    tint = np.array([1.0, 1.12, 1.3], np.float32)  # a brown stain takes away more blue than red

    def stained(pixels: Pixels, _: Exposure) -> Pixels:
        return np.asarray(pixels * np.clip(1 - (1 - mark[..., None]) * tint, 0.12, 1), np.float32)

    paper = make_paper(rng, shape, (CREAM, WHITE, OLD)[number % 3], rng.uniform(0.2, 0.7))
    paper *= uneven_light(rng, shape, rng.uniform(0.02, 0.15))[..., None]
    return scan_page("half stain", number, canvas, paper, any_capture(rng), rng, after=stained)


def washed_out(number: int, rng: Generator) -> Page:
    """Print or handwriting that water or light has taken away in patches, down to an eighth of its contrast."""
    width, height = 1150, 1350
    canvas, words = Canvas(width, height), Words(ENGLISH, rng)
    if number % 2:
        hand, y = pick_font(rng, "hand", int(rng.integers(54, 66))), 80.0
        while y < height - 130:
            write_line(canvas, PEN, " ".join(fill_line(words, hand, width - 380)), hand, 90, y, rng)
            y += hand.size * 1.3
    else:
        font = pick_font(rng, "book", int(rng.integers(31, 38)))
        set_block(
            canvas, "text", OLD_PRINT, words, font, (110, 100, width - 110, height - 90), readable_lines=12
        )
    shape = (height, width)
    paper = make_paper(rng, shape, (CREAM, WHITE, OLD)[number % 3], rng.uniform(0.2, 0.7))
    paper *= uneven_light(rng, shape, rng.uniform(0.02, 0.15))[..., None]
    patches = np.clip(0.5 + rng.uniform(0.5, 1.2) * clouds(rng, shape, rng.uniform(1.6, 2.2), 8), 0, 1)
    lost = (rng.uniform(0.6, 0.88) * patches)[..., None]

    def faded(pixels: Pixels, _: Exposure) -> Pixels:
        return np.asarray(pixels + lost * (paper - pixels), np.float32)

    return scan_page("washed out", number, canvas, paper, any_capture(rng), rng, after=faded)
