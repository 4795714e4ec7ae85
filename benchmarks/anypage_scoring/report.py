"""Means by kind and method, the table, and whether each goal is met."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from anypage_pages.page import CATEGORIES, Category
from anypage_scoring.judging import Row
from anypage_scoring.methods import CLASSICAL_METHODS, NETWORK

Means = dict[str, dict[str, dict[str, float | None]]]  # kind -> method -> measure -> mean over pages
COLUMNS: tuple[tuple[str, str], ...] = (
    ("headline", "headline"),
    ("rule", "rule"),
    ("drawing", "drawing"),
    ("small print", "small print"),
    ("text", "text"),
    ("false_ink", "false ink"),
    ("fm", "FM"),
    ("fm_loose", "FM loose"),
    ("fm_contest", "FM contest"),
    ("cer", "CER"),
    ("cer small print", "CER small print"),
)


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of what is there, or nothing."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def error_share(rows: Sequence[Row], categories: tuple[Category, ...]) -> float | None:
    """Wrong characters of some categories, in per cent of all of theirs."""
    pairs = [row["characters"][name] for row in rows for name in categories if name in row["characters"]]
    return 100 * sum(wrong for wrong, _ in pairs) / sum(length for _, length in pairs) if pairs else None


def mean_scores(rows: Sequence[Row]) -> Means:
    """Means over the pages of each kind, for each method."""
    means: Means = {}
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["kind"], row["method"]), []).append(row)
    for (kind, method), group in groups.items():
        values: dict[str, float | None] = {
            category: mean(row["kept"].get(category) for row in group) for category in CATEGORIES
        }
        for measure in ("false_ink", "fm", "fm_loose", "fm_contest"):
            values[measure] = mean(row[measure] for row in group)
        values["cer"] = error_share(group, CATEGORIES)
        values["cer small print"] = error_share(group, ("small print",))
        means.setdefault(kind, {})[method] = values
    return means


def table(means: Means) -> str:
    """Kinds and methods down, measures across, in Markdown; everything in per cent."""
    lines = [
        "| kind | method | " + " | ".join(title for _, title in COLUMNS) + " |",
        "|---|---|" + "---:|" * len(COLUMNS),
    ]
    for kind, by_method in means.items():
        for method, values in by_method.items():
            cells = ("" if (value := values[name]) is None else f"{value:.1f}" for name, _ in COLUMNS)
            lines.append(f"| {kind} | {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def least(means: Means, measures: tuple[str, ...]) -> tuple[float, str] | None:
    """The lowest mean of the network over kinds, and where it is."""
    found = [
        (value, f"{measure} of {kind}")
        for kind, by_method in means.items()
        for measure in measures
        if (value := by_method.get(NETWORK, {}).get(measure)) is not None
    ]
    return min(found) if found else None


def below_classical(means: Means) -> list[str] | None:
    """Kinds on which a classical method has a higher FM than the network; None if nothing can be compared."""
    compared, worse = False, []
    for kind, by_method in means.items():
        others = [(by_method[name]["fm"] or 0.0, name) for name in CLASSICAL_METHODS if name in by_method]
        if NETWORK not in by_method or not others:
            continue
        compared, own, best = True, by_method[NETWORK]["fm"] or 0.0, max(others)
        if own < best[0]:
            worse.append(f"{kind} ({own:.1f}, {best[1]} {best[0]:.1f})")
    return worse if compared else None


def goals(means: Means) -> list[dict[str, Any]]:
    """Each goal of the network: its name, what was measured, and whether it is met (None: not measured)."""
    kept = least(means, ("headline", "rule"))
    drawings = least(means, ("drawing",))
    headed = [values[NETWORK] for values in means.values() if NETWORK in values and has_headlines(values)]
    small = [value for values in headed if (value := values["cer small print"]) is not None]
    worse = below_classical(means)
    bleed = means.get("distant bleed-through", {}).get(NETWORK, {}).get("fm")
    stained = means.get("half stain", {}).get(NETWORK, {}).get("fm")
    return [
        goal("headlines, rules and frames: 90 % kept on every kind", kept and kept[0] >= 90, lowest(kept)),
        goal("drawings: 80 % kept on every kind", drawings and drawings[0] >= 80, lowest(drawings)),
        goal(
            "small print under headlines: at most 5 % of characters wrong on every kind",
            max(small) <= 5 if small else None,
            f"highest {max(small):.1f}" if small else None,
        ),
        goal(
            "FM: on no kind below the best classical method",
            None if worse is None else not worse,
            None if worse is None else "; ".join(worse) or "none below",
        ),
        goal("distant bleed-through: FM 85", bleed and bleed >= 85, bleed and f"{bleed:.1f}"),
        goal("half stain: FM, without a limit", None, stained and f"{stained:.1f}"),
    ]


def has_headlines(by_method: dict[str, dict[str, float | None]]) -> bool:
    """Whether pages of a kind have headlines."""
    return by_method[NETWORK]["headline"] is not None


def lowest(found: tuple[float, str] | None) -> str | None:
    """The lowest mean in words."""
    return f"lowest {found[0]:.1f}, {found[1]}" if found else None


def goal(name: str, met: bool | float | None, measured: Any) -> dict[str, Any]:
    """One goal as JSON prints it."""
    return {"goal": name, "met": None if met is None else bool(met), "measured": measured}


def goal_lines(found: Sequence[dict[str, Any]]) -> str:
    """A line for each goal."""
    words = {True: "met", False: "not met", None: "no limit or not measured"}
    return "\n".join(
        f"{one['goal']}: {one['measured'] or 'not measured'} ({words[one['met']]})" for one in found
    )
