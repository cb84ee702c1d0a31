import json
import time

import pytest

from tensorboard_plugin_tfcap.comparison import read_comparison
from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tensorboard_plugin_tfcap.tradeoff.point import TradeoffPoint
from tests.tensorboard_plugin_tfcap.comparison import PRESETS
from tests.tensorboard_plugin_tfcap.comparison import TITLES
from tests.tensorboard_plugin_tfcap.comparison import present
from tests.tensorboard_plugin_tfcap.serving import serving
from tests.tensorboard_plugin_tfcap.views import dataset
from tests.tensorboard_plugin_tfcap.views import viewed

RUNS, STEPS, LARGEST = 1000, 20, 2_000_000


def measured(run, step):
    place = run % 10
    return {
        "cider_d": 1.3 - 0.05 * place + 0.001 * (run % 7) - 0.5 / (step + 1),
        "bleu_4": 0.3 - 0.01 * place,
        "r@1": 20.0 + 3 * place,
        "r@10": 50.0 + 4 * place + 0.01 * (run % 11),
        "mean_rank": 20.0 - place,
    }


def about(run):
    return (
        f"method_{run // 50}",
        {"lambda": 1e-3 * (run % 10 + 1)},
        run // 10 % 5,
    )


def test_a_thousand_runs_are_drawn_at_once():
    points = [
        TradeoffPoint(f"run/{run}", *about(run), 49, measured(run, 49))
        for run in range(RUNS)
    ]
    content = {"version": 1, "titles": TITLES, "presets": PRESETS}
    comparison = read_comparison(json.dumps(content))
    found = dataset(points, comparison=comparison)
    for options in ({}, {"seeds": "band"}, {"preset": "fig3"}):
        begin = time.process_time()
        view = viewed(found, value="auto", **options)
        assert time.process_time() - begin < 3, options
        assert len(view["rows"]) >= 200


def write_runs(folder, runs=RUNS):
    """A log of so many runs, of some twenty methods where there are all."""
    for run in range(runs):
        method, params, seed = about(run)
        name = folder / f"{method}/run_{run}"
        with TradeoffWriter(name, method, params, seed) as writer:
            for step in range(STEPS):
                writer.point(step, measured(run, step))
    present(folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    "fast, runs", [(True, RUNS), (False, RUNS // 10)], ids=["fast", "slow"]
)
def test_a_large_log_makes_small_answers(tmp_path, fast, runs):
    write_runs(tmp_path, runs)
    with serving(tmp_path, fast) as server:
        server.wait(runs, seconds=400, presets=2)
        for route in (
            "state",
            "figure",
            "figure?preset=fig3",
            "figure?at=best&by=cider_d&seeds=points",
            "tables?along=x&value=auto",
            "table?format=csv",
        ):
            size = len(server.get(route).data)
            assert size < LARGEST, (route, size)
