import pathlib
import runpy

import pytest

from tests.eager import run_eagerly

pytest.importorskip("keras_hub")
PATH = pathlib.Path(__file__).parents[2] / "examples" / "finetune_vlm.py"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Even though the `tf.config")
def test_a_vision_language_model_learns_by_three_methods(capsys):
    with run_eagerly():
        said = runpy.run_path(str(PATH))["main"](["--epochs", "1"])
    assert list(said) == ["mle", "scst", "psst"]
    assert {len(captions) for captions in said.values()} == {6}
    logs = capsys.readouterr().out
    assert "cider_d_mean_length" in logs and "kl_penalty" in logs
