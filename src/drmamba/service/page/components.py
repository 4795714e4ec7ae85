"""The layout of the web page, and which event of which component calls what."""

from __future__ import annotations

from importlib.resources import files
from types import SimpleNamespace
from typing import Any

from drmamba.config import InferenceConfig
from drmamba.images import READABLE
from drmamba.service.page.events import PageEvents
from drmamba.service.page.pictures import LAYERS

DEFAULT = InferenceConfig()
COLUMN_WIDTH = 280  # pixels, the narrowest
FONTS = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "Liberation Sans", "sans-serif"]
FIXED_WIDTH_FONTS = ["ui-monospace", "Consolas", "monospace"]


def build_page(gr: Any, events: PageEvents, samples: list[tuple[str, str]], keep_seconds: int) -> Any:
    """Return the page as Gradio blocks; samples are image files with their captions."""
    cleaning = (min(60, keep_seconds), keep_seconds)  # how often Gradio removes files, and how old they are
    with gr.Blocks(title="drmamba", analytics_enabled=False, delete_cache=cleaning) as blocks:
        session = gr.State(None, time_to_live=keep_seconds, delete_callback=lambda s: s and s.close_pages())
        add_header(gr, trained=events.service.engine.binarizer.provenance.trained)
        with gr.Row(elem_id="layout"):
            inputs = add_inputs(gr, samples)
            result = add_result(gr)
            settings = add_settings(gr)
        connect(gr, events, session, inputs, result, settings)
    return blocks


def add_header(gr: Any, *, trained: bool) -> None:
    """Add the title, and a warning if the model is untrained."""
    gr.HTML(
        "<h1>drmamba</h1><p>Clean black-and-white pages from degraded scans. "
        "Everything happens on the machine that serves this page.</p>",
        elem_id="title",
    )
    if not trained:
        gr.HTML(
            "<b>This model is untrained:</b> what you see is how the page works, not how well.",
            elem_id="untrained",
        )


def add_inputs(gr: Any, samples: list[tuple[str, str]]) -> SimpleNamespace:
    """Add the column with the upload and the samples."""
    with gr.Column(elem_id="in", min_width=COLUMN_WIDTH):
        upload = gr.File(
            label="Scans or a PDF",
            file_count="multiple",
            file_types=list(READABLE),
            elem_id="upload",
            height=150,
        )
        gr.HTML('<p class="hint">No scan at hand? Click a sample:</p>', padding=False)
        gallery = gr.Gallery(
            samples,
            label="Samples",
            show_label=False,
            columns=3,
            rows=1,
            height=125,
            allow_preview=False,
            buttons=[],
            interactive=False,
            object_fit="cover",
            elem_id="samples",
        )
    return SimpleNamespace(upload=upload, samples=gallery)


def add_result(gr: Any) -> SimpleNamespace:
    """Add the column with the comparison, the facts, the downloads and the other pages."""
    with gr.Column(elem_id="out", min_width=COLUMN_WIDTH, visible=False) as column:
        comparison = gr.ImageSlider(
            label="Scan and result",
            show_label=False,
            type="filepath",
            elem_id="compare",
            interactive=False,
            max_height=640,
            buttons=["fullscreen"],
        )
        hint = "Scan on the left, result on the right: drag the line, or use the arrow keys."
        gr.HTML(f'<p class="hint">{hint}</p>', padding=False)
        facts = gr.HTML(elem_id="facts", padding=False)
        failures = gr.HTML(elem_id="failed", padding=False, visible=False)
        downloads = gr.HTML(padding=False)
        pages = gr.Gallery(
            label="Pages",
            show_label=False,
            columns=6,
            allow_preview=False,
            buttons=[],
            interactive=False,
            visible=False,
            object_fit="contain",
            elem_id="pages",
            fit_columns=False,
            height="auto",
        )
        with gr.Row(visible=False) as combination:
            as_pdf = gr.Button("All pages as one PDF", elem_id="all-pdf")
            as_tiff = gr.Button("All pages as one TIFF", elem_id="all-tiff")
        combined = gr.HTML(padding=False, visible=False)
    return SimpleNamespace(
        column=column,
        comparison=comparison,
        facts=facts,
        failures=failures,
        downloads=downloads,
        pages=pages,
        combination=combination,
        buttons={"pdf": as_pdf, "tiff": as_tiff},
        combined=combined,
    )


def add_settings(gr: Any) -> SimpleNamespace:
    """Add the column with the sliders and the choice of the layer."""
    with gr.Column(elem_id="settings", min_width=COLUMN_WIDTH):
        suppress = gr.Slider(
            0,
            4,
            DEFAULT.suppress,
            step=0.05,
            label="Suppression",
            elem_id="suppress",
            info="of the background; 1 is the model's own",
            buttons=["reset"],
        )
        threshold = gr.Slider(
            0.05,
            0.95,
            DEFAULT.threshold,
            step=0.01,
            label="Threshold",
            elem_id="threshold",
            info="lower is bolder",
            buttons=["reset"],
        )
        layer = gr.Radio(
            list(LAYERS),
            value="Result",
            label="Right side shows",
            elem_id="layer",
            info="maps lie in colours over the page: blue is little, yellow much",
        )
    return SimpleNamespace(threshold=threshold, suppress=suppress, layer=layer)


def connect(
    gr: Any,
    events: PageEvents,
    session: Any,
    inputs: SimpleNamespace,
    result: SimpleNamespace,
    settings: SimpleNamespace,
) -> None:
    """Connect the components to the events."""
    given = [session, settings.threshold, settings.suppress, settings.layer]
    shown = [result.comparison, result.facts, result.downloads]
    around = [result.pages, result.combination, result.combined, result.column, result.failures]
    options: dict[str, Any] = {"api_visibility": "private", "concurrency_limit": 2}
    everything = [session, *shown, *around]
    inputs.upload.upload(events.files_uploaded, [*given, inputs.upload], everything, **options)
    inputs.samples.select(events.sample_selected, given, everything, **options)
    result.pages.select(events.page_selected, given, shown, **options)
    for setting in (settings.threshold, settings.suppress, settings.layer):
        # While a slider moves, only its last position is computed.
        latest: dict[str, Any] = {"trigger_mode": "always_last", "show_progress": "minimal"}
        setting.change(events.settings_changed, given, shown, **latest, **options)
    for form, button in result.buttons.items():
        button.click(events.pages_combined, [*given[:3], gr.State(form)], result.combined, **options)
    result.comparison.change(None, None, None, js=text_of("keyboard.js"))


def text_of(name: str) -> str:
    """Return the text of a file that ships with the page."""
    return (files("drmamba.service.page") / name).read_text(encoding="utf-8")
