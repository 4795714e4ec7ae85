"""Pages with more than letters: music, map, line drawing, engraving and woodcut."""

from __future__ import annotations

import contourpy
import numpy as np

from anypage_pages.canvas import OLD_PRINT, PRINT, Canvas, Ink
from anypage_pages.drawing import closed_curve, engraved, hatch, landscape
from anypage_pages.fonts import load_font, pick_font
from anypage_pages.page import Page
from anypage_pages.paper import CREAM, OLD, WHITE, clouds, fold, make_paper, uneven_light
from anypage_pages.prose import ENGLISH, PLACES
from anypage_pages.scanning import any_capture, scan_page
from anypage_pages.typesetting import Words, set_block, set_centred, set_line, set_rotated

Generator = np.random.Generator

# Without wear: it would break lines of two pixels in the truth that an eye still sees in the scan.
FINE_PRINT = Ink(colour=(44, 38, 34), density=0.86, fading=0.15, grain=0.08)


def music(number: int, rng: Generator) -> Page:
    """Staves with notes, stems, beams and bar lines, and words under them."""
    width, height = 1400, 1300
    canvas, ink, words = Canvas(width, height), FINE_PRINT, Words(ENGLISH, rng)
    gap = rng.uniform(15, 19)  # between two lines of a staff
    title = pick_font(rng, "capitals", 58)
    top = set_centred(canvas, "headline", ink, "ANDANTE", title, width / 2, 40)[3] + 60
    lyric = load_font("Crimson Text", 33)
    left, right = 90.0, width - 80.0
    with canvas.pen("rule", ink) as rules, canvas.pen("drawing", ink) as notes:
        while top + 8 * gap < height - 60:
            for line in range(5):
                rules.line([(left, top + line * gap), (right, top + line * gap)], 1.9)
            for bar in np.linspace(left, right, 5):
                rules.line([(float(bar), top), (float(bar), top + 4 * gap)], 2.4)
            turns = np.linspace(0, 4.5 * np.pi, 60)  # a clef, drawn as a spiral on a stem
            reach = np.linspace(0.25, 1.7, 60) * gap
            clef = [
                (left + 40 + r * np.cos(t), top + 3 * gap + r * np.sin(t))
                for r, t in zip(reach, turns, strict=True)
            ]
            notes.line([(float(x), float(y)) for x, y in clef], 3.2)
            notes.line([(left + 42, top - gap), (left + 36, top + 5.4 * gap)], 3.0)
            x, previous = left + 110, None
            while x < right - 30:
                step = int(rng.integers(-1, 9))
                y = top + step * gap / 2
                angle = np.linspace(0, 2 * np.pi, 24)
                a, b = 0.64 * gap, 0.44 * gap
                head = [
                    (x + a * np.cos(t) + 0.2 * b * np.sin(t), y + b * np.sin(t) - 0.3 * a * np.cos(t))
                    for t in angle
                ]
                notes.polygon([(float(u), float(v)) for u, v in head])
                if rng.random() < 0.25:
                    notes.ellipse((x - 0.3 * gap, y - 0.2 * gap, x + 0.3 * gap, y + 0.2 * gap), fill=False)
                tip = (x + 0.58 * gap, y - 3.2 * gap)
                notes.line([(tip[0], y), tip], 2.2)
                if previous is not None and rng.random() < 0.4:
                    beam = [previous, tip, (tip[0], tip[1] + 6), (previous[0], previous[1] + 6)]
                    notes.polygon(beam)
                    previous = None
                else:
                    previous = tip
                x += rng.uniform(3.2, 5.5) * gap
            set_line(
                canvas.layer("text", ink),
                words.take(9),
                lyric,
                left + 70,
                top + 6.2 * gap,
                right - left - 110,
            )
            top += 11 * gap
    paper = make_paper(rng, (height, width), (CREAM, WHITE)[number % 2], rng.uniform(0.2, 0.7))
    return scan_page("music", number, canvas, paper, any_capture(rng), rng)


def map_sheet(number: int, rng: Generator) -> Page:
    """A map: coast, contour lines, roads, names in all directions, a frame with ticks."""
    width, height = 1400, 1250
    canvas, ink = Canvas(width, height), FINE_PRINT
    field = clouds(rng, (height // 10, width // 10), 2.1, 1)
    lines = contourpy.contour_generator(z=field)
    coast = float(np.quantile(field, 0.3))
    edge = 70.0
    with canvas.pen("drawing", ink) as pen:
        for path in lines.lines(coast):
            pen.line([(float(x) * 10, float(y) * 10) for x, y in np.asarray(path)], 4.2)
        for level in np.linspace(coast, float(field.max()), 8)[1:-1]:
            for path in lines.lines(float(level)):
                pen.line([(float(x) * 10, float(y) * 10) for x, y in np.asarray(path)], 1.8)
        for _ in range(3):
            xs = np.linspace(edge, width - edge, 40)
            ys = rng.uniform(0.2, 0.8) * height + np.cumsum(rng.normal(0, 14, 40))
            for offset in (-3.5, 3.5):
                pen.line([(float(x), float(y) + offset) for x, y in zip(xs, ys, strict=True)], 1.6)
        for _ in range(14):
            x, y = rng.uniform(120, width - 120), rng.uniform(120, height - 120)
            pen.ellipse((x - 7, y - 7, x + 7, y + 7))
            pen.ellipse((x - 3.5, y - 3.5, x + 3.5, y + 3.5), fill=False)
        for box in ((0, 0, width, edge), (0, height - edge, width, height), (0, 0, edge, height)):
            pen.rectangle(box, fill=False)
        pen.rectangle((width - edge, 0, width, height), fill=False)
    with canvas.pen("rule", ink) as pen:
        pen.frame((edge, edge, width - edge, height - edge), 4)
        pen.frame((edge - 16, edge - 16, width - edge + 16, height - edge + 16), 1.8)
        for x in np.arange(edge, width - edge, 60):
            pen.line([(float(x), edge - 16), (float(x), edge)], 1.8)
            pen.line([(float(x), height - edge), (float(x), height - edge + 16)], 1.8)
    title = pick_font(rng, "capitals", 50)
    for place in rng.permutation(PLACES)[:15]:
        font = load_font("Crimson Text", int(rng.choice([26, 30, 38])), 600)
        where = (rng.uniform(200, width - 200), rng.uniform(190, height - 140))
        set_rotated(
            canvas, "text", ink, str(place), font, where, float(rng.choice([0, 0, 0, rng.uniform(-40, 40)]))
        )
    set_centred(canvas, "headline", ink, "THE COUNTY OF LEES", title, width / 2, edge + 20)
    paper = make_paper(rng, (height, width), (CREAM, OLD)[number % 2], rng.uniform(0.3, 0.8))
    paper *= (
        fold(rng, (height, width), level=False)[..., None] * fold(rng, (height, width), level=True)[..., None]
    )
    return scan_page("map", number, canvas, paper, any_capture(rng), rng)


def line_drawing(number: int, rng: Generator) -> Page:
    """A pen drawing with hatching, letters at its parts, and a caption."""
    width, height = 1200, 1250
    canvas, ink = Canvas(width, height), (FINE_PRINT, PRINT)[number % 2]
    letters = load_font("Cardo", 34)
    for part in range(int(rng.integers(4, 7))):
        centre = (rng.uniform(260, width - 260), rng.uniform(230, height - 430))
        outline = closed_curve(rng, centre, rng.uniform(90, 190), squeeze=rng.uniform(0.7, 1.3))
        angle, spacing = rng.uniform(0, np.pi), rng.uniform(8, 14)
        with canvas.pen("drawing", ink) as pen:
            pen.line([*outline, outline[0]], rng.uniform(2.6, 4.2))
        inner = [(c + 0.8 * (x - c), d + 0.8 * (y - d)) for x, y in outline for c, d in [centre]]
        hatch(canvas, inner, spacing, angle, rng.uniform(1.7, 2.3), ink, rng)
        if rng.random() < 0.6:
            core = [(c + 0.5 * (x - c), d + 0.5 * (y - d)) for x, y in outline for c, d in [centre]]
            hatch(canvas, core, spacing, angle + 1.1, 1.8, ink, rng)
        side = 60.0 if centre[0] < width / 2 else width - 90.0
        label = 120.0 + part * 150
        with canvas.pen("rule", ink) as pen:
            pen.line([(side + (36 if side < 100 else -12), label + 20), centre], 1.8)
        set_line(canvas.layer("text", ink), [chr(65 + part)], letters, side, label)
    caption, words = load_font("Crimson Text", 33), Words(ENGLISH, rng)
    box = (130, height - 200, width - 130, height - 50)
    set_centred(
        canvas, "headline", ink, f"Fig. {number + 11}.", load_font("Cardo", 48, 700), width / 2, height - 280
    )
    set_block(canvas, "text", ink, words, caption, box, indent_every=0)
    paper = make_paper(rng, (height, width), (CREAM, WHITE, OLD)[number % 3], rng.uniform(0.2, 0.7))
    paper *= uneven_light(rng, (height, width), rng.uniform(0.05, 0.2))[..., None]
    return scan_page("line drawing", number, canvas, paper, any_capture(rng), rng)


def engraving(number: int, rng: Generator) -> Page:
    """An engraving or a woodcut over lines of print."""
    width, height = 1200, 1500
    canvas, ink = Canvas(width, height), OLD_PRINT
    left, top, right, bottom = 130, 100, width - 130, 860
    woodcut = number % 2 == 1
    view = landscape(rng, (bottom - top, right - left))
    if woodcut:
        view = np.clip((view - 0.3) * 1.7 + 0.35, 0, 0.95).astype(np.float32)
    period = rng.uniform(13, 17) if woodcut else rng.uniform(7.5, 9.5)
    finest = 3.0 if woodcut else 1.7
    picture = np.zeros((height, width), np.float32)
    picture[top:bottom, left:right] = engraved(view, period, rng, finest=finest)
    canvas.add("drawing", picture, ink)
    with canvas.pen("rule", ink) as pen:
        pen.frame((left - 4, top - 4, right + 4, bottom + 4), 3.5)
    title = pick_font(rng, "capitals", 46)
    end = set_centred(canvas, "headline", ink, "A VIEW OF THE HARBOUR", title, width / 2, bottom + 30)[3]
    font, words = pick_font(rng, "book", int(rng.integers(30, 35))), Words(ENGLISH, rng)
    set_block(canvas, "text", ink, words, font, (left, end + 40, right, height - 80))
    paper = make_paper(rng, (height, width), (CREAM, OLD)[number % 2], rng.uniform(0.3, 0.8))
    return scan_page("engraving", number, canvas, paper, any_capture(rng), rng)
