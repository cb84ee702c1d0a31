import argparse
import os
import pathlib
import subprocess
import sys
from importlib import metadata

import pytest

from tensorboard_plugin_tfcap.loader import TradeoffLoader
from tensorboard_plugin_tfcap.metadata import PLUGIN_NAME

ROOT = pathlib.Path(__file__).parents[2]
ENTRY = """\
[tensorboard_plugins]
tfcap_tradeoff = tensorboard_plugin_tfcap.loader:TradeoffLoader
"""


@pytest.mark.parametrize(
    "given, kept",
    [
        ({}, {"tfcap_tradeoff": 1000}),
        (None, {"tfcap_tradeoff": 1000}),
        *([{"tfcap_tradeoff": 5, "images": 2}] * 2,),
    ],
)
def test_more_points_are_kept_unless_a_user_says_otherwise(given, kept):
    flags = argparse.Namespace(samples_per_plugin=given)
    TradeoffLoader().fix_flags(flags)
    assert flags.samples_per_plugin == kept


def run(code, folder):
    before = os.environ.get("PYTHONPATH", "")
    path = os.pathsep.join([str(folder), str(ROOT), before])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_loading_it_imports_next_to_nothing(tmp_path):
    code = """
import sys
import tensorboard.plugins.base_plugin
before = set(sys.modules)
import tensorboard_plugin_tfcap.loader
print(*sorted(set(sys.modules) - before))
"""
    package = "tensorboard_plugin_tfcap"
    assert run(code, tmp_path).split() == [package, f"{package}.loader"]


def test_tensorboard_starts_beside_a_broken_tensorflow(tmp_path):
    for name in ("tensorflow", "keras", "jax"):
        text = f'raise ImportError("{name} is broken")\n'
        (tmp_path / f"{name}.py").write_text(text)
    if not installed():
        about = tmp_path / "tfcap_entry-0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Name: tfcap_entry\nVersion: 0\n")
        (about / "entry_points.txt").write_text(ENTRY)
    logs = tmp_path / "logs"
    code = f"""
from tensorboard import default, program
from tensorboard.backend import application
from tensorboard_plugin_tfcap.summary import TradeoffWriter
from werkzeug.test import Client

with TradeoffWriter({str(logs)!r}, "mine") as writer:
    writer.point(0, {{"cider_d": 1.0, "r@10": 50.0}})
found = default.get_dynamic_plugins()
board = program.TensorBoard(plugins=default.get_static_plugins() + found)
# Read once: a thread that still reads at the end would abort the process.
argv = ["", "--logdir", {str(logs)!r}, "--load_fast=false"]
board.configure(argv=[*argv, "--reload_interval=0"])
provider, multiplexer = board._make_data_provider()
app = application.TensorBoardWSGIApp(
    board.flags, board.plugin_loaders, provider,
    deprecated_multiplexer=multiplexer)
def get(path):
    return Client(app).get(path).get_json(force=True)

found = get("/data/plugins_listing")["tfcap_tradeoff"]
print(found["tab_name"], found["loading_mechanism"])
import time
for _ in range(100):
    state = get("/data/plugin/tfcap_tradeoff/state")
    if state["runs"]:
        break
    time.sleep(0.1)
print(state["methods"])
from tensorboard_plugin_tfcap.notebook import show_tradeoff
from tensorboard_plugin_tfcap.report import main
figure = show_tradeoff({str(logs)!r}).plotly()
out = {str(tmp_path / "r.html")!r}
print(len(figure.data) > 0, main([{str(logs)!r}, "-o", out]))
"""
    first, methods, *_, last = run(code, tmp_path).splitlines()
    assert first.startswith("Trade-off {") and methods == "['mine']"
    # Neither the report nor the notebook's figure needs one of them.
    assert last == "True 0"


def installed():
    """Where the installed package, if it is, says that the plugin is."""
    found = metadata.entry_points(group="tensorboard_plugins")
    return [entry.value for entry in found if entry.name == PLUGIN_NAME]


def test_the_installed_package_names_the_plugin():
    assert f"{PLUGIN_NAME} = " in (ROOT / "setup.cfg").read_text()
    found = installed()
    if not found:
        pytest.skip("the package is not installed: pip install -e .")
    assert set(found) == {"tensorboard_plugin_tfcap.loader:TradeoffLoader"}
