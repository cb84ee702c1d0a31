"""Installs the package without extras beside several TensorBoards.

    python tests/environments.py --out DIR [tensorboard==2.18.* ...]

Makes one virtual environment each, without TensorFlow, and tries in it what
the base installation promises: the tab by both loaders, the report,
the notebook's figure, caption scores, and a sentence where Keras is needed.
It is run by hand: CI cannot afford several environments.
"""

import argparse
import pathlib
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).parents[1]
VERSIONS = ("tensorboard==2.18.*", "tensorboard")
CHECK = """
import importlib.metadata, importlib.util, json, sys, time
for name in ("tensorflow", "keras", "matplotlib"):
    assert importlib.util.find_spec(name) is None, name
versions = {n: importlib.metadata.version(n)
            for n in ("tensorboard", "numpy", "plotly", "protobuf")}
from tensorboard_plugin_tfcap.summary import TradeoffWriter
for seed in (0, 1):
    for weight in (0.1, 1.0):
        with TradeoffWriter(f"logs/mine/k={weight},seed={seed}", "mine",
                            {"k": weight}, seed) as writer:
            writer.point(1, {"cider_d": 1 - 0.2 * weight + 0.01 * seed,
                             "r@10": 50 + 9 * weight + seed})

from tensorboard import default, program
from tensorboard.backend import application
from werkzeug.test import Client

def ask(fast):
    board = program.TensorBoard(
        plugins=[*default.get_static_plugins(), *default.get_dynamic_plugins()])
    board.configure(
        argv=["tensorboard", "--logdir", "logs", f"--load_fast={fast}",
              "--reload_interval=0"])
    provider, multiplexer = board._make_data_provider()
    app = application.TensorBoardWSGIApp(
        board.flags, board.plugin_loaders, provider,
        deprecated_multiplexer=multiplexer)
    client = Client(app)
    def get(route):
        reply = client.get(f"/data/plugin/tfcap_tradeoff/{route}")
        assert reply.status_code == 200, (route, reply.data)
        return reply.data
    for _ in range(300):
        if len(json.loads(get("state"))["runs"]) == 4:
            break
        time.sleep(0.1)
    figure = json.loads(get("figure?value=auto"))
    assert len(figure["rows"]) == 2 and figure["tables"], figure["notices"]
    assert len(get("plotly.js")) > 1e6
    reply = client.get("/data/plugin/tfcap_tradeoff/picture?format=svg")
    assert reply.status_code == 400 and b"tfcap[figures]" in reply.data
    # The fast loader is a process of its own, which ends with this.
    board._ingester = None
    return type(provider).__name__
loaders = [ask(fast) for fast in ("true", "false")]
assert loaders[0] != loaders[1], loaders

from tensorboard_plugin_tfcap.report import main
assert main(["logs", "-o", "report.html"]) == 0
import tfcap
shown = tfcap.show_tradeoff("logs")
assert shown.plotly().data and shown.tables
import tfcap.text
assert tfcap.text.evaluate_captions(
    ["two dogs run"], [["two dogs are running"]], ["bleu", "cider_d"])
try:
    import tfcap.layers
except ImportError as error:
    assert "pip install 'tfcap[train]'" in str(error)
else:
    raise AssertionError("tfcap.layers needs no Keras")
print(versions, loaders, "tab, report, notebook and scores work")
"""


def main(argv=None):
    """Makes the environments, and tries each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("tensorboard", nargs="*", default=VERSIONS)
    arguments = parser.parse_args(argv)
    failed = 0
    for place, version in enumerate(arguments.tensorboard):
        folder = arguments.out / f"environment{place}"
        venv.create(folder, with_pip=True)
        python = folder / "bin" / "python"
        install = ["-m", "pip", "install", "-q", str(ROOT), version]
        subprocess.run([python, *install], check=True, cwd=folder)
        done = subprocess.run([python, "-c", CHECK], cwd=folder)
        print(version, "failed" if done.returncode else "passed")
        failed += bool(done.returncode)
    return failed


if __name__ == "__main__":
    sys.exit(main())
