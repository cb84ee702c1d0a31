"""NumPy alone is enough for all of `tfcap.text`."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
PROGRAM = """
import importlib, json, pkgutil, sys

class Installed:
    finders = [*sys.meta_path]

    def find_spec(self, name, path=None, target=None):
        here = {"tfcap", "numpy", *sys.stdlib_module_names}
        if name.split(".")[0] not in here:
            return None
        found = (x.find_spec(name, path, target) for x in self.finders)
        return next((spec for spec in found if spec is not None), None)

sys.meta_path[:] = [Installed()]
import tfcap.text
for found in pkgutil.walk_packages(tfcap.text.__path__, "tfcap.text."):
    importlib.import_module(found.name)
from tfcap.text.rewards import cider_d_reward

captions = [["Two dogs play."], ["A red bus."], ["A cat"]]
said = ["Two dogs play.", "A red car.", "a cat"]
rewards = cider_d_reward(captions)(completions=said, references=captions)
assert rewards[0] == 10.0 > rewards[1] > 0.0, rewards
try:
    tfcap.text.rewards.meteor_reward()
except tfcap.text.MissingScoreError as error:
    assert "snowballstemmer" in str(error) or "pycocoevalcap" in str(error)
from tfcap import evaluate
paths = [sys.argv[1] + "/" + name for name in ("results", "references")]
results = [{"image_id": i, "caption": text} for i, text in enumerate(said)]
references = [{"image_id": i, "caption": x} for i, x in enumerate(captions)]
for path, content in zip(paths, (results, references)):
    with open(path, "w") as file:
        json.dump(content, file)
assert evaluate.main([*paths, "--metrics", "all"]) == 0
heavy = {"keras", "tensorflow", "jax", "torch", "scipy", "h5py", "PIL"}
assert not heavy & {*sys.modules}
"""


def test_everything_runs_where_nothing_else_is_installed(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "METEOR is absent" in done.stdout and "CIDEr-R" in done.stdout
    assert "tfcap[coco]" in done.stdout and "CIDEr-D" in done.stdout
