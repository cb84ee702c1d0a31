import json

import pytest

from reproduce.wtf_rl import retriever_command as command
from tests.eager import run_eagerly
from tests.reproduce.psst.tiny_study import data as tiny_data


@pytest.mark.filterwarnings("ignore:Even though the `tf.config")
def test_one_command_trains_and_tells(tmp_path, monkeypatch, capsys):
    asked = []

    def load(settings, root):
        asked.append((settings, root))
        return tiny_data()

    monkeypatch.setattr(command, "caption_files", load)
    options = ["--data", "flickr8k", "--root", "here", "--settings", "quick"]
    options += ["--seed", "4", "--quiet", "--epochs", "2"]
    for _ in range(2):
        with run_eagerly():
            assert command.main([str(tmp_path / "out"), *options]) == 0
        said = capsys.readouterr().out
        assert "R@10" in said and "text -> image" in said
    assert asked[0][1] == "here"
    path = tmp_path / "out" / "retriever" / "result.json"
    assert {"text_to_image_r@1", "image_to_text_r@10"} < {
        *json.loads(path.read_text())
    }
    options[-1] = "3"
    assert command.main([str(tmp_path / "out"), *options]) == 2
    assert "of another study's settings" in capsys.readouterr().err
