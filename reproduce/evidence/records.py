"""Records of every kind of result, as flat dicts with a method and a seed."""

import pathlib

from reproduce.record_file import read_records
from reproduce.sweep_records import load_records
from tfcap.io import read_json

ROOT = pathlib.Path(__file__).parents[2]
#: Statistics of answers stand with the player that gives them.
_PLAYERS = {"answers": "generative"}


def load_results(path) -> list[dict]:
    """Records of a sweep, of visual dialog, or of a benchmark.

    Args:
        path: Folder of a sweep, folder of visdial's runs (`0/`, `1/`, ...
            with a `results.json` each), summary of such runs, or list that a
            benchmark wrote; relative to the repository.

    Raises:
        ValueError: If there is no record.
    """
    path = ROOT / path
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


def _of_benchmark(line):
    name = line["name"].replace(" ", "_")
    peer = line["peer"].replace(" ", "_")
    return {**line, "method": name, "peer": peer, "seed": 0}
