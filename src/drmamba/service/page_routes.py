"""The web page and the description of the API: a few files of this package, by name; nothing else can be asked for."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from drmamba.errors import MissingExtra

try:
    from fastapi import FastAPI, Response
except ImportError as error:
    raise MissingExtra("fastapi", "web") from error

HTML, SCRIPT, STYLE = "text/html", "text/javascript", "text/css"
PAGE = "drmamba.service.page"
# Path below /page -> package, file and media type.
FILES = {
    "page.css": (PAGE, "page.css", STYLE),
    "page.js": (PAGE, "page.js", SCRIPT),
    "requests.js": (PAGE, "requests.js", SCRIPT),
    "settings.js": (PAGE, "settings.js", SCRIPT),
    "page_facts.js": (PAGE, "page_facts.js", SCRIPT),
    "page_list.js": (PAGE, "page_list.js", SCRIPT),
    "words.js": (PAGE, "words.js", SCRIPT),
    "icon.svg": (PAGE, "icon.svg", "image/svg+xml"),
    "viewer.js": ("drmamba.inference.review", "viewer.js", SCRIPT),
    "viewer.css": ("drmamba.inference.review", "viewer.css", STYLE),
    "letter.jpg": ("drmamba.service.samples", "letter.jpg", "image/jpeg"),
    "book.jpg": ("drmamba.service.samples", "book.jpg", "image/jpeg"),
    "papyrus.jpg": ("drmamba.service.samples", "papyrus.jpg", "image/jpeg"),
}
DOCS_FILES = {
    "docs.css": (PAGE, "docs.css", STYLE),
    "docs.js": (PAGE, "docs.js", SCRIPT),
    "icon.svg": FILES["icon.svg"],
    "page.css": FILES["page.css"],
}
UNTRAINED = (
    '<p class="untrained" role="note"><strong>This model is untrained.</strong> The page shows how the program works, '
    "not how well.</p>"
)


def add_page_routes(app: FastAPI, *, trained: bool) -> None:
    """Add the web page at the root of the application."""
    text = file_bytes(PAGE, "index.html").decode().replace("<!-- untrained -->", "" if trained else UNTRAINED)
    _add(app, "/", text.encode(), HTML)
    for name, (package, file, kind) in FILES.items():
        if name not in DOCS_FILES:
            _add(app, f"/page/{name}", file_bytes(package, file), kind)


def add_docs_route(app: FastAPI) -> None:
    """Add the description of the API for people, which needs nothing from other machines."""
    _add(app, "/docs", file_bytes(PAGE, "docs.html"), HTML)
    for name, (package, file, kind) in DOCS_FILES.items():
        _add(app, f"/page/{name}", file_bytes(package, file), kind)


def _add(app: FastAPI, path: str, content: bytes, kind: str) -> None:
    async def answer() -> Response:
        # Browsers ask again, so that a new version is seen at once.
        return Response(content, media_type=kind, headers={"Cache-Control": "no-cache"})

    app.add_api_route(path, answer, methods=["GET", "HEAD"], include_in_schema=False, response_class=Response)


def file_bytes(package: str, name: str) -> bytes:
    """Return a file of a package."""
    folder, _, inner = package.rpartition(".")
    found = files(folder) / inner / name
    return Path(str(found)).read_bytes()
