"""Records are of the points that the commands beside them make, and of all."""

import collections
import shlex

from reproduce.asked_grid import asked_grid
from reproduce.command import PAPERS
from reproduce.command import open_paper
from reproduce.evidence import load_runs
from reproduce.evidence.records import ROOT
from reproduce.record_file import read_records
from reproduce.sweep_grid import expand_grid
from reproduce.sweep_grid import settings_key
from reproduce.sweep_options import sweep_parser


def points_of(command):
    """Points that a command makes; none of a command that is no sweep."""
    name, *words = shlex.split(command)[3:]
    if not command.startswith("python -m reproduce ") or name not in PAPERS:
        return set()
    paper = open_paper(name)
    grid = asked_grid(paper, sweep_parser(paper).parse_args(words))
    return {settings_key(point) for point in expand_grid(grid)}


def test_no_point_is_left_out_and_none_has_another_origin():
    made = collections.defaultdict(set)
    for run in load_runs().values():
        for folder in run.records:
            made[folder].update(*map(points_of, run.made_by))
    folders = {folder for folder, points in made.items() if points}
    kept = {
        str(x.parent.relative_to(ROOT))
        for x in ROOT.glob("results/*/points.jsonl")
    }
    assert folders == kept
    for folder in sorted(folders):
        records = read_records(ROOT / folder / "points.jsonl")
        found = {settings_key(record["settings"]) for record in records}
        assert found == made[folder], folder
