"""The lines of a report as pages in order of concern."""

import json

import pytest

from drmamba.errors import InputError
from drmamba.inference.quality import FLAGS
from drmamba.inference.review.redo_options import UNSTATED, redo_options
from drmamba.inference.review.reported_pages import read_reports


def line(name, **values):
    return json.dumps(
        {"status": "done", "input": name, "page": 1, "pages": 1, "output": f"out/{name}.png"} | values
    )


def write(path, *lines):
    path.write_text("\n".join(lines) + "\n")
    return path


def test_pages_come_in_order_of_concern(tmp_path):
    report = write(
        tmp_path / "report.jsonl",
        line("calm.jpg", flags=["rescaled"], ink=0.1, uncertain=0.001),
        line("doubtful.jpg", flags=["uncertain"]),
        line("broken.jpg", status="failed", output=None, error="broken.jpg is damaged"),
        line("marked.jpg", boxes={"lost_content": [[1, 2, 30, 40]], "kept_dirt": [[5, 5, 9, 9]]}),
        line("shaky.jpg", ink=0.1, uncertain=0.05),
        line("gaps.jpg", doubt=0.15),
    )
    names = [page.input for page in read_reports([report])]
    assert names == ["broken.jpg", "doubtful.jpg", "gaps.jpg", "marked.jpg", "shaky.jpg", "calm.jpg"]


def test_flags_are_words_and_harmless_ones_are_no_warnings(tmp_path):
    report = write(tmp_path / "r.jsonl", line("a.jpg", flags=["blank", "rescaled", "of_a_later_version"]))
    (page,) = read_reports([report])
    assert page.warnings == [FLAGS["blank"], "of a later version"]
    assert page.notes == [FLAGS["rescaled"]]


def test_the_newest_line_counts_and_broken_lines_do_not(tmp_path):
    first = write(tmp_path / "1.jsonl", line("a.jpg", flags=["blank"]), '{"status": "done", "inp')
    second = write(tmp_path / "2.jsonl", line("a.jpg", flags=[]), "{}")
    pages = read_reports([first, second])
    assert [(page.input, page.flags) for page in pages] == [("a.jpg", ())]


def test_boxes_that_are_none_are_left_out(tmp_path):
    boxes = {"lost_content": [[10, 10, 5, 20], [1, 2], None, [1, 1, 4, 5]], "kept_dirt": 3}
    (page,) = read_reports([write(tmp_path / "r.jsonl", line("a.jpg", boxes=boxes))])
    assert page.boxes == {"lost_content": [(1.0, 1.0, 4.0, 5.0)]}


@pytest.mark.parametrize("text", ["", "not a report\n", "[1, 2]\n"])
def test_a_file_without_lines_of_a_report_is_refused(tmp_path, text):
    path = tmp_path / "r.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match="holds no line of a report"):
        read_reports([path])


def test_a_decision_belongs_to_one_result(tmp_path):
    old, new = (
        read_reports([write(tmp_path / "r.jsonl", line("a.jpg", output_sha256=sha))])[0].id
        for sha in ("1", "2")
    )
    assert old != new


def test_settings_become_the_options_that_give_them():
    settings = {
        "windows": {"window": 512, "stride": 608, "fit": True},
        "threshold": 0.4,
        "suppress": 1.0,
        "turn": False,  # the name of an earlier version
        "margins": True,
        "soft": True,
        "dpi": 400,
    }
    assert redo_options(settings) == [
        "--threshold", "0.4", "--no-auto-rotate", "--window", "512", "--soft", "--dpi", "400"
    ]  # fmt: skip
    assert redo_options({}) == []


def test_all_settings_come_back_from_their_options():
    from click.testing import CliRunner

    from drmamba.cli import group
    from drmamba.config import PROTOCOLS

    help_text = CliRunner().invoke(group, ["binarize", "--help"]).output
    for protocol, config in PROTOCOLS.items():
        changed = {
            name: not value
            if isinstance(value, bool)
            else {"text": "all", "auto": 0.5, "dither": "white"}.get(value, 0.25)
            for name, value in config.to_dict().items()
            if name not in UNSTATED
        }
        options = redo_options(config.to_dict() | changed)
        assert ("paper" in options) == (protocol == "paper")
        for name in changed:
            option = f"--{name.replace('_', '-')}"
            assert option in options or option.replace("--", "--no-", 1) in options
            assert option in help_text
    assert redo_options(PROTOCOLS["paper"].to_dict()) == ["--protocol", "paper"]
