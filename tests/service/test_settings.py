"""The settings of the API: all of the command's, with its bytes; what is not a setting is refused by name."""

import numpy as np
import pytest
from click.testing import CliRunner
from running_service import SCAN, png, post, problem, text_page

from drmamba.cli import group
from drmamba.cli.binarize import command
from drmamba.config import InferenceConfig
from drmamba.images import Bitmap, encode

httpx = pytest.importorskip("httpx")
# Options that say where and how a batch runs, not what a result looks like.
OF_THE_MACHINE = {
    "paths", "output", "model", "device", "runtime", "workers", "max_memory", "max_pixels", "max_seconds",
    "overwrite", "report", "engine", "address", "shard", "help",
}  # fmt: skip
CHANGES = {
    "format": "same", "pdf_coding": "g4", "despeckle": True, "soft": True, "keep": "text",
    "threshold": 0.8, "suppress": 1.5, "margins": False,
    "invert": False, "auto_rotate": False, "add_noise": False, "keep_bilevel": False, "context": False, "scale": 0.5,
    "auto_contrast": False,
    "witness": False, "second_look": False, "restore": False, "find_pictures": False, "pictures": "white",
    "dpi": 100, "protocol": "paper", "window": 96, "stride": 64, "precision": "float32",
}  # fmt: skip


def parameters(server, path="/v1/binarize"):
    described = httpx.get(f"{server.url}/openapi.json").json()["paths"][path]["post"]["parameters"]
    return {parameter["name"]: parameter for parameter in described}


def test_every_setting_of_the_command_is_there_with_its_default(dark):
    options = {option.opts[-1].strip("-").replace("-", "_") for option in command.params}
    known = parameters(dark)
    assert options - OF_THE_MACHINE == set(known) == {"for", *CHANGES}
    assert set(known) == set(parameters(dark, "/v1/jobs"))
    values = InferenceConfig().to_dict()
    for name, parameter in known.items():
        assert parameter["description"].endswith(".")
        if name in values:
            assert parameter["schema"]["default"] == values[name]


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    (folder / "scan.png").write_bytes(png(text_page(130, 120), dpi=(300, 300)))
    bitmap = Bitmap.pack(text_page(140, 100) < 128, 200.0)
    (folder / "two.tiff").write_bytes(encode([bitmap, bitmap], ".tif"))
    return folder


@pytest.mark.parametrize(
    "changes", [CHANGES, {"format": "pdf", "for": "manuscript"}, {"format": "same", "window": 96}]
)
def test_settings_give_the_command_s_bytes(dark, sources, tmp_path, monkeypatch, changes):
    binarizer = dark.service.engine.binarizer
    monkeypatch.setattr("drmamba.cli.binarize.load_binarizer", lambda *args: binarizer.with_config(args[2]))
    words = []
    for name, value in changes.items():
        option = "--" + name.replace("_", "-")
        flag = [option] if value is True else [option.replace("--", "--no-")]
        words += flag if isinstance(value, bool) else [option, str(value)]
    result = CliRunner().invoke(group, ["binarize", str(sources), "-o", str(tmp_path / "out"), *words])
    assert result.exit_code == 0, result.output
    made = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    files = [("file", (path.name, path.read_bytes())) for path in sorted(sources.iterdir())]
    answer = post(dark, files, params=changes, headers={"accept": "application/json"}).json()
    links = [
        page[kind]
        for file in answer["files"]
        for page in file["pages"]
        for kind in ("link", "soft")
        if page[kind]
    ]
    fetched = {httpx.get(dark.url + link).content for link in links}
    assert fetched == set(made.values())
    assert len(fetched) >= 2


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("thresold=0.4", "no parameter 'thresold'; did you mean threshold?"),
        ("threshold=0.4&threshold=0.5", "threshold is given 2 times"),
        ("quux=1", "no parameter 'quux'; known are format, soft"),
        ("stride=100&window=64", "window.stride must be from 1 to the window's 64"),
        ("scale=20", "inference.scale must be auto or from 0.05 to 8"),
        ("precision=bfloat17", "precision"),
        ("for=photo&protocol=paper", "settings of its own"),
        ("pictures=grey", "only PDF pages"),
    ],
)
def test_what_is_not_a_setting_is_refused_by_name(dark, query, words):
    for path in ("binarize", "jobs"):
        body = problem(httpx.post(f"{dark.url}/v1/{path}?{query}", files={"file": SCAN}), 422)
        assert words in body["detail"]
    assert dark.service.held == 0


def test_a_setting_in_the_form_is_refused_by_name(dark):
    answer = httpx.post(f"{dark.url}/v1/binarize", files={"file": SCAN}, data={"threshold": "0.4"})
    assert "field 'threshold'" in problem(answer, 400)["detail"]


@pytest.mark.parametrize("path", ["/v1/models", "/healthz", "/metrics", f"/v1/results/{'x' * 32}"])
def test_paths_without_parameters_take_none(dark, path):
    assert "verbose" in problem(httpx.get(f"{dark.url}{path}?verbose=1"), 422)["detail"]


def test_windows_that_would_take_hours_are_refused(dark):
    body = problem(post(dark, params={"window": 32, "stride": 1}), 422, limit="windows")
    assert "larger stride" in body["detail"]


def test_large_windows_count_against_the_memory(dark, monkeypatch):
    monkeypatch.setattr(dark.service.engine.ledger, "total", 60_000_000)
    assert post(dark).status_code == 200
    for page in (SCAN, png(np.zeros((1, 1), np.uint8))):
        problem(post(dark, page, params={"window": 4096}), 413, limit="pixels")
