"""The parts of the web page that are written as HTML."""

from __future__ import annotations

from html import escape

from drmamba.inference.quality import UNREMARKABLE
from drmamba.service.page.open_page import OpenPage, ShownPage

FORMAT_NAMES = {"png": "PNG", "tiff": "TIFF (G4)", "pdf": "PDF"}


def label(page: OpenPage) -> str:
    """Return a page's title, with a mark if somebody should look at it."""
    return page.title + (" ⚠" if set(page.flags) - UNREMARKABLE else "")


def facts(view: ShownPage) -> str:
    """Return the numbers and flags of a page."""
    head = f'<span class="name">{escape(view.title)}</span> <span class="numbers">{escape(view.facts)}</span>'
    if not view.notes:
        return f'{head}<div class="fine">✓ nothing unusual about this page</div>'
    notes = "".join(f"<li>{escape(note)}</li>" for note in view.notes)
    return f'{head}<ul class="note">{notes}</ul>'


def failures(messages: list[str]) -> str:
    """Return a list of the files that could not be opened; it is empty if there are none."""
    lines = "".join(f"<li>{escape(message)}</li>" for message in messages)
    return f'<p class="note">Not opened:</p><ul class="note">{lines}</ul>' if messages else ""


def links(addresses: dict[str, str], words: str) -> str:
    """Return download links that look like buttons."""
    listed = "".join(f'<a href="{at}" download>{FORMAT_NAMES[form]}</a>' for form, at in addresses.items())
    return f'<div id="downloads"><span>{escape(words)}</span>{listed}</div>'
