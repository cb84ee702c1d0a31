import pathlib
import runpy

import numpy as np
import pytest
import tensorflow as tf

PATH = pathlib.Path(__file__).parents[2] / "examples" / "your_own_model.py"


def test_it_is_as_short_as_the_readme_says():
    assert len(PATH.read_text().splitlines()) <= 120


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Even though the `tf.config")
def test_a_speaker_of_ones_own_trains_by_each_method_and_resumes(tmp_path):
    main = runpy.run_path(str(PATH))["main"]
    draw = main.__globals__["draw"]

    def few(*args):
        # Two batches to learn from, beside 100 scenes to test.
        return {key: rows[:200] for key, rows in draw(*args).items()}

    main.__globals__["draw"] = few
    arguments = ["--out", str(tmp_path), "--epochs", "1"]
    tf.config.run_functions_eagerly(True)
    try:
        found = main(arguments)
        # Nothing is left to train: the networks are those of the checkpoints.
        again = main(arguments)
    finally:
        tf.config.run_functions_eagerly(False)
    assert set(found) == {"mle", "psst", "scst", "sll_sle", "wtf_rl"}
    for name, scores in found.items():
        np.testing.assert_equal(again[name], scores)
        assert list((tmp_path / name / "points").glob("events.*"))
