"""Parts of a batch: disjoint, complete, even, and stable when files come and go."""

from pathlib import Path

import pytest

from drmamba.errors import ConfigError, InputError
from drmamba.inference.jobs import Shard, plan


def touch(*paths):
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")


def test_every_file_is_in_exactly_one_part():
    names = [Path(f"vol{v:02d}/page{p:04d}.jpg") for v in range(40) for p in range(100)]
    parts = [[name for name in names if Shard(i, 8).holds(name)] for i in range(1, 9)]
    assert sorted(name for part in parts for name in part) == sorted(names)
    assert all(430 < len(part) < 570 for part in parts)  # 500 each, give or take three deviations


def test_a_part_depends_on_the_path_alone():
    """These values may never change: machines with different versions work on the same batch."""
    names = ["a.jpg", "deep/b.tif", "Deep/B.TIF", "x/y/z.pdf", "é.png"]
    assert [[i for i in range(1, 9) if Shard(i, 8).holds(Path(name))] for name in names] == [
        [8],
        [1],
        [1],
        [6],
        [8],
    ]


def test_names_are_those_of_one_run(tmp_path):
    touch(*(tmp_path / f"in/{n}{end}" for n in range(20) for end in (".jpg", ".tif")))
    whole = plan([tmp_path / "in"], tmp_path / "out")
    parts = [plan([tmp_path / "in"], tmp_path / "out", shard=Shard(i, 3)) for i in (1, 2, 3)]
    assert sorted(map(str, whole)) == sorted(str(job) for part in parts for job in part)
    assert all(job.output.name.endswith((".jpg.png", ".tif.png")) for job in whole)


def test_parts_may_be_empty_but_a_folder_may_not(tmp_path):
    touch(tmp_path / "in/a.jpg")
    sizes = [len(plan([tmp_path / "in"], tmp_path / "out", shard=Shard(i, 5))) for i in range(1, 6)]
    assert sorted(sizes) == [0, 0, 0, 0, 1]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="nothing to do"):
        plan([tmp_path / "empty"], tmp_path / "out", shard=Shard(1, 5))
    with pytest.raises(InputError, match="--shard splits many"):
        plan([tmp_path / "in/a.jpg"], tmp_path / "page.tif", shard=Shard(1, 5))


@pytest.mark.parametrize("text", ["0/8", "9/8", "2", "2/", "/8", "a/b", "-1/8", "1/0"])
def test_wrong_parts_are_told(text):
    with pytest.raises(ConfigError, match="written like 2/8"):
        Shard.parse(text)
    assert Shard.parse("2/8") == Shard(2, 8)


def test_planning_asks_every_folder_once(tmp_path, monkeypatch):
    """Listing must stay linear, and cheap on a shared file system."""
    touch(*(tmp_path / f"in/{d}/{n}.jpg" for d in range(5) for n in range(60)))
    asked = []
    resolve = Path.resolve
    monkeypatch.setattr(Path, "resolve", lambda self, **more: asked.append(self) or resolve(self, **more))
    assert len(plan([tmp_path / "in"], tmp_path / "out")) == 300
    assert len(asked) < 30
