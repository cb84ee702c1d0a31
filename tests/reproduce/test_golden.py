"""Rows end in the weights of before they were dicts over `tfcap.methods`."""

import json

import pytest
import tensorflow as tf

from tests.reproduce import golden

KEPT = json.loads(golden.PATH.read_text())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Even though the `tf.config")
def test_rows_end_in_the_weights_of_before(tmp_path):
    tf.config.run_functions_eagerly(True)
    try:
        found = {name: find() for name, find in golden.points(tmp_path)}
    finally:
        tf.config.run_functions_eagerly(False)
    assert list(found) == list(KEPT)
    for name, now in found.items():
        for role, kept in KEPT[name]["weights"].items():
            norm = now["weights"][role]["norm"]
            assert norm == pytest.approx(kept["norm"], rel=1e-5)
        scores = {k: v for k, v in KEPT[name]["scores"].items() if v}
        told = {k: now["scores"][k] for k in scores}
        same = sum(told[k] == pytest.approx(v) for k, v in scores.items())
        # Another machine's last digits may turn a word.
        assert same >= 0.9 * len(scores)
