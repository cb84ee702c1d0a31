"""TensorBoard's own application, with the plugin, for the tests."""

import contextlib
import json
import threading
import time
from urllib.parse import urlencode

import numpy as np
from tensorboard import program
from tensorboard.backend import application
from tensorboard.plugins.core import core_plugin
from werkzeug.test import Client

from tensorboard_plugin_tfcap.loader import TradeoffLoader
from tensorboard_plugin_tfcap.summary import Sample
from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tests.tensorboard_plugin_tfcap.comparison import present

ROUTES = "/data/plugin/tfcap_tradeoff/"


class Server:
    """Asks the application, as a page would."""

    def __init__(self, app):
        self.client = Client(app)

    def get(self, route, **arguments):
        query = f"?{urlencode(arguments)}" if arguments else ""
        return self.client.get(f"{ROUTES}{route}{query}")

    def json(self, route, **arguments):
        reply = self.get(route, **arguments)
        assert reply.status_code == 200, reply.data
        return json.loads(reply.data, parse_constant=no_constant)

    def error(self, route, **arguments):
        reply = self.get(route, **arguments)
        return reply.status_code, json.loads(reply.data)["error"]

    def wait(self, runs, seconds=60, presets=0, **arguments):
        """Waits until so many runs and presets were read."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            state = self.json("state", **arguments)
            enough = len(state["presets"]) >= presets
            if enough and len(state["runs"]) >= runs:
                return state
            time.sleep(0.1)
        raise AssertionError(f"{len(state['runs'])} runs of {runs} were read")


@contextlib.contextmanager
def serving(logdir, fast, *flags):
    """A `Server` of a log directory, with either of TensorBoard's loaders."""
    board = program.TensorBoard(
        plugins=[core_plugin.CorePluginLoader, TradeoffLoader]
    )
    how = "true" if fast else "false"
    board.configure(
        argv=[
            *("tensorboard", "--logdir", str(logdir), f"--load_fast={how}"),
            *("--reload_interval", "1", *flags),
        ]
    )
    before = set(threading.enumerate())
    provider, multiplexer = board._make_data_provider()
    loaders = set(threading.enumerate()) - before
    app = application.TensorBoardWSGIApp(
        board.flags,
        [TradeoffLoader()],
        provider,
        deprecated_multiplexer=multiplexer,
    )
    try:
        yield Server(app)
    finally:
        # The slow loader is a thread, which reads for ever unless it is to
        # read once. Python ends threads that run when it ends itself, and
        # within TensorFlow's reader, that aborts the process.
        board._ingester._reload_interval = 0
        for loader in loaders:
            loader.join(60)
        # The fast loader is a process of its own, which ends with this.
        board._ingester = None


def write_curves(folder, methods=("psst_multinomial", "luo2018"), seeds=(0, 1)):
    """A small sweep: two lambdas of each method, two steps of each run."""
    for place, method in enumerate(methods):
        for seed in seeds:
            for number, weight in enumerate((1e-3, 5e-3)):
                name = f"{method}/lambda={weight},seed={seed}"
                params = {"lambda": weight}
                with TradeoffWriter(
                    folder / name, method, params, seed, best_by="cider_d"
                ) as writer:
                    for step in (1, 2):
                        writer.point(step, metrics(place, number, seed, step))
                    writer.samples(2, said(method))
    present(folder)
    return folder


def metrics(place, number, seed, step):
    """What a run of `write_curves()` measures: the first step is natural."""
    return {
        "cider_d": 1.3 - 0.2 * number - 0.1 * place + 0.02 * seed - 0.01 * step,
        "bleu_4": 0.3 - 0.02 * number,
        "r@1": 20.0 + 10 * number - 5 * place + seed,
        "r@10": 60.0 + 10 * number - 5 * place + seed + step,
        "mean_rank": 9.0 - number + place,
    }


def said(method):
    """Samples, the first one with markup and a picture."""
    return [
        Sample(
            id=row,
            caption=f"<b onclick=alert(1)>{method}</b> {row}",
            rank=row + 1,
            human=["a dog"],
            human_rank=float("nan"),
            image=np.full((8, 8, 3), 20 * row, "uint8") if row < 3 else None,
        )
        for row in range(10)
    ]


def no_constant(name):
    raise AssertionError(f"{name} is no JSON")
