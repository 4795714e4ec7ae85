"""What happens when somebody uses the web page: Gradio calls these methods and shows what they return."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

from drmamba.service.page import html
from drmamba.service.page.exploration_cache import ExplorationCache
from drmamba.service.page.open_page import ShownPage
from drmamba.service.page.session import BrowserSession, message_for
from drmamba.service.problems import KNOWN
from drmamba.service.service import Service

RESULT_PARTS = 3  # components that show a view: the comparison, the facts and the downloads


class PageEvents:
    """The callbacks of the web page; `gr` is the module gradio, which only one file imports."""

    def __init__(self, gr: Any, service: Service, samples: list[Path]) -> None:
        self.gr, self.service, self.samples = gr, service, samples
        self.cache = ExplorationCache(service.limits.exploration_memory)
        # Gradio passes an event to the argument that is annotated with this type.
        for method in (PageEvents.sample_selected, PageEvents.page_selected):
            method.__annotations__["event"] = gr.SelectData

    def files_uploaded(
        self,
        session: BrowserSession | None,
        threshold: float,
        suppress: float,
        layer: str,
        paths: list[str] | None,
    ) -> Iterator[list[Any]]:
        """Open the uploaded files."""
        if paths:
            yield from self._open(session, threshold, suppress, layer, [Path(path) for path in paths])

    def sample_selected(
        self, session: BrowserSession | None, threshold: float, suppress: float, layer: str, event: Any
    ) -> Iterator[list[Any]]:
        """Open one of the samples."""
        yield from self._open(session, threshold, suppress, layer, [self.samples[int(event.index)]])

    def settings_changed(
        self, session: BrowserSession | None, threshold: float, suppress: float, layer: str
    ) -> list[Any]:
        """Show the current page with other settings or another layer."""
        if session is None or not session.pages:
            return [self.gr.skip()] * RESULT_PARTS
        session.layer = layer
        with self._errors_shown(session):
            return self._result(session.adjust(threshold, suppress))

    def page_selected(
        self, session: BrowserSession | None, threshold: float, suppress: float, layer: str, event: Any
    ) -> list[Any]:
        """Show another page."""
        if session is None or not session.pages:
            return [self.gr.skip()] * RESULT_PARTS
        session.layer = layer
        with self._errors_shown(session):
            return self._result(session.select(int(event.index), threshold, suppress))

    def pages_combined(
        self, session: BrowserSession | None, threshold: float, suppress: float, form: str
    ) -> Any:
        """Offer all pages as one file."""
        if session is None or not session.pages:
            return self.gr.skip()
        with self._errors_shown(session):
            address = session.combine(form, threshold, suppress)
        return self.gr.HTML(html.links({form: address}, f"All {len(session.pages)} pages:"), visible=True)

    def _open(
        self,
        session: BrowserSession | None,
        threshold: float,
        suppress: float,
        layer: str,
        paths: list[Path],
    ) -> Iterator[list[Any]]:
        """Open files in place of the current ones; the page is updated after each of their pages."""
        session = session or BrowserSession(self.service, self.cache)
        generation = session.close_pages()
        session.layer = layer
        found = [(path, path.name) for path in paths]
        failures: list[str] = []
        first = True
        for item in session.open_files(found, threshold, suppress, generation):
            if isinstance(item, str):
                failures.append(item)
                self.gr.Warning(escape(item))
            with session.lock:  # Another upload may close the pages.
                show = session.pages and first
                parts = self._result(session.view()) if show else [self.gr.skip()] * RESULT_PARTS
                first = first and not session.pages
                update = [session, *parts, *self._surroundings(session, failures)]
            yield update
        if not session.pages and session.generation == generation:
            yield [session, None, "", "", *self._surroundings(session, failures)]

    def _result(self, view: ShownPage) -> list[Any]:
        """Return the values of the components that show the current page."""
        return [(str(view.before), str(view.after)), html.facts(view), html.links(view.links, "Download:")]

    def _surroundings(self, session: BrowserSession, failures: list[str]) -> list[Any]:
        """Return the components around the current page: the other pages, and the files that failed."""
        gr, several = self.gr, len(session.pages) > 1
        pages = [(str(page.thumbnail), html.label(page)) for page in session.pages] if several else None
        not_opened = html.failures(failures)
        return [
            gr.Gallery(pages, visible=several, selected_index=None),
            gr.Row(visible=several),
            gr.HTML("", visible=False),
            gr.Column(visible=bool(session.pages or failures)),
            gr.HTML(not_opened, visible=bool(not_opened)),
        ]

    @contextmanager
    def _errors_shown(self, session: BrowserSession) -> Iterator[None]:
        """Show known errors as a message in the browser."""
        page = session.pages[session.current]
        try:
            yield
        except KNOWN as error:
            raise self.gr.Error(escape(message_for(error, page.path, page.name))) from error
