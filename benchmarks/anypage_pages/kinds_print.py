"""Printed pages: newspaper, small print under a title, frame and ornaments, two directions, other scripts."""

from __future__ import annotations

from typing import Literal

import numpy as np

from anypage_pages.canvas import OLD_PRINT, PRINT, Canvas, Ink
from anypage_pages.drawing import halftone, rosette
from anypage_pages.fonts import SCRIPT_FAMILIES, load_font, pick_font
from anypage_pages.page import Page
from anypage_pages.paper import CREAM, NEWSPRINT, OLD, WHITE, fold, make_paper, uneven_light
from anypage_pages.prose import ENGLISH, HEADLINES, MASTHEADS, OTHER_LANGUAGES, TITLES
from anypage_pages.scanning import any_capture, scan_page, shine_through
from anypage_pages.typesetting import (
    Font,
    Words,
    set_block,
    set_centred,
    set_rotated,
    stroke_width,
    turn_block,
    write_strokes,
)

Generator = np.random.Generator


def fitted_size(text: str, family: str, weight: int, width: float, largest: int) -> int:
    """The size at which a line is as wide as asked, but no larger than a limit."""
    return min(largest, int(100 * width / load_font(family, 100, weight).getlength(text)))


def newspaper(number: int, rng: Generator) -> Page:
    """A masthead and headlines over columns of small print, with rules, and on some pages a halftone."""
    width, height, columns = 1500, 1700, int(rng.integers(3, 5))
    canvas, words, ink = Canvas(width, height), Words(ENGLISH, rng), OLD_PRINT
    left, right, y = 60.0, width - 60.0, 40.0
    masthead = MASTHEADS[number % len(MASTHEADS)]
    if number % 2:
        size = min(150.0, 100 * (right - left - 40) / stroke_width("gothiceng", masthead, 100))
        write_strokes(
            canvas, "headline", ink, masthead, "gothiceng", size, left + 20, y + 150, width=size / 30
        )
        y += 200
    else:
        largest = fitted_size(masthead, "Playfair Display", 800, right - left - 40, 170)
        font = load_font("Playfair Display", largest, 800)
        y = set_centred(canvas, "headline", ink, masthead, font, width / 2, y)[3] + 24
    for thickness in (5.0, 1.8):
        canvas.rule((left, y, right, y + thickness), ink)
        y += thickness + 6
    gutter, body = 36.0, int(rng.integers(24, 27))
    column = (right - left - gutter * (columns - 1)) / columns
    font = load_font(str(rng.choice(["PT Serif", "Vollkorn", "Crimson Text"])), body)
    for index in range(columns):
        x, top = left + index * (column + gutter), y + 14
        if index:
            canvas.rule((x - gutter / 2 - 0.9, top, x - gutter / 2 + 0.9, height - 50), ink)
        if index == 1 and number % 2 == 0:
            halftone(canvas, (x, top, x + column, top + column * 0.9), rng)
            top += column * 0.9 + 20
        while top < height - 160:
            title = str(rng.choice(HEADLINES))
            heading = pick_font(rng, "display", 44)
            for line in broken(title, heading, column):
                top = set_centred(canvas, "headline", ink, line, heading, x + column / 2, top)[3] + 10
            end = min(height - 50, top + rng.uniform(9, 22) * body * 1.2)
            read = index == 0 and not canvas.blocks
            box = (x, top + 6, x + column, end)
            top = set_block(canvas, "small print", ink, words, font, box, leading=1.2, read=read) + 10
            canvas.rule((x + column * 0.3, top, x + column * 0.7, top + 2), ink)
            top += 16
    paper = make_paper(rng, (height, width), NEWSPRINT, rng.uniform(0.3, 0.8))
    paper *= fold(rng, (height, width), level=True)[..., None]
    paper = shine_through(paper, canvas, rng.uniform(0.03, 0.1), rng)
    return scan_page("newspaper", number, canvas, paper, any_capture(rng), rng)


def broken(title: str, font: Font, width: float) -> list[str]:
    """A title in lines that fit a column."""
    lines: list[str] = []
    for word in title.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and font.getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def small_print(number: int, rng: Generator) -> Page:
    """A title in very large letters over very small print."""
    width, height = 1300, 1500
    canvas, words = Canvas(width, height), Words(ENGLISH, rng)
    title = TITLES[number % len(TITLES)]
    family, weight = (("Abril Fatface", 400), ("Alfa Slab One", 400), ("Anton", 400))[number % 3]
    size = fitted_size(title, family, weight, width - 160, 280)
    box = set_centred(canvas, "headline", PRINT, title, load_font(family, size, weight), width / 2, 40)
    second = load_font("Playfair Display", 64, 700)
    box = set_centred(
        canvas, "headline", PRINT, " ".join(words.take(3)).strip(",.;"), second, width / 2, box[3] + 24
    )
    font = load_font(str(rng.choice(["PT Serif", "Libre Franklin", "Vollkorn"])), int(rng.integers(19, 24)))
    middle, bottom = width / 2, height - 80
    for index, (left, right) in enumerate(((90.0, middle - 20), (middle + 20, width - 90.0))):
        area = (left, box[3] + 40, right, bottom)
        set_block(canvas, "small print", PRINT, words, font, area, leading=1.25, read=index == 0)
    paper = make_paper(rng, (height, width), WHITE if number % 2 else CREAM, rng.uniform(0.1, 0.5))
    paper *= uneven_light(rng, (height, width), rng.uniform(0.05, 0.2))[..., None]
    return scan_page("small print", number, canvas, paper, any_capture(rng), rng)


def ornament(number: int, rng: Generator) -> Page:
    """A book page in a frame of rules and rosettes, with a large initial."""
    width, height = 1150, 1500
    canvas, words, ink = Canvas(width, height), Words(ENGLISH, rng), OLD_PRINT
    edge, inner = 70.0, 130.0
    with canvas.pen("rule", ink) as pen:
        pen.frame((edge, edge, width - edge, height - edge), rng.uniform(4, 8))
        pen.frame((inner, inner, width - inner, height - inner), rng.uniform(1.6, 3))
    middle = (edge + inner) / 2
    petals, step = int(rng.integers(5, 9)), 46
    with canvas.pen("drawing", ink) as pen:
        for x in np.arange(middle + step, width - middle - step / 2, step):
            for y in (middle, height - middle):
                rosette(pen, (float(x), y), 19, petals)
        for y in np.arange(middle + step, height - middle - step / 2, step):
            for x in (middle, width - middle):
                rosette(pen, (x, float(y)), 19, petals)
    left, right, top = inner + 40, width - inner - 40, inner + 40.0
    heading = load_font("Cinzel", 58, 800)
    top = (
        set_centred(canvas, "headline", ink, "CHAPTER " + "IVX"[number % 3], heading, width / 2, top)[3] + 40
    )
    initial, side = load_font("Cinzel", 190, 800), 190.0
    letter = chr(65 + int(rng.integers(26)))
    if number % 2:
        write_strokes(canvas, "headline", ink, letter, "gothiceng", 190, left + 12, top + 165, width=6)
    else:
        set_centred(canvas, "headline", ink, letter, initial, left + side / 2, top - 36)
    with canvas.pen("rule", ink) as pen:
        pen.frame((left, top, left + side, top + side), 3)
    font = pick_font(rng, "book", int(rng.integers(31, 36)))
    beside = (left + side + 24, top, right, top + side + 10)
    set_block(canvas, "text", ink, words, font, beside, leading=1.35, read=False, indent_every=0)
    below = (left, top + side + 18, right, height - inner - 40)
    set_block(canvas, "text", ink, words, font, below, leading=1.35, indent_every=0)
    paper = make_paper(rng, (height, width), CREAM, rng.uniform(0.3, 0.9))
    verso = Canvas(width, height)
    set_block(verso, "text", ink, words, font, (left, top, right, height - inner - 40), leading=1.35)
    paper = shine_through(paper, verso, rng.uniform(0.05, 0.15), rng)
    return scan_page("frame and ornaments", number, canvas, paper, any_capture(rng), rng)


def two_directions(number: int, rng: Generator) -> Page:
    """Lines of print that run level, and a block beside them that runs up or down the page."""
    width, height, side = 1500, 1300, 420
    canvas, words = Canvas(width, height), Words(ENGLISH, rng)
    font = pick_font(rng, "book", int(rng.integers(30, 36)))
    turn: Literal[90, 270] = 90 if number % 2 else 270
    part = Canvas(height - 160, side)
    smaller = load_font("PT Serif", 29)
    set_block(part, "text", PRINT, words, smaller, (30, 20, height - 190, side - 20), readable_lines=7)
    turn_block(canvas, part, width - side - 50, 80, turn)
    canvas.rule((width - side - 70, 80, width - side - 67, height - 80), PRINT)
    set_block(canvas, "text", PRINT, words, font, (80, 90, width - side - 110, height - 90))
    paper = make_paper(rng, (height, width), (WHITE, CREAM)[number % 2], rng.uniform(0.1, 0.6))
    paper *= uneven_light(rng, (height, width), rng.uniform(0.05, 0.25))[..., None]
    return scan_page("two directions", number, canvas, paper, any_capture(rng), rng)


def other_scripts(number: int, rng: Generator) -> Page:
    """Print in Cyrillic, Greek, Hebrew, Arabic, Devanagari or Thai letters."""
    width, height = 1100, 1300
    canvas = Canvas(width, height)
    language = list(OTHER_LANGUAGES)[number % len(OTHER_LANGUAGES)]
    family = str(rng.choice(SCRIPT_FAMILIES[language]))
    words, ink = Words(OTHER_LANGUAGES[language], rng), Ink(density=0.88, fading=0.15, wear=0.4)
    title, font = load_font(family, 76), load_font(family, int(rng.integers(34, 44)))
    set_centred(canvas, "headline", ink, " ".join(words.take(2)), title, width / 2, 60)
    y, step = 220.0, font.size * 1.7
    while y < height - 110:
        line: list[str] = []
        while font.getlength(" ".join([*line, word := words.one()])) < width - 220:
            line.append(word)
        words.back()
        # The library orders right to left.
        set_centred(canvas, "text", ink, " ".join(line), font, width / 2, y)
        y += step
    canvas.rule((width * 0.35, 190, width * 0.65, 193), ink)
    set_rotated(canvas, "text", ink, words.one(), font, (55, height / 2), 90)
    paper = make_paper(rng, (height, width), (CREAM, OLD, WHITE)[number % 3], rng.uniform(0.2, 0.8))
    return scan_page("other scripts", number, canvas, paper, any_capture(rng), rng)
