"""The web page: Gradio's components around a Desk. Nothing on it comes from another machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drmamba.config import InferenceConfig
from drmamba.errors import MissingExtra
from drmamba.images import READABLE
from drmamba.inference.quality import UNREMARKABLE
from drmamba.service.app import Service, claim
from drmamba.service.desk import LAYERS, Desk, Drawer, Sheet, View, said
from drmamba.service.problems import KNOWN

if TYPE_CHECKING:
    from fastapi import FastAPI

DEFAULT = InferenceConfig()
SAMPLES = {"letter.jpg": "Letter", "book.jpg": "Book", "papyrus.jpg": "Papyrus"}
CSS = """
.gradio-container { max-width: 1280px !important; margin: 0 auto !important; }
#title h1 { margin: 0; font-size: 1.7rem; } #title p { margin: .2rem 0 0; opacity: .8; }
#untrained { background: #b00020; border-radius: 8px; } #untrained, #untrained b { color: #fff; }
#layout { display: grid; gap: 1rem; grid-template: "in out" auto "knobs out" 1fr / minmax(0, 2fr) minmax(0, 5fr); }
#in { grid-area: in; } #out { grid-area: out; } #knobs { grid-area: knobs; } #layout > * { min-width: 0 !important; }
@media (max-width: 820px) { #layout { grid-template: "in" "out" "knobs" / minmax(0, 1fr); } }
#facts { font-size: .95rem; } #facts ul { margin: .3rem 0 0 1.1rem; list-style: disc; }
#facts .name { font-weight: 600; } #facts .numbers { opacity: .75; }
#facts .fine { color: #1b7f3b; } .note, .note li { color: #9a4d00 !important; }
.dark #facts .fine { color: #6fd08c; } .dark .note, .dark .note li { color: #ffc46b !important; }
.hint { font-size: .9rem; opacity: .75; margin: 0; }
#compare:focus-visible { outline: 3px solid #f2b134; }
#downloads { display: flex; gap: .6rem; flex-wrap: wrap; align-items: center; }
#downloads a { background: #2f5d8a; color: #fff; text-decoration: none; padding: .55rem 1rem; border-radius: 8px;
  font-weight: 600; min-width: 5.5rem; text-align: center; }
#downloads a:hover, #downloads a:focus-visible { background: #1d4367; outline: 3px solid #f2b134; }
#pages .grid-wrap { min-height: 0 !important; height: auto !important; max-height: 430px !important; }
footer { display: none !important; }
"""
# The comparison's handle has no keyboard of its own: arrow keys move it as a drag would.
KEYBOARD = """() => {
  const root = document.querySelector('#compare');
  if (!root || root.dataset.keys) return;
  root.dataset.keys = '1'; root.tabIndex = 0;
  root.setAttribute('role', 'slider');
  root.setAttribute('aria-label', 'Compare the scan with the result: left and right arrow keys');
  root.setAttribute('aria-valuemin', 0); root.setAttribute('aria-valuemax', 100);
  root.setAttribute('aria-valuenow', 50);
  root.addEventListener('keydown', (event) => {
    const step = {ArrowLeft: -5, ArrowRight: 5, Home: -100, End: 100}[event.key];
    const grip = root.querySelector('.outer'), wrap = root.querySelector('.slider-wrap');
    if (!step || !grip || !wrap || event.target !== root) return;
    event.preventDefault();
    const box = wrap.getBoundingClientRect(), own = grip.getBoundingClientRect();
    const from = own.left + own.width / 2;
    const at = Math.min(100, Math.max(0, (from - box.left) / box.width * 100 + step));
    const fire = (kind, x) => grip.dispatchEvent(new MouseEvent(kind, {bubbles: true, cancelable: true,
      view: window, clientX: x, clientY: own.top + own.height / 2}));
    const to = box.left + box.width * at / 100;
    fire('mousedown', from); fire('mousemove', to); fire('mouseup', to);
    root.setAttribute('aria-valuenow', Math.round(at));
  });
}"""


def mount(app: FastAPI, service: Service) -> FastAPI:
    """Put the page at the root of the API."""
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    os.environ["GRADIO_TEMP_DIR"] = str(service.store.folder / "page")
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    try:
        import gradio as gr
    except ImportError as error:
        raise MissingExtra("gradio", "web") from error

    limits = service.limits
    drawer = Drawer(limits.knob_memory)
    keep = int(60 * limits.keep_minutes)
    samples = [(str(files("drmamba.service") / "samples" / name), words) for name, words in SAMPLES.items()]

    def new() -> Desk:
        return Desk(service, drawer)

    def shown(view: View) -> list[Any]:
        return [(str(view.before), str(view.after)), facts(view), downloads(view)]

    def opened(
        desk: Desk | None, threshold: float, suppress: float, layer: str, paths: list[str]
    ) -> Iterator[list[Any]]:
        desk = desk or new()
        own_round = desk.clear()
        desk.layer = layer
        found = [(Path(path), Path(path).name) for path in paths]
        failures: list[str] = []
        first = True
        for item in desk.add(found, threshold, suppress, own_round):
            if isinstance(item, str):
                failures.append(item)
                gr.Warning(escape(item))
            with desk.lock:  # another upload may put the sheets away
                parts = shown(desk.view()) if desk.sheets and first else [gr.skip()] * 3
                first = first and not desk.sheets
                update = [desk, *parts, *around(desk, failures)]
            yield update
        if not desk.sheets and desk.rounds == own_round:
            yield [desk, None, "", "", *around(desk, failures)]

    def around(desk: Desk, failures: list[str]) -> list[Any]:
        """What stands beside the current page: the others, and what could not be opened."""
        several = len(desk.sheets) > 1
        pages = [(str(sheet.thumbnail), label(sheet)) for sheet in desk.sheets] if several else None
        lines = "".join(f"<li>{escape(words)}</li>" for words in failures)
        told = f'<p class="note">Not opened:</p><ul class="note">{lines}</ul>' if failures else ""
        return [
            gr.Gallery(pages, visible=several, selected_index=None), gr.Row(visible=several),
            gr.HTML("", visible=False), gr.Column(visible=bool(desk.sheets or failures)),
            gr.HTML(told, visible=bool(told)),
        ]  # fmt: skip

    def uploaded(
        desk: Desk | None, threshold: float, suppress: float, layer: str, paths: list[str] | None
    ) -> Iterator[list[Any]]:
        if paths:
            yield from opened(desk, threshold, suppress, layer, paths)

    def sampled(
        desk: Desk | None, threshold: float, suppress: float, layer: str, event: Any
    ) -> Iterator[list[Any]]:
        yield from opened(desk, threshold, suppress, layer, [samples[int(event.index)][0]])

    def turned(desk: Desk | None, threshold: float, suppress: float, layer: str) -> list[Any]:
        if desk is None or not desk.sheets:
            return [gr.skip()] * 3
        desk.layer = layer
        with telling(desk):
            return shown(desk.turn(threshold, suppress))

    def picked(desk: Desk | None, threshold: float, suppress: float, layer: str, event: Any) -> list[Any]:
        if desk is None or not desk.sheets:
            return [gr.skip()] * 3
        desk.layer = layer
        with telling(desk):
            return shown(desk.select(int(event.index), threshold, suppress))

    def bundled(desk: Desk | None, threshold: float, suppress: float, form: str) -> Any:
        if desk is None or not desk.sheets:
            return gr.skip()
        with telling(desk):
            link = desk.together(form, threshold, suppress)
        return gr.HTML(links({form: link}, f"All {len(desk.sheets)} pages:"), visible=True)

    # Gradio hands an event to an argument of this very type, which only exists where gradio does.
    for function in (sampled, picked):
        function.__annotations__["event"] = gr.SelectData

    @contextmanager
    def telling(desk: Desk) -> Iterator[None]:
        """Known errors become a message in the browser."""
        sheet = desk.sheets[desk.current]
        try:
            yield
        except KNOWN as error:
            raise gr.Error(escape(said(error, sheet.path, sheet.name))) from error

    with gr.Blocks(title="drmamba", analytics_enabled=False, delete_cache=(min(60, keep), keep)) as blocks:
        desk = gr.State(None, time_to_live=keep, delete_callback=lambda d: d and d.clear())
        gr.HTML(
            "<h1>drmamba</h1><p>Clean black-and-white pages from degraded scans. "
            "Everything happens on the machine that serves this page.</p>",
            elem_id="title",
        )
        if not service.engine.binarizer.provenance.trained:
            gr.HTML(
                "<b>This model is untrained:</b> what you see is how the page works, not how well.",
                elem_id="untrained",
            )
        with gr.Row(elem_id="layout"):
            with gr.Column(elem_id="in", min_width=280):
                upload = gr.File(
                    label="Scans or a PDF", file_count="multiple", file_types=list(READABLE), elem_id="upload",
                    height=150,
                )  # fmt: skip
                gr.HTML('<p class="hint">No scan at hand? Click a sample:</p>', padding=False)
                gallery_samples = gr.Gallery(
                    samples, label="Samples", show_label=False, columns=3, rows=1, height=125,
                    allow_preview=False, buttons=[], interactive=False, object_fit="cover", elem_id="samples",
                )  # fmt: skip
            with gr.Column(elem_id="out", min_width=280, visible=False) as right:
                compare = gr.ImageSlider(
                    label="Scan and result", show_label=False, type="filepath", elem_id="compare",
                    interactive=False, max_height=640, buttons=["fullscreen"],
                )  # fmt: skip
                hint = "Scan on the left, result on the right: drag the line, or use the arrow keys."
                gr.HTML(f'<p class="hint">{hint}</p>', padding=False)
                words = gr.HTML(elem_id="facts", padding=False)
                failed = gr.HTML(elem_id="failed", padding=False, visible=False)
                offered = gr.HTML(padding=False)
                pages = gr.Gallery(
                    label="Pages", show_label=False, columns=6, allow_preview=False, buttons=[],
                    interactive=False, visible=False, object_fit="contain", elem_id="pages", fit_columns=False,
                    height="auto",
                )  # fmt: skip
                with gr.Row(visible=False) as bundle:
                    as_pdf = gr.Button("All pages as one PDF", elem_id="all-pdf")
                    as_tiff = gr.Button("All pages as one TIFF", elem_id="all-tiff")
                bundle_link = gr.HTML(padding=False, visible=False)
            with gr.Column(elem_id="knobs", min_width=280):
                suppress = gr.Slider(
                    0, 4, DEFAULT.suppress, step=0.05, label="Suppression", elem_id="suppress",
                    info="of the background; 1 is the model's own", buttons=["reset"],
                )  # fmt: skip
                threshold = gr.Slider(
                    0.05, 0.95, DEFAULT.threshold, step=0.01, label="Threshold", elem_id="threshold",
                    info="lower is bolder", buttons=["reset"],
                )  # fmt: skip
                layer = gr.Radio(
                    list(LAYERS), value="Result", label="Right side shows", elem_id="layer",
                    info="maps lie in colours over the page: blue is little, yellow much",
                )  # fmt: skip
        knobs = [desk, threshold, suppress, layer]
        result = [compare, words, offered]
        everything = [desk, *result, pages, bundle, bundle_link, right, failed]
        on: dict[str, Any] = {"api_visibility": "private", "concurrency_limit": 2}
        upload.upload(uploaded, [*knobs, upload], everything, **on)
        gallery_samples.select(sampled, knobs, everything, **on)
        pages.select(picked, knobs, result, **on)
        for knob in (threshold, suppress, layer):
            # While a knob is turned, only its last place is worked on.
            knob.change(turned, knobs, result, trigger_mode="always_last", show_progress="minimal", **on)
        for button, form in ((as_pdf, "pdf"), (as_tiff, "tiff")):
            form_state = gr.State(form)
            button.click(bundled, [desk, threshold, suppress, form_state], bundle_link, **on)
        compare.change(None, None, None, js=KEYBOARD)
    blocks.queue(max_size=limits.queue + 4)
    fonts = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "Liberation Sans", "sans-serif"]
    theme = gr.themes.Soft(font=fonts, font_mono=["ui-monospace", "Consolas", "monospace"])
    claim(app)
    mounted: FastAPI = gr.mount_gradio_app(
        app, blocks, path="", max_file_size=limits.max_bytes, ssr_mode=False, show_error=False, pwa=False,
        footer_links=[], theme=theme, css=CSS, run_history=False,
        allowed_paths=[str(files("drmamba.service") / "samples")],
    )  # fmt: skip
    # Only then are paths that a client sends looked at: what it has not uploaded is not opened for it.
    blocks.has_launched = True
    return mounted


def label(sheet: Sheet) -> str:
    """A page's name, with a mark where it wants a look."""
    return sheet.title + (" ⚠" if set(sheet.flags) - UNREMARKABLE else "")


def facts(view: View) -> str:
    """Numbers and flags as HTML."""
    head = f'<span class="name">{escape(view.title)}</span> <span class="numbers">{escape(view.facts)}</span>'
    if not view.notes:
        return f'{head}<div class="fine">✓ nothing unusual about this page</div>'
    notes = "".join(f"<li>{escape(note)}</li>" for note in view.notes)
    return f'{head}<ul class="note">{notes}</ul>'


def downloads(view: View) -> str:
    """The current page in every format."""
    return links(view.links, "Download:")


def links(places: dict[str, str], words: str) -> str:
    """Links that look like buttons."""
    names = {"png": "PNG", "tiff": "TIFF (G4)", "pdf": "PDF"}
    listed = "".join(f'<a href="{place}" download>{names[form]}</a>' for form, place in places.items())
    return f'<div id="downloads"><span>{escape(words)}</span>{listed}</div>'
