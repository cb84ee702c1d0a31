import dataclasses
import json

import numpy as np
import pytest

from tests.recipes.captioning.tiny_study import data as tiny_data
from tfcap.metrics import evaluate_retrieval
from tfcap.ops import sequence_mask
from tfcap.recipes.distinctive import RetrieverSettings
from tfcap.recipes.distinctive import evaluate_retriever
from tfcap.recipes.distinctive import retriever as command
from tfcap.recipes.distinctive import train_retriever

TINY = RetrieverSettings(
    units=16, embedding_units=16, batch_size=5, epochs=30, rate=0.01
)


def test_it_learns_to_find_images_and_is_kept(tmp_path):
    data = tiny_data()
    for network in ("dual_encoder", "listener"):
        settings = dataclasses.replace(TINY, network=network)
        folder = tmp_path / network
        trained = train_retriever(data, settings, folder, seed=1, verbose=0)
        rows = evaluate_retriever(trained, data, batch_size=4).rows()
        chance = 100 * 5 / 11
        assert rows["text_to_image"]["r@5"] > chance + 20
        assert rows["text_to_image"]["count"] == data.test.counts.sum()
        again = train_retriever(data, settings, folder, seed=1, verbose=0)
        assert type(again) is command.NETWORKS[network]
        for a, b in zip(again.get_weights(), trained.get_weights()):
            np.testing.assert_array_equal(a, b)
        with pytest.raises(ValueError, match="another study's seed"):
            train_retriever(data, settings, folder, seed=2, verbose=0)


def test_every_human_caption_looks_for_its_image():
    data = tiny_data()
    settings = dataclasses.replace(TINY, epochs=1)
    network = command._network(
        settings, command._batches(data, "test", settings, 0), 0
    )
    human = data.test.references
    mask = sequence_mask(human, data.vocabulary.eos).numpy()
    owners = np.repeat(np.arange(11), data.test.counts)
    wanted = evaluate_retrieval(
        network.embed_images(data.test_features),
        network.embed_texts(human, mask).numpy()[mask.any(-1)],
        owners,
    )
    found = evaluate_retriever(network, data, batch_size=4)
    assert found.result() == wanted.result()


def test_one_command_trains_and_tells(tmp_path, monkeypatch, capsys):
    asked = []

    def load(settings, root):
        asked.append((settings, root))
        return tiny_data()

    monkeypatch.setattr(command, "caption_files", load)
    options = ["--data", "flickr8k", "--root", "here", "--settings", "quick"]
    options += ["--seed", "4", "--quiet", "--epochs", "2"]
    for _ in range(2):
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
