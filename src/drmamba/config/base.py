"""The base class of all settings: values are checked, and can be read from and written to plain dictionaries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from drmamba.errors import ConfigError

C = TypeVar("C", bound="Config")


@dataclass(frozen=True, kw_only=True)
class Config:
    """The base class of all settings; every value is checked against its type when an object is made."""

    def __post_init__(self) -> None:
        for name, hint in get_type_hints(type(self)).items():
            object.__setattr__(self, name, _checked(getattr(self, name), hint, f"{self._label()}.{name}"))

    @classmethod
    def _label(cls) -> str:
        return cls.__name__.removesuffix("Config").lower()

    @classmethod
    def from_dict(cls: type[C], values: Mapping[str, Any]) -> C:
        """Build from plain values (JSON, TOML); an unknown key is an error that lists the known ones."""
        return replace_values(cls(), values)

    @classmethod
    def with_current_names(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return values under today's names; settings whose names have changed override this."""
        return dict(values)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that `from_dict` reads back."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain

    def require(self, name: str, ok: bool, wanted: str) -> None:
        """Raise unless ok; the error states the setting's full name, its value and what it must be."""
        if not ok:
            raise ConfigError(f"{self._label()}.{name} must be {wanted}, got {getattr(self, name)!r}")


def _checked(value: Any, hint: Any, label: str) -> Any:
    """Return the value converted to the type of its hint, or raise."""
    origin, options = get_origin(hint), get_args(hint)
    if origin is Literal:
        if value not in options:
            raise ConfigError(f"{label} must be one of {', '.join(map(str, options))}, got {value!r}")
        return value
    if origin in (Union, UnionType):
        for option in options:
            try:
                return _checked(value, option, label)
            except ConfigError:
                continue
        raise ConfigError(f"{label} must be {' or '.join(_name(o) for o in options)}, got {value!r}")
    if origin is tuple and isinstance(value, list | tuple):
        items = [options[0]] * len(value) if options[-1] is Ellipsis else list(options)
        if len(items) != len(value):
            raise ConfigError(f"{label} must hold {len(items)} values, got {value!r}")
        return tuple(_checked(v, item, label) for v, item in zip(value, items, strict=True))
    kind = origin or hint
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind) or (kind in (int, float) and isinstance(value, bool)):
        raise ConfigError(f"{label} must be {_name(hint)}, got {value!r}")
    return value


def _name(hint: Any) -> str:
    return "empty" if hint is type(None) else getattr(hint, "__name__", str(hint))


def replace_values(config: C, values: Mapping[str, Any]) -> C:
    """Return a copy of config with the given (possibly nested) values in place of its own."""
    known, values = {f.name for f in fields(config)}, config.with_current_names(values)
    for name in values:
        if name not in known:
            raise ConfigError(f"{config._label()} has no setting {name!r}; it has {', '.join(sorted(known))}")
    changes = {}
    for name, value in values.items():
        old = getattr(config, name)
        nested = is_dataclass(old) and isinstance(value, Mapping)
        changes[name] = replace_values(old, value) if nested else value
    return replace(config, **changes)


def set_value(config: C, path: str, text: str) -> C:
    """Return a copy of config with one dotted setting changed, as in `--set block.fusion=add`."""
    given, _, rest = path.partition(".")
    (head,) = config.with_current_names({given: None})
    if head not in {f.name for f in fields(config)}:
        return replace_values(config, {head: None})  # This raises an error that lists the settings.
    old = getattr(config, head)
    if rest:
        if not is_dataclass(old):
            raise ConfigError(f"{config._label()}.{head} is one value; {path!r} asks for a part of it")
        return replace(config, **{head: set_value(old, rest, text)})  # type: ignore[type-var]
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        value = text  # A bare word is a string.
    return replace(config, **{head: value})
