"""Words set in lines: justified print, typescript, and handwriting on a wavering base line."""

from __future__ import annotations

from typing import Literal

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFont

from anypage_pages.canvas import Canvas, Ink, Layer
from anypage_pages.fonts import stroke_font
from anypage_pages.page import Box, Category, TextBlock

Font = ImageFont.FreeTypeFont


class Words:
    """An endless run of words that starts anywhere in a text."""

    def __init__(self, text: str, rng: np.random.Generator) -> None:
        self._words = text.split()
        self._next = int(rng.integers(len(self._words)))

    def take(self, count: int) -> list[str]:
        """The next words."""
        return [self.one() for _ in range(count)]

    def one(self) -> str:
        """The next word."""
        word = self._words[self._next % len(self._words)]
        self._next += 1
        return word

    def back(self) -> None:
        """Give one word back, because it did not fit."""
        self._next -= 1


def fill_line(words: Words, font: Font, width: float) -> list[str]:
    """As many words as a line of that width holds, at least one."""
    line = [words.one()]
    while font.getlength(" ".join([*line, word := words.one()])) <= width:
        line.append(word)
    words.back()
    return line


def set_line(
    layer: Layer, line: list[str], font: Font, left: float, top: float, width: float | None = None
) -> None:
    """Draw words from the left, spread to a width if one is given."""
    draw = ImageDraw.Draw(layer.coverage)
    gap = font.getlength(" ")
    if width is not None and len(line) > 1:
        gap = (width - sum(font.getlength(word) for word in line)) / (len(line) - 1)
    x = left
    for word in line:
        draw.text((x, top), word, 255, font)
        x += font.getlength(word) + gap


def set_block(
    canvas: Canvas,
    category: Category,
    ink: Ink,
    words: Words,
    font: Font,
    box: Box,
    *,
    leading: float = 1.3,
    read: bool = True,
    readable_lines: int = 9,
    indent_every: int = 7,
) -> float:
    """Fill a box with justified lines and give the height at which they end.

    The first lines become a block that an OCR program is judged on, unless `read` is false.
    """
    left, top, right, bottom = box
    layer = canvas.layer(category, ink)
    step = round(font.size * leading)
    lines: list[str] = []
    y = top
    while y + step <= bottom:
        indent = font.size * 1.2 if indent_every and len(lines) % indent_every == 0 else 0.0
        line = fill_line(words, font, right - left - indent)
        last = indent_every > 0 and len(lines) % indent_every == indent_every - 1
        set_line(layer, line, font, left + indent, y, None if last else right - left - indent)
        lines.append(" ".join(line))
        y += step
    if read and lines:
        count = min(readable_lines, len(lines))
        edge = top + count * step + 0.1 * font.size
        shown = (left - 5, top - 0.25 * font.size, right + 5, edge)  # a rule may stand close beside
        canvas.blocks.append(TextBlock(category, shown, " ".join(lines[:count])))
    return y


def set_centred(
    canvas: Canvas, category: Category, ink: Ink, text: str, font: Font, centre: float, top: float
) -> Box:
    """One line around a centre; the box of its ink comes back."""
    draw = ImageDraw.Draw(canvas.layer(category, ink).coverage)
    left = centre - font.getlength(text) / 2
    draw.text((left, top), text, 255, font)
    box = draw.textbbox((left, top), text, font)
    return (float(box[0]), float(box[1]), float(box[2]), float(box[3]))


def set_rotated(
    canvas: Canvas,
    category: Category,
    ink: Ink,
    text: str,
    font: Font,
    centre: tuple[float, float],
    angle: float,
) -> None:
    """One line turned anticlockwise around its centre, as names on maps stand."""
    width, height = int(font.getlength(text)) + 8, int(font.size * 1.6)
    label = Image.new("L", (width, height), 0)
    ImageDraw.Draw(label).text((4, font.size * 0.2), text, 255, font)
    label = label.rotate(angle, Image.Resampling.BICUBIC, expand=True)
    place = Image.new("L", (canvas.width, canvas.height), 0)
    place.paste(label, (round(centre[0] - label.width / 2), round(centre[1] - label.height / 2)))
    layer = canvas.layer(category, ink)
    layer.coverage = ImageChops.lighter(layer.coverage, place)


def write_line(
    canvas: Canvas,
    ink: Ink,
    text: str,
    font: Font,
    left: float,
    top: float,
    rng: np.random.Generator,
    *,
    slope: float = 0.0,
) -> float:
    """Handwriting from a script font: each word a little higher, lower or wider. Its right end comes back."""
    draw = ImageDraw.Draw(canvas.layer("text", ink).coverage)
    x = left
    for word in text.split():
        lift = rng.normal(0, 0.035) * font.size
        draw.text((x, top + lift + slope * (x - left)), word, 255, font)
        x += font.getlength(word) + font.size * rng.uniform(0.22, 0.4)
    return x


def stroke_width(name: str, text: str, size: float) -> float:
    """The width of letters of a stroke font."""
    font = stroke_font(name)
    font.normalize_rendering(size)
    return max((float(x) for stroke in font.strokes_for_text(text) for x, _ in stroke), default=0.0)


def write_strokes(
    canvas: Canvas,
    category: Category,
    ink: Ink,
    text: str,
    name: str,
    size: float,
    left: float,
    base: float,
    *,
    width: float,
    slant: float = 0.0,
) -> float:
    """Letters of a stroke font drawn with a pen of some width; their right end comes back."""
    font = stroke_font(name)
    font.normalize_rendering(size)
    right = left
    with canvas.pen(category, ink) as pen:
        for stroke in font.strokes_for_text(text):
            points = [(left + x + slant * y, base - y) for x, y in stroke]
            pen.line(points, width)
            right = max(right, *(x for x, _ in points)) if points else right
    return right


def type_lines(
    canvas: Canvas,
    ink: Ink,
    words: Words,
    font: Font,
    box: Box,
    rng: np.random.Generator,
    *,
    leading: float = 1.6,
    readable_lines: int = 9,
) -> None:
    """Typescript: letters of one width, each struck with its own force and a little off the line."""
    left, top, right, bottom = box
    layer = canvas.layer("text", ink)
    layer.strike = layer.strike or Image.new("L", (canvas.width, canvas.height), 255)
    draw, strike = ImageDraw.Draw(layer.coverage), ImageDraw.Draw(layer.strike)
    advance, step = font.getlength("n"), font.size * leading
    habits = {letter: rng.normal(0, 0.025) * font.size for letter in "abcdefghijklmnopqrstuvwxyzTEAI"}
    y, lines = top, []
    while y + step <= bottom:
        line = " ".join(fill_line(words, font, right - left))
        for place, letter in enumerate(line):
            x = left + place * advance
            force = int(255 * np.clip(rng.normal(0.86, 0.1), 0.6, 1))
            strike.rectangle((x, y, x + advance, y + step), force)
            draw.text((x, y + habits.get(letter, 0.0) + rng.normal(0, 0.35)), letter, 255, font)
        lines.append(line)
        y += step
    count = min(readable_lines, len(lines))
    shown = (left - 12, top - 0.2 * font.size, right + 12, top + count * step)
    canvas.blocks.append(TextBlock("text", shown, " ".join(lines[:count])))


def turn_block(canvas: Canvas, part: Canvas, left: int, top: int, turn: Literal[90, 270]) -> None:
    """Put another canvas on this one, turned anticlockwise; its blocks come along."""
    for layer in part.layers:
        turned = layer.coverage.rotate(turn, expand=True)
        place = Image.new("L", (canvas.width, canvas.height), 0)
        place.paste(turned, (left, top))
        own = canvas.layer(layer.category, layer.ink)
        own.coverage = ImageChops.lighter(own.coverage, place)
    for block in part.blocks:
        x0, y0, x1, y1 = block.box
        if turn == 90:
            box = (left + y0, top + part.width - x1, left + y1, top + part.width - x0)
        else:
            box = (left + part.height - y1, top + x0, left + part.height - y0, top + x1)
        canvas.blocks.append(TextBlock(block.category, box, block.text, turn))
