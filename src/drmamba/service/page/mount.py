"""The one place that imports gradio, and puts the web page at the root of the API."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drmamba.errors import MissingExtra
from drmamba.service.error_answers import reserve_api_paths
from drmamba.service.page.components import FIXED_WIDTH_FONTS, FONTS, build_page, text_of
from drmamba.service.page.events import PageEvents
from drmamba.service.service import Service

if TYPE_CHECKING:
    from fastapi import FastAPI

SAMPLES = {"letter.jpg": "Letter", "book.jpg": "Book", "papyrus.jpg": "Papyrus"}  # files and their captions


def mount_page(app: FastAPI, service: Service) -> FastAPI:
    """Return the application with the web page at its root."""
    gr = _gradio(service.store.folder / "page")
    folder = Path(str(files("drmamba.service") / "samples"))
    events = PageEvents(gr, service, [folder / name for name in SAMPLES])
    samples = [(str(folder / name), caption) for name, caption in SAMPLES.items()]
    blocks = build_page(gr, events, samples, int(60 * service.limits.keep_minutes))
    blocks.queue(max_size=service.limits.queue + 4)
    reserve_api_paths(app)
    mounted: FastAPI = gr.mount_gradio_app(
        app,
        blocks,
        path="",
        max_file_size=service.limits.max_bytes,
        ssr_mode=False,
        show_error=False,
        pwa=False,
        footer_links=[],
        theme=gr.themes.Soft(font=FONTS, font_mono=FIXED_WIDTH_FONTS),
        css=text_of("style.css"),
        run_history=False,
        allowed_paths=[str(folder)],
    )
    # Only with this does Gradio check the paths that a client sends, and open no file that was not uploaded.
    blocks.has_launched = True
    return mounted


def _gradio(temporary: Path) -> Any:
    """Import gradio without any reports to other machines, and with its files in a folder of ours."""
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    os.environ["GRADIO_TEMP_DIR"] = str(temporary)
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    try:
        import gradio
    except ImportError as error:
        raise MissingExtra("gradio", "web") from error
    return gradio
