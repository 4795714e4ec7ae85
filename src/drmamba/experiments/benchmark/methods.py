"""The rows of a benchmark's table: classical methods, networks, and folders of predictions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, Literal

from drmamba.config import CLASSICAL, PRESETS, PROTOCOLS, BenchmarkConfig
from drmamba.data.dibco import Pair
from drmamba.data.layout import classify, year_in
from drmamba.errors import ConfigError, DataError
from drmamba.experiments.baselines import library_version
from drmamba.files import sha256
from drmamba.images import READABLE_IMAGES
from drmamba.inference.models import find_model, read_header
from drmamba.model.hub_files import parse_id

DEFAULT = BenchmarkConfig()
UNTRAINED = "UNTRAINED: its scores mean nothing"


@dataclass(frozen=True)
class Method:
    """A row of the table, and everything that decides its pixels."""

    name: str
    kind: Literal["classical", "network", "folder"]
    source: str  # the algorithm, the model, or the folder
    identity: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    seen: frozenset[str] | None = frozenset()  # years that it was trained on; None if nobody knows
    trained: bool = True

    @property
    def label(self) -> str:
        """Return the name for tables, with the library's version or a mark that a network is untrained."""
        mark = self.identity.get("library") or ("UNTRAINED" if not self.trained else "")
        return f"{self.name} ({mark})" if mark else self.name

    def has_seen(self, year: str) -> bool:
        """Return whether the year was, or may have been, part of its training."""
        return self.seen is None or year in self.seen


def parse_methods(
    words: Iterable[str], *, model: str = DEFAULT.model, protocol: str = DEFAULT.protocol
) -> list[Method]:
    """Return methods by name; `name=FOLDER` is a folder of predictions, `name=MODEL` another network."""
    methods: list[Method] = []
    for word in (word.strip() for word in words):
        name, _, source = word.partition("=")
        if source and Path(source).is_dir():
            methods.append(Method(name, "folder", source, {"folder": source}, f"predictions in {source}"))
        elif source and (Path(source).is_file() or source in PRESETS or parse_id(source)):
            methods.append(_network(name, source, protocol))
        elif source:
            raise ConfigError(
                f"--methods {word}: {source} is neither a folder of predictions nor a model file, a preset or a Hub id"
            )
        elif name == "drmamba":
            methods.append(_network(name, model, protocol))
        elif name in CLASSICAL:
            methods.append(_classical(name))
        else:
            known = ", ".join((*CLASSICAL, "drmamba"))
            raise ConfigError(f"there is no method {name!r}; there are {known}, and name=FOLDER for your own")
        if not name or "/" in name or name in {m.name for m in methods[:-1]}:
            raise ConfigError(f"--methods: {word!r} needs a name of its own, without '/'")
    if not methods:
        raise ConfigError("--methods names no method")
    return methods


def _classical(name: str) -> Method:
    settings = {key: value for key, value in CLASSICAL[name].to_dict().items() if value is not None}
    listed = ", ".join(f"{key} {value}" for key, value in settings.items()) or "no settings"
    version = library_version()
    return Method(name, "classical", name, {"library": version, "settings": settings}, f"{version}, {listed}")


def _network(name: str, model: str, protocol: str) -> Method:
    if protocol not in PROTOCOLS:
        raise ConfigError(f"there is no protocol {protocol!r}; there are {', '.join(PROTOCOLS)}")
    path = find_model(model)
    identity: dict[str, Any] = {"protocol": PROTOCOLS[protocol].to_dict()}
    if path is None:
        identity["sha256"] = f"untrained-{model}"
        return Method(name, "network", model, identity, f"{model}, {UNTRAINED}", trained=False)
    _, origin = read_header(path)
    identity["sha256"] = sha256(path)
    label = f"{model} {identity['sha256'][:12]}, {protocol} protocol"
    if not origin.trained:
        return Method(name, "network", str(path), identity, f"{label}, {UNTRAINED}", trained=False)
    if not origin.data:
        return Method(name, "network", str(path), identity, f"{label}, training data unknown", None)
    seen = frozenset(year_in(part) or part for part in origin.data)
    return Method(name, "network", str(path), identity, f"{label}, trained on {', '.join(origin.data)}", seen)


class Predictions:
    """A folder of predictions: `<year>/<name>.png` in it, or `<name>.png` where that is unambiguous."""

    def __init__(self, folder: Path, pairs: Sequence[Pair]) -> None:
        self.folder = folder
        self._names: dict[tuple[str | None, str], list[Path]] = {}
        for path in sorted(folder.rglob("*")):
            if path.suffix.lower() not in READABLE_IMAGES or not path.is_file():
                continue
            below = path.relative_to(folder)
            year = next((y for part in below.parent.parts if (y := year_in(part) or _set(part, pairs))), None)
            sort = classify(PurePath(path.name))
            for name in {path.stem, path.stem.removesuffix(".bin"), *([sort[1]] if sort else [])}:
                self._names.setdefault((year, name), []).append(path)
        self._single = {pair.name for pair in pairs if sum(p.name == pair.name for p in pairs) == 1}

    def find(self, pair: Pair) -> Path:
        """Return the prediction of a page; raise if there is none, or more than one."""
        keys: list[tuple[str | None, str]] = [(pair.year, pair.name)]
        keys += [(None, f"{pair.year}{mark}{pair.name}") for mark in "_- ."]
        keys += [(None, pair.name)] if pair.name in self._single else []
        for key in keys:
            found = self._names.get(key, [])
            if len(found) > 1:
                raise DataError(f"{found[0]} and {found[1]} both claim to be {pair.label}; keep one of them")
            if found:
                return found[0]
        raise DataError(
            f"there is no prediction for {pair.label} in {self.folder}: {pair.year}/{pair.name}.png is expected"
        )


def _set(folder: str, pairs: Sequence[Pair]) -> str | None:
    """Return the folder's name if it is that of a data set, which need not be a year."""
    return folder if any(pair.year == folder for pair in pairs) else None
