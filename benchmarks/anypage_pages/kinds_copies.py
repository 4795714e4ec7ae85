"""Pages by how they were written or copied: typescript, pencil, photocopy, microfilm, photograph, reversed band."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw
from scipy import ndimage

from anypage_pages.canvas import PENCIL, PRINT, RIBBON, TONER, Canvas, Ink
from anypage_pages.fonts import load_font, pick_font
from anypage_pages.page import Page, TextBlock
from anypage_pages.paper import CREAM, GREY, OLD, WHITE, clouds, make_paper, uneven_light
from anypage_pages.prose import ENGLISH, HEADLINES
from anypage_pages.scanning import Exposure, Pixels, any_capture, homography, scan_page
from anypage_pages.typesetting import Words, fill_line, set_block, set_centred, type_lines, write_line

Generator = np.random.Generator


def typescript(number: int, rng: Generator) -> Page:
    """A letter typed with a ribbon that is nearly used up."""
    width, height = 1200, 1400
    canvas, words = Canvas(width, height), Words(ENGLISH, rng)
    ink = Ink(**(vars(RIBBON) | {"density": rng.uniform(0.5, 0.75)}))
    font = pick_font(rng, "typewriter", int(rng.integers(28, 33)))
    type_lines(canvas, ink, words, font, (110, 120, width - 90, height - 100), rng)
    paper = make_paper(rng, (height, width), (WHITE, CREAM, GREY)[number % 3], rng.uniform(0.2, 0.6))
    paper *= uneven_light(rng, (height, width), rng.uniform(0.05, 0.25))[..., None]
    return scan_page("typescript", number, canvas, paper, any_capture(rng), rng)


def pencil(number: int, rng: Generator) -> Page:
    """Notes in pencil, with lines drawn under and a small sketch."""
    width, height = 1200, 1300
    canvas, words = Canvas(width, height), Words(ENGLISH, rng)
    ink = Ink(**(vars(PENCIL) | {"density": rng.uniform(0.5, 0.75)}))
    hand = pick_font(rng, "hand", int(rng.integers(56, 68)))
    y, slope = 80.0, rng.normal(0, 0.008)
    while y < height - 330:
        line = fill_line(words, hand, width - 330)
        end = write_line(canvas, ink, " ".join(line), hand, 90 + rng.uniform(0, 30), y, rng, slope=slope)
        if rng.random() < 0.2:
            below = y + hand.size * 1.15
            with canvas.pen("rule", ink) as pen:
                pen.line([(100, below), (end, below + rng.normal(0, 3))], 2.6)
        y += hand.size * 1.35
    with canvas.pen("drawing", ink) as pen:
        turns = np.linspace(0, 2 * np.pi, 50)
        for radius in (60, 88):
            wobble = radius + rng.normal(0, 0.8, 50).cumsum() * 0.6
            xs, ys = width - 260 + wobble * np.cos(turns), height - 170 + wobble * np.sin(turns)
            pen.line([(float(x), float(v)) for x, v in zip(xs, ys, strict=True)], 2.8)
        for angle in np.linspace(0, np.pi, 5):
            x, v = 88 * np.cos(angle), 88 * np.sin(angle)
            centre = (width - 260, height - 170)
            pen.line([(centre[0] - x, centre[1] - v), (centre[0] + x, centre[1] + v)], 2.2)
    paper = make_paper(rng, (height, width), (CREAM, WHITE)[number % 2], rng.uniform(0.2, 0.6))
    paper *= uneven_light(rng, (height, width), rng.uniform(0.05, 0.2))[..., None]
    return scan_page("pencil", number, canvas, paper, any_capture(rng), rng)


def photocopy(number: int, rng: Generator) -> Page:
    """A copy of a copy: toner specks, streaks, and edges that came out dark."""
    width, height = 1200, 1400
    canvas, words = Canvas(width, height), Words(ENGLISH, rng)
    ink = Ink(**(vars(TONER) | {"wear": rng.uniform(0.7, 1.3)}))
    heading = pick_font(rng, "display", 60)
    top = set_centred(canvas, "headline", ink, str(rng.choice(HEADLINES)), heading, width / 2, 130)[3]
    canvas.rule((150, top + 30, width - 150, top + 33.5), ink)
    font = pick_font(rng, "book", int(rng.integers(29, 34)))
    set_block(canvas, "text", ink, words, font, (150, top + 70, width - 150, height - 140))
    shape = (height, width)

    def copied(pixels: Pixels, _: Exposure) -> Pixels:
        specks = Image.new("L", (width, height), 0)
        draw = ImageDraw.Draw(specks)
        for _number in range(int(rng.integers(150, 500))):
            x, y, radius = rng.uniform(0, width), rng.uniform(0, height), rng.gamma(1.3, 0.5) + 0.4
            draw.ellipse((x - radius, y - radius, x + radius, y + radius), int(rng.uniform(90, 230)))
        dark = np.asarray(specks, np.float32) / 255
        distance = np.minimum(np.arange(width), np.arange(width)[::-1])[None, :].repeat(height, 0)
        ragged = 22 + 12 * clouds(rng, shape, 1.5, 6)
        side = 1 / (1 + np.exp((distance - ragged) / 4))  # both sides of the sheet
        dark = np.maximum(dark, 0.9 * side * (np.arange(width)[None, :] > width / 2 if number % 2 else 1))
        streak = 0.12 * np.exp(-((np.arange(width)[None, :] - rng.uniform(200, width - 200)) ** 2) / 18)
        return np.asarray(pixels * (1 - np.clip(dark + streak, 0, 0.95))[..., None], np.float32)

    paper = make_paper(rng, shape, (240, 240, 238), 0.05)
    capture = any_capture(rng, colour=False, contrast=1.08, lift=6.0)
    return scan_page("photocopy", number, canvas, paper, capture, rng, after=copied)


def microfilm(number: int, rng: Generator) -> Page:
    """A frame of microfilm: grey, grainy and soft, with scratches and a dark surround."""
    width, height = 1400, 1300
    canvas, words = Canvas(width, height), Words(ENGLISH, rng)
    ink = Ink(density=0.85, fading=0.1)
    heading, font = pick_font(rng, "display", 72), pick_font(rng, "book", int(rng.integers(29, 33)))
    top = set_centred(canvas, "headline", ink, str(rng.choice(HEADLINES)), heading, width / 2, 140)[3] + 40
    middle = width / 2
    canvas.rule((middle - 1.2, top, middle + 1.2, height - 150), ink)
    for index, (left, right) in enumerate(((170.0, middle - 26), (middle + 26, width - 170.0))):
        set_block(
            canvas,
            "small print",
            ink,
            words,
            font,
            (left, top, right, height - 150),
            read=index == 0,
            leading=1.25,
        )
    shape = (height, width)

    def filmed(pixels: Pixels, _: Exposure) -> Pixels:
        inside = np.zeros(shape, np.float32)
        edge = rng.integers(60, 100, 4)
        inside[edge[0] : height - edge[1], edge[2] : width - edge[3]] = 1
        inside = ndimage.gaussian_filter(inside, 5)
        result = pixels * inside[..., None] + 34 * (1 - inside[..., None])
        for _number in range(int(rng.integers(3, 9))):
            x = rng.uniform(0, width) + np.cumsum(rng.normal(0, 0.15, height))
            start, end = sorted(rng.integers(0, height, 2))
            offset = np.arange(width)[None, :] - x[start:end, None]
            line = np.exp(-(offset**2) / 0.8)[..., None]
            shade = 225.0 if rng.random() < 0.75 else 105.0  # most scratches let light through
            result[start:end] = result[start:end] * (1 - 0.6 * line) + shade * 0.6 * line
        grain = ndimage.gaussian_filter(rng.normal(0, 1, shape), 0.7)
        return np.asarray(result + (9 * grain / grain.std())[..., None], np.float32)

    paper = make_paper(rng, shape, (206, 206, 206), rng.uniform(0.1, 0.4))
    paper *= uneven_light(rng, shape, rng.uniform(0.1, 0.3))[..., None]
    capture = any_capture(rng, colour=False, blur=rng.uniform(0.9, 1.3), contrast=rng.uniform(0.65, 0.85))
    return scan_page("microfilm", number, canvas, paper, capture, rng, after=filmed)


def photograph(number: int, rng: Generator) -> Page:
    """A page photographed on a table, seen from the side, with a shadow across it."""
    width, height = 1400, 1600
    canvas, words = Canvas(width, height), Words(ENGLISH, rng)
    ink = Ink(density=0.9)
    heading, font = pick_font(rng, "capitals", 64), pick_font(rng, "book", int(rng.integers(36, 41)))
    top = set_centred(canvas, "headline", ink, "CHAPTER THE FIRST", heading, width / 2, 150)[3]
    set_block(canvas, "text", ink, words, font, (140, top + 60, width - 140, height - 140), leading=1.4)
    corners = [(0.0, 0.0), (float(width), 0.0), (float(width), float(height)), (0.0, float(height))]
    pull = rng.uniform(25, 75, (4, 2)) * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
    target = [(x + float(dx), y + float(dy)) for (x, y), (dx, dy) in zip(corners, pull, strict=True)]
    coefficients = homography(corners, target)
    shape = (height, width)

    def photographed(pixels: Pixels, _: Exposure) -> Pixels:
        sheet = Image.new("L", (width, height), 0)
        ImageDraw.Draw(sheet).polygon(target, 255)
        inside = ndimage.gaussian_filter(np.asarray(sheet, np.float32) / 255, 1.2)[..., None]
        wood = 1 + 0.12 * clouds(rng, (height, width // 12), 1.0, 2).repeat(12, 1)[:, :width]
        wood = np.pad(wood, ((0, 0), (0, width - wood.shape[1])), mode="edge")
        table = np.array((120, 92, 66), np.float32) * wood[..., None]
        y, x = np.mgrid[0:height, 0:width].astype(np.float32)
        angle = rng.uniform(0, 2 * np.pi)
        across = np.cos(angle) * (x - width / 2) + np.sin(angle) * (y - height / 2)
        across = across + 60 * clouds(rng, shape, 2.0, 8)
        shadow = 1 - rng.uniform(0.3, 0.5) / (
            1 + np.exp(-(across - rng.uniform(-250, 250)) / rng.uniform(15, 60))
        )
        light = shadow * uneven_light(rng, shape, rng.uniform(0.15, 0.35))
        return np.asarray((pixels * inside + table * (1 - inside)) * light[..., None], np.float32)

    paper = make_paper(rng, shape, (WHITE, CREAM)[number % 2], rng.uniform(0, 0.3))
    capture = any_capture(rng, colour=True, noise=rng.uniform(3, 6), blur=rng.uniform(0.8, 1.2))
    return scan_page(
        "photograph", number, canvas, paper, capture, rng, coefficients=coefficients, after=photographed
    )


def reversed_band(number: int, rng: Generator) -> Page:
    """White letters on a black band above black letters on white.

    The band is printed ink, so the truth is the band with its letters left out.
    """
    width, height = 1200, 1300
    canvas, words = Canvas(width, height), Words(ENGLISH, rng)
    font = pick_font(rng, "display", 84)
    title = str(
        rng.choice([title for title in HEADLINES if font.getlength(title) < width - 220] or ["NOTICE"])
    )
    band = Image.new("L", (width, height), 0)
    draw = ImageDraw.Draw(band)
    bottom = 90 + int(font.size * 2.1)
    draw.rectangle((80, 90, width - 80, bottom), 255)
    draw.text((width / 2, (90 + bottom) / 2), title, 0, font, anchor="mm")
    canvas.layer("headline", PRINT).coverage = band
    body = pick_font(rng, "book", int(rng.integers(30, 35)))
    set_block(canvas, "text", PRINT, words, body, (90, bottom + 60, width - 90, height - 240))
    note = load_font("Archivo Narrow", 25)
    lines = (90.0, height - 200.0, width - 90.0, height - 80.0)
    set_block(canvas, "small print", PRINT, words, note, lines, indent_every=0)
    canvas.blocks.append(TextBlock("headline", (80, 90, width - 80, bottom), title))
    paper = make_paper(rng, (height, width), (WHITE, CREAM, OLD)[number % 3], rng.uniform(0.1, 0.6))
    paper *= uneven_light(rng, (height, width), rng.uniform(0.05, 0.2))[..., None]
    return scan_page("reversed band", number, canvas, paper, any_capture(rng), rng)
