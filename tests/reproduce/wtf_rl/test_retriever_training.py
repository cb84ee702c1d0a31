import dataclasses

import numpy as np
import pytest

from reproduce.captioning import caption_files
from reproduce.experiment import Experiment
from reproduce.wtf_rl import retrievers
from reproduce.wtf_rl.paper import WTF_RL
from reproduce.wtf_rl.retrievers import RetrieverSettings
from reproduce.wtf_rl.retrievers import evaluate_retriever
from reproduce.wtf_rl.retrievers import train_retriever
from tests.eager import run_eagerly
from tests.reproduce.captioning.tiny_files import write_files
from tests.reproduce.psst.tiny_study import data as tiny_data
from tests.reproduce.wtf_rl import tiny_study
from tfcap._ops import sequence_mask
from tfcap.metrics import evaluate_retrieval
from tfcap.models import DualEncoder

EAGERLY = pytest.mark.filterwarnings("ignore:Even though the `tf.config")
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
        assert type(again) is retrievers.NETWORKS[network]
        for a, b in zip(again.get_weights(), trained.get_weights()):
            np.testing.assert_array_equal(a, b)
        with pytest.raises(ValueError, match="another study's seed"):
            train_retriever(data, settings, folder, seed=2, verbose=0)


def test_every_human_caption_looks_for_its_image():
    data = tiny_data()
    settings = dataclasses.replace(TINY, epochs=1)
    network = retrievers._network(
        settings, retrievers._batches(data, "test", settings, 0), 0
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


@EAGERLY
def test_a_retriever_prepares_its_images_as_the_speaker_does(tmp_path):
    settings = dataclasses.replace(TINY, epochs=1, batch_size=3)
    data = caption_files(tiny_study.TINY, write_files(tmp_path))
    folder = tmp_path / "inside"
    with run_eagerly():
        inside = train_retriever(data, settings, folder, verbose=0)
        wanted = evaluate_retriever(inside, data).result()
        # In a folder that was made before, features are prepared outside.
        older = data.prepared_outside()
        folder = tmp_path / "outside"
        outside = train_retriever(older, settings, folder, verbose=0)
    assert outside.image_preprocessing == "outside"
    for some in (data, older):
        found = evaluate_retriever(outside, some).result()
        assert found == pytest.approx(wanted)


def test_images_are_prepared_neither_twice_nor_never(tmp_path):
    root, folder = write_files(tmp_path), tmp_path / "study"
    data = caption_files(tiny_study.TINY, root)

    def open_study(preparation):
        network = DualEncoder(9, 4, 4, image_preprocessing=preparation)
        given = {"retriever": network, "name": "mine"}
        about = WTF_RL, data, tiny_study.TINY, folder
        return Experiment(*about, verbose=0, given=given)

    with pytest.raises(ValueError, match="must prepare its images itself"):
        open_study("outside")
    assert open_study(data.image_preprocessing())
    assert open_study(None)
