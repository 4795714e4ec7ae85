"""A model for publication: half the size, with the scores of its folds, exported to ONNX, and with a model card."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from drmamba import checkpoint
from drmamba.config import PRESETS, ModelConfig, PushConfig
from drmamba.errors import CheckpointError, ConfigError, DataError
from drmamba.experiments.report import CONTEST
from drmamba.experiments.studies.leave_one_out_report import DEFAULT_KEY
from drmamba.experiments.studies.run_series import incomplete
from drmamba.files import sha256, write_atomic
from drmamba.inference.models import EXPORTED
from drmamba.integrations.card import COLLECTIONS, DEFAULT_FM, FOLDS, KEPT_OUT, USAGE, card
from drmamba.integrations.onnx import export, exportable


def release(
    model: Path,
    output: Path,
    *,
    folds: Path | None = None,
    collections: Path | None = None,
    usage: Path | None = None,
    notes: str = "",
) -> None:
    """Write a trained model as float16 to `output`, and beside it its export (.onnx) and its card (.md).

    The export is made from the file that was written, so that both have the same weights. Networks that cannot be
    exported have none.

    folds: the results.json of `drmamba loo` with the same recipe, or the kept_out_years.json of a run that kept several
    years out; a model that was trained on every page has no scores of its own.
    collections: the report of `drmamba benchmark --json` of this model on collections that it was not trained on.
    usage: what `benchmarks/usage.py --json` printed of a model of the recipe on years that it had not seen.
    """
    if output.exists() and output.samefile(model):
        raise CheckpointError(
            f"{output} is the model itself, which would lose half of its precision; give another file"
        )
    network, provenance = checkpoint.load(model)
    if not provenance.trained:
        raise CheckpointError(f"{model} is untrained, so nobody could use it")
    metrics = dict(provenance.metrics)
    if folds is not None:
        together, scores = fold_scores(folds, network.config)
        metrics[KEPT_OUT if together else FOLDS] = scores
    if collections is not None:
        metrics[COLLECTIONS] = collection_scores(collections, sha256(model), provenance.data)
    if usage is not None:
        metrics[USAGE] = part_usage(usage)
    if notes:
        provenance = replace(provenance, notes=f"{provenance.notes}. {notes}" if provenance.notes else notes)
    provenance = replace(provenance, metrics=metrics)
    checkpoint.save(output, network, provenance, half=True)
    files = [output]
    if exportable(network.config):
        files.append(output.with_suffix(EXPORTED))
        export(output, files[-1])
    config, stated = checkpoint.read_header(output)
    place = output.stem if output.stem in PRESETS else output.name
    digests = {path.name: sha256(path) for path in files}
    text = card(place, config, stated, PushConfig().licence, digests)
    write_atomic(output.with_suffix(".md"), text.encode())


def fold_scores(path: Path, network: ModelConfig) -> tuple[bool, dict[str, Any]]:
    """Return whether one model kept all years out, and the scores by year and on average.

    path: a results.json of `drmamba loo` or a kept_out_years.json, with the same network.
    """
    try:
        results = json.loads(path.read_text())
        folds = ModelConfig.from_dict(results["config"]["model"])
        years = {
            year: {"pages": len(fold["pages"])} | _rounded(fold["mean"], fold.get(DEFAULT_KEY))
            for year, fold in sorted(results["years"].items())
        }
        mean = _rounded(results["average"], results.get(f"{DEFAULT_KEY}_average"))
        steps = sorted({int(fold["steps"]) for fold in results["years"].values()})
        chosen = [year for year in results.get("chosen_on", ()) if year in years]
        together = bool(results.get("kept_out_together"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ConfigError) as error:
        raise DataError(f"{path} is not a results.json of `drmamba loo`: {error}") from error
    # Of drawn pages, which contests do not have, a network of the same kind may not have learned yet.
    if replace(folds, clean_pages=network.clean_pages) != network:
        raise DataError(
            f"{path} holds the folds of another network; give those of the model that is exported"
        )
    pages = {year: int(means["pages"]) for year, means in years.items()}
    return together, {
        "mean": {"pages": sum(pages.values())} | mean,
        "years": years,
        "notes": [
            f"Updates{'' if together else ' of each fold'}, after the same start: {', '.join(map(str, steps))}.",
            *([f"The recipe was chosen on {', '.join(chosen)}."] if chosen else []),
            *(f"{note}." for note in incomplete(pages.items())),
        ],
    }


def collection_scores(path: Path, model: str, trained_on: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Return pages and FM of each collection, and the best of the other methods in the report.

    path: the report of a benchmark of the model with this sha256.
    """
    try:
        report = json.loads(path.read_text())
        pages = {str(name): int(count) for name, count in report["pages"].items()}
        own = [method for method in report["methods"] if method["identity"].get("sha256") == model]
        others = [method for method in report["methods"] if method["kind"] != "network"]
        if len(own) != 1:
            raise DataError(
                f"{path} has no scores of the model with the sha256 {model}; run the benchmark with it"
            )
        found = {}
        for name, count in pages.items():
            found[name] = {"pages": count, "fm": round(float(own[0]["years"][name]["fm"]), 2)}
            best = max(((float(other["years"][name]["fm"]), other["name"]) for other in others), default=None)
            if best is not None:
                found[name] |= {"best_fm": round(best[0], 2), "best": best[1]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path} is not a report of `drmamba benchmark --json`: {error}") from error
    if seen := sorted(set(pages) & set(trained_on)):
        raise DataError(f"{path} has scores on {', '.join(seen)}, which the model was trained on")
    return found


def part_usage(path: Path) -> dict[str, Any]:
    """Return the years, and by replaced part FM, its change, and the share of pixels that change in per cent.

    path: what `benchmarks/usage.py --json` printed of one model.
    """
    try:
        found = json.loads(path.read_text())
        (parts,) = found["models"].values()
        return {
            "years": [str(year) for year in found["years"]],
            "parts": {
                str(name): {key: round(float(row[key]), 2) for key in ("fm", "difference", "pixels")}
                for name, row in parts.items()
            },
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path} is not what `benchmarks/usage.py --json` prints of one model: {error}"
        ) from error


def _rounded(paper: dict[str, float], default: dict[str, float] | None) -> dict[str, float]:
    """Return the four scores by the paper's protocol, and FM by the default protocol."""
    means = {m: round(float(paper[m]), 2) for m in CONTEST}
    return means | ({DEFAULT_FM: round(float(default["fm"]), 2)} if default else {})
