"""Leave-one-year-out: a run for every year, each scored on the year it never saw, in one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from drmamba.config import RunConfig, replace_values
from drmamba.data.dibco import find_pairs, years
from drmamba.errors import DataError
from drmamba.experiments.baselines import library_version
from drmamba.experiments.classical import classical_means
from drmamba.experiments.everyday import everyday_means
from drmamba.experiments.paper_tables import LABEL, LEAVE_ONE_OUT
from drmamba.experiments.report import (
    CONTEST,
    HEADINGS,
    as_json,
    as_markdown,
    machine,
    number,
    plot_years,
    settings,
    stamp,
    write_text,
)
from drmamba.experiments.series import Engine, Job, Say, incomplete, run_series
from drmamba.training.run_directory import RunDirectory

Scores = dict[str, Any]
CHOSEN = "‡"  # beside a year that the recipe was chosen on


def folds(config: RunConfig, root: Path, wanted: Sequence[str] = ()) -> list[Job]:
    """A job for every year of the data, or for those wanted."""
    kept = set(config.data.validate_on)
    known = known_years(config, wanted)
    chosen = [year for year in wanted or known if year not in kept]
    return [Job(year, replace_values(config, {"source": {"hold_out": year}}), root / year) for year in chosen]


def known_years(config: RunConfig, wanted: Sequence[str] = ()) -> list[str]:
    """The years of the data; every one that is wanted must be among them."""
    known = list(years(find_pairs(config.source.data)))
    for year in wanted:
        if year not in known:
            raise DataError(f"there is no year {year} in {config.source.data}; there are {', '.join(known)}")
    return known


def leave_one_out(
    config: RunConfig,
    root: Path,
    engine: Engine,
    say: Say,
    wanted: Sequence[str] = (),
    beside: Sequence[str] = (),
    chosen_on: Sequence[str] = (),
) -> Iterator[dict[str, Scores]]:
    """Run every fold; after each, write results.json, table.md and plot.png and give the scores so far.

    `beside` names classical methods to score on the same pages, `chosen_on` the years that the recipe was
    chosen on: the table marks them and gives an average without them.
    """
    known_years(config, chosen_on)  # raises now, not after the first fold
    jobs = folds(config, root, wanted)
    pairs = find_pairs(config.source.data)
    if beside:
        library_version()  # raises now, not after the first fold
    done: dict[str, Scores] = {}
    for job, scores in run_series(jobs, engine, say):
        pages = [pair for pair in pairs if pair.year == job.name]
        others = classical_means(pages, beside, job.folder / "classical.json") if beside else {}
        model = RunDirectory(job.folder).model
        everyday = everyday_means(model, pages, job.folder / "everyday.json", engine.device)
        done[job.name] = {**scores, "classical": others, "everyday": everyday}
        write_results(root, config, done, len(jobs), chosen_on)
        yield done


def write_results(
    root: Path, config: RunConfig, done: dict[str, Scores], folds: int, chosen_on: Sequence[str] = ()
) -> None:
    """The three files, from the folds that are done."""
    facts = {**stamp(), "machine": machine(), "preset": config.preset, "config": settings(config)}
    if any(scores["classical"] for scores in done.values()):
        facts["classical"] = library_version()
    measured = {
        year: {
            "mean": scores["mean"],
            "pages": scores["pages"],
            "minutes": scores["minutes"],
            "steps": scores["steps"],
            "everyday": scores["everyday"],
            "classical": scores["classical"],
        }
        for year, scores in done.items()
    }
    facts |= {"chosen_on": list(chosen_on), "folds_done": len(done), "folds": folds}
    averages = {"average": average(done), "everyday_average": average(done, "everyday")}
    write_text(root / "results.json", as_json({**facts, "years": measured, **averages}))
    write_text(root / "table.md", table(done, config.preset, folds, chosen_on))
    names = list(done)
    paper = {row.name: row for row in LEAVE_ONE_OUT}
    lines: dict[str, dict[str, list[float | None]]] = {
        measure: {
            f"drmamba {config.preset}": [float(done[year]["mean"][measure]) for year in names],
            f"drmamba {config.preset}, everyday": [float(done[year]["everyday"][measure]) for year in names],
            f"DR-Mamba ({LABEL})": [getattr(paper.get(year), measure, None) for year in names],
        }
        for measure in CONTEST
    }
    plot_years(root / "plot.png", names, lines, title="Leave one year out")


def average(done: dict[str, Scores], protocol: str = "mean") -> dict[str, float]:
    """The mean over years, as the paper takes it: every year counts once."""
    return {
        measure: sum(float(s[protocol][measure]) for s in done.values()) / len(done)
        for measure in CONTEST
        if done
    }


def table(done: dict[str, Scores], preset: str, folds: int, chosen_on: Sequence[str] = ()) -> str:
    """Ours beside the paper's, as Markdown, with what makes them differ."""
    paper = {row.name: row for row in LEAVE_ONE_OUT}
    header = [
        "held-out year",
        "pages",
        *(HEADINGS[m] for m in CONTEST),
        *(f"paper {HEADINGS[m]}" for m in CONTEST),
    ]
    rows = []
    for year, scores in done.items():
        ours = [number(float(scores["mean"][measure])) for measure in CONTEST]
        theirs = [number(getattr(paper.get(year), measure, None)) for measure in CONTEST]
        rows.append([_marked(year, chosen_on), str(len(scores["pages"])), *ours, *theirs])
    mean = average(done)
    # The paper's average is of all ten years: beside an average of fewer it would mislead.
    whole = paper.get("Average") if set(done) == set(paper) - {"Average"} else None
    pages = str(sum(len(scores["pages"]) for scores in done.values()))
    rows.append(
        [
            f"average of {len(done)}",
            pages,
            *(number(mean.get(m)) for m in CONTEST),
            *(number(getattr(whole, m, None)) for m in CONTEST),
        ]
    )
    untouched = {year: scores for year, scores in done.items() if year not in chosen_on}
    if 0 < len(untouched) < len(done):
        others = average(untouched)
        pages = str(sum(len(scores["pages"]) for scores in untouched.values()))
        without = [f"without {CHOSEN}: {len(untouched)}", pages, *(number(others[m]) for m in CONTEST)]
        rows.append([*without, *("-" for _ in CONTEST)])
    minutes = [float(scores["minutes"]) for scores in done.values()]
    number_of = f"{folds}" if len(done) == folds else f"{len(done)} of {folds}"
    notes = [
        f"Preset `{preset}`, {number_of} folds, {sum(minutes) / len(minutes):.1f} minutes of training each on average; "
        "official metrics, windows of 512 with stride 256.",
        "Everyday protocol: the same model as `drmamba binarize` runs it, with larger strides; pages are seen at a "
        "fitting size, level, and with grain if they have none.",
        f"The paper's columns: {LABEL} (a 33.5 M network, 150 epochs on a GPU).",
        *([f"{CHOSEN} The recipe was chosen on these years."] if set(chosen_on) & set(done) else []),
        *incomplete((year, len(scores["pages"])) for year, scores in done.items()),
    ]
    parts = [
        as_markdown(header, rows),
        *comparison(done, preset, chosen_on),
        "\n".join(f"- {note}" for note in notes),
    ]
    return "\n\n".join(parts) + "\n"


def _marked(year: str, chosen_on: Sequence[str]) -> str:
    return f"{year} {CHOSEN}" if year in chosen_on else year


def comparison(done: dict[str, Scores], preset: str, chosen_on: Sequence[str] = ()) -> list[str]:
    """FM of both protocols and the classical methods year by year, then every measure's average."""
    methods = list(next(iter(done.values()))["classical"])
    ours, everyday = f"drmamba `{preset}`", "everyday protocol"
    columns = {
        year: {ours: scores["mean"], everyday: scores["everyday"], **scores["classical"]}
        for year, scores in done.items()
    }
    methods = [everyday, *methods]
    years = [
        [_marked(year, chosen_on), *(number(float(means[name]["fm"])) for name in (ours, *methods))]
        for year, means in columns.items()
    ]
    averages = [
        [
            name,
            *(
                number(sum(float(means[name][m]) for means in columns.values()) / len(columns))
                for m in CONTEST
            ),
        ]
        for name in (ours, *methods)
    ]
    return [
        "FM on the same pages" + (f" ({library_version()}):" if len(methods) > 1 else ":"),
        as_markdown(["held-out year", ours, *methods], years),
        f"Averages of the {len(done)} years:",
        as_markdown(["method", *(HEADINGS[m] for m in CONTEST)], averages),
    ]
