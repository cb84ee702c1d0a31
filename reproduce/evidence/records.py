"""Records of every kind of result, as flat dicts with a method and a seed."""

import pathlib
import re

from reproduce.record_file import read_records
from reproduce.sweep_records import load_records
from tfcap._io import read_json

ROOT = pathlib.Path(__file__).parents[2]
#: Statistics of answers stand with the player that gives them.
_PLAYERS = {"answers": "generative"}
#: Axes of estimators by the name of a row's setting.
_AXES = {
    "words": "V",
    "length": "T",
    "samples": "S",
    "draws": "K",
    "ends": "ends",
    "temperature": "temperature",
    "rho": "rho",
    "gae": "gae",
}


def load_results(path) -> list[dict]:
    """Records of a sweep, of visual dialog, of estimators, or of a benchmark.

    Args:
        path: Folder of a sweep, folder of visdial's runs (`0/`, `1/`, ...
            with a `results.json` each), folder of estimators, summary of
            visdial's runs, or list that a benchmark wrote; relative to the
            repository.

    Raises:
        ValueError: If there is no record.
    """
    path = ROOT / path
    if (path / "estimators.json").exists():
        return _of_estimators(estimators_record(path))
    if path.suffix != ".json":
        runs = sorted(path.glob("**/results.json"))
        if runs and not (path / "points.jsonl").exists():
            return [record for run in runs for record in _of_run(run)]
        return load_records(path)
    found = read_json(path)
    if isinstance(found, list):
        return [_of_benchmark(line) for line in found]
    merged = {}
    for group, rows in found["rows"].items():
        player = _PLAYERS.get(group, group)
        for row, metrics in rows.items():
            for name, figure in metrics.items():
                for seed, value in _by_seed(figure):
                    key = row, player, seed
                    merged.setdefault(key, {})[name] = value
    return _flat(merged)


def _by_seed(figure):
    """Pairs of seed and value; older summaries are of seeds from 0 on."""
    values = figure["values"]
    return zip(figure.get("seeds", range(len(values))), values, strict=True)


def written_at(path):
    """Day of the first record, `"2026-11-21"`, or `None`."""
    points = ROOT / path / "points.jsonl"
    if not points.exists():
        return None
    times = [r["time"] for r in read_records(str(points)) if r.get("time")]
    return min(times)[:10] if times else None


def _of_run(path):
    run = read_json(path)
    merged = {}
    for row, groups in run["rows"].items():
        for group, metrics in groups.items():
            key = row, _PLAYERS.get(group, group), run["seed"]
            merged.setdefault(key, {}).update(metrics)
    return _flat(merged)


def _flat(merged):
    return [
        {"method": row, "player": player, "seed": seed, **metrics}
        for (row, player, seed), metrics in merged.items()
    ]


def estimators_record(folder) -> dict:
    """Record that `python -m reproduce estimators` keeps in a folder."""
    return read_json(ROOT / folder / "estimators.json")


def _of_estimators(record):
    """A record of every estimator, place and world, which is the seed.

    `straight-through, expected end` is `straight_through_expected_end`; as it
    is along an axis, it has a setting such as `V=8`.
    """
    places = [(name, {}, x) for name, x in record["estimators"].items()]
    places += [
        (name, {_AXES[axis]: float(point["value"])}, point)
        for axis, lines in record["axes"].items()
        for name, line in lines.items()
        for point in line
    ]
    return [
        {
            "method": re.sub("[^a-z0-9]+", "_", name.lower()).strip("_"),
            "seed": seed,
            **setting,
            **dict(zip(point["seeds"], values)),
        }
        for name, setting, point in places
        for seed, values in enumerate(zip(*point["seeds"].values()))
    ]


def _of_benchmark(line):
    name = line["name"].replace(" ", "_")
    peer = line["peer"].replace(" ", "_")
    return {**line, "method": name, "peer": peer, "seed": 0}
