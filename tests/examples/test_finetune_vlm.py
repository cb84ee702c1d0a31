import pathlib
import runpy

import pytest

import tfcap
from tests.eager import run_eagerly
from tests.models.test_causal_lm_speaker_images import gemma3
from tests.models.test_causal_lm_speaker_images import save_preset

pytest.importorskip("keras_hub")
PATH = pathlib.Path(__file__).parents[2] / "examples" / "finetune_vlm.py"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Even though the `tf.config")
def test_a_vision_language_model_learns_by_three_methods(capsys, tmp_path):
    path = tmp_path / "adapters.npz"
    options = ["--epochs", "1", "--adapters", str(path)]
    with run_eagerly():
        said = runpy.run_path(str(PATH))["main"](options)
    assert {name[6:] for name in tfcap._io.load_arrays(path)} == {
        "lora_kernel_a",
        "lora_kernel_b",
    }
    assert list(said) == ["mle", "scst", "psst"]
    assert {len(captions) for captions in said.values()} == {6}
    logs = capsys.readouterr().out
    assert "cider_d/mean_length" in logs and "kl_penalty" in logs


def test_a_preset_of_a_folder_is_loaded(tmp_path):
    save_preset(gemma3, tmp_path)
    main = runpy.run_path(str(PATH))["main"]
    main.__globals__["train"] = lambda *parts: parts
    _, speaker, *_, batch = main(["--preset", str(tmp_path)])
    assert batch["pixels"].shape == (48, 8, 8, 3)
    batch = {name: rows[:1, ..., :5] for name, rows in batch.items()}
    assert speaker(batch).shape == (1, 2, 5, 23)
