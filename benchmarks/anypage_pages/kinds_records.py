"""Records: table, form, and ledger in a clerk's hand."""

from __future__ import annotations

import itertools

import numpy as np

from anypage_pages.canvas import BLUE_PEN, OLD_PRINT, PEN, PRINT, Canvas, Ink
from anypage_pages.fonts import load_font, pick_font
from anypage_pages.page import Page
from anypage_pages.paper import CREAM, OLD, WHITE, fold, make_paper, uneven_light
from anypage_pages.prose import FIELDS, GOODS, NAMES, PLACES
from anypage_pages.scanning import any_capture, scan_page, shine_through
from anypage_pages.typesetting import set_centred, set_line, write_line, write_strokes

Generator = np.random.Generator


def figure(rng: Generator) -> str:
    """A number as accounts have them."""
    return f"{rng.integers(1, 9999):,}" if rng.random() < 0.5 else f"{rng.uniform(0, 999):.2f}"


def table(number: int, rng: Generator) -> Page:
    """A printed table with a heading, names and figures between rules."""
    width, height = 1400, 1200
    canvas, ink = Canvas(width, height), OLD_PRINT
    title = load_font("Libre Baskerville", 46, 700)
    top = set_centred(
        canvas, "headline", ink, f"TABLE {number + 3}. RETURNS BY PARISH", title, width / 2, 50
    )[3]
    columns, size = int(rng.integers(5, 8)), int(rng.integers(25, 30))
    font, heading = pick_font(rng, "book", size), load_font("Archivo Narrow", 28, 600)
    left, right, top = 70.0, width - 70.0, top + 36
    first, step = 300.0, size * 1.75
    bottom = top + step * int((height - 70 - top) / step)
    edges = [left, *np.linspace(left + first, right, columns + 1)]
    with canvas.pen("rule", ink) as pen:
        pen.frame((left, top, right, bottom), 3.5)
        for x in edges[1:-1]:
            pen.line([(float(x), top), (float(x), bottom)], rng.uniform(1.5, 2.2))
        for row, y in enumerate(np.arange(top + step, bottom - 2, step)):
            if row == 0 or number % 2 == 0:
                pen.line([(left, float(y)), (right, float(y))], 2.6 if row == 0 else 1.6)
    for index, (start, end) in enumerate(itertools.pairwise(edges)):
        text = "Parish" if index == 0 else f"18{60 + index * 3}"
        set_centred(canvas, "text", ink, text, heading, float(start + end) / 2, top + step * 0.18)
    layer = canvas.layer("text", ink)
    for y in np.arange(top + step, bottom - 2, step):
        set_line(layer, [str(rng.choice(PLACES))], font, left + 14, float(y) + step * 0.2)
        for end in edges[2:]:
            value = figure(rng)
            set_line(layer, [value], font, float(end) - 14 - font.getlength(value), float(y) + step * 0.2)
    paper = make_paper(rng, (height, width), (WHITE, CREAM)[number % 2], rng.uniform(0.1, 0.6))
    paper *= uneven_light(rng, (height, width), rng.uniform(0.05, 0.2))[..., None]
    return scan_page("table", number, canvas, paper, any_capture(rng), rng)


def form(number: int, rng: Generator) -> Page:
    """A printed form filled in by hand, with boxes and dotted lines."""
    width, height = 1200, 1500
    canvas, pen_ink = Canvas(width, height), BLUE_PEN if number % 2 else PEN
    title = load_font("Oswald", 62, 600)
    top = set_centred(canvas, "headline", PRINT, "CERTIFICATE OF REGISTRY", title, width / 2, 60)[3]
    with canvas.pen("rule", PRINT) as pen:
        pen.frame((50, 40, width - 50, height - 40), 4)
        pen.line([(50, top + 24), (width - 50, top + 24)], 2.5)
    label, hand = load_font("Libre Franklin", 25), pick_font(rng, "hand", int(rng.integers(46, 58)))
    y = top + 60
    for index, name in enumerate(rng.permutation(FIELDS)[:11]):
        set_line(canvas.layer("text", PRINT), [str(name)], label, 90, y + 42)
        start = 100 + label.getlength(str(name))
        with canvas.pen("rule", PRINT) as pen:
            if index % 3 == 2:
                for x in range(7):
                    pen.frame((start + 20 + 62 * x, y + 14, start + 72 + 62 * x, y + 74), 2)
            elif number % 2:
                pen.line([(start + 12, y + 72), (width - 90, y + 72)], 1.7)
            else:
                for dot in np.arange(start + 12, width - 90, 9):
                    pen.ellipse((float(dot), y + 70, float(dot) + 3.4, y + 73.4))
        if index % 3 == 2:
            for x, digit in enumerate(str(rng.integers(10000, 9999999))):
                write_line(canvas, pen_ink, digit, hand, start + 34 + 62 * x, y + 8, rng)
        elif rng.random() < 0.85:
            entry = f"{rng.choice(NAMES)} {rng.choice(PLACES)} {rng.integers(1840, 1930)}"
            entry = entry[: max(6, int((width - 110 - start) / (hand.size * 0.42)))]
            write_line(canvas, pen_ink, entry, hand, start + 24, y + 8, rng, slope=rng.normal(0, 0.006))
        y += 108
    paper = make_paper(rng, (height, width), (CREAM, WHITE, OLD)[number % 3], rng.uniform(0.1, 0.6))
    if number % 3 == 0:
        paper *= fold(rng, (height, width), level=False)[..., None]
    return scan_page("form", number, canvas, paper, any_capture(rng), rng)


def ledger(number: int, rng: Generator) -> Page:
    """Accounts in a clerk's hand on paper with coloured ruling."""
    width, height = 1300, 1500
    canvas = Canvas(width, height)
    red = Ink(colour=(150, 64, 60), density=0.72, fading=0.2, grain=0.1)
    blue = Ink(colour=(82, 98, 144), density=0.7, fading=0.2, grain=0.1)
    step, top = 62, 190
    with canvas.pen("rule", blue) as pen:
        for y in range(top, height - 40, step):
            pen.line([(0, y), (width, y)], 2.0)
    with canvas.pen("rule", red) as pen:
        for x in (150, width - 420, width - 290, width - 160, width - 90):
            pen.line([(x, 60), (x, height)], 2.2)
        pen.line([(0, top - 66), (width, top - 66)], 2.6)
        pen.line([(0, top - 58), (width, top - 58)], 2.6)
    stroke_name = str(rng.choice(["scripts", "scriptc", "cursive"]))
    strokes, hand = number % 2 == 0, pick_font(rng, "hand", 54)

    def write(text: str, left: float, base: float) -> None:
        if strokes:
            write_strokes(
                canvas, "text", PEN, text, stroke_name, 38, left, base, width=3.0, slant=rng.uniform(0.1, 0.3)
            )
        else:
            write_line(canvas, PEN, text, hand, left, base - hand.size * 0.95, rng)

    heading = f"{rng.choice(NAMES)} and Co. {rng.integers(1850, 1910)}"
    write(heading, 420, 100)
    for y in range(top + step, height - 50, step):
        if rng.random() < 0.12:
            continue
        write(str(rng.integers(1, 31)), 70, y - 10)
        write(f"{rng.choice(NAMES)} {rng.choice(GOODS)}", 180, y - 10)
        write(str(rng.integers(1, 999)), width - 405, y - 10)
        write(f"{rng.integers(0, 19)}", width - 260, y - 10)
    paper = make_paper(rng, (height, width), (CREAM, OLD)[number % 2], rng.uniform(0.4, 0.9))
    paper = shine_through(paper, canvas, rng.uniform(0.04, 0.12), rng)
    return scan_page("ledger", number, canvas, paper, any_capture(rng), rng)
