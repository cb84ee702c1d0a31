import dataclasses
import json
import math

import numpy as np
import pytest
import tensorflow as tf

from reproduce.comparisons.strangers import STRANGER_SETTINGS
from reproduce.comparisons.strangers import StrangerPanel
from reproduce.comparisons.strangers import Strangers
from reproduce.comparisons.strangers.settings import MAKES
from reproduce.experiment import Experiment
from reproduce.psst.paper import PSST
from tests.reproduce.psst.tiny_study import TINY
from tests.reproduce.psst.tiny_study import data
from tfcap._io import unsealed

pytestmark = pytest.mark.filterwarnings("ignore:Even though the `tf.config")
EVERY = dict(MAKES)
CAPTIONS = [f"a {x} number {i}" for i, x in enumerate("abcdefghijk")]


@pytest.fixture(scope="module", autouse=True)
def eagerly():
    # A dozen steps cost less than the graphs that would run them.
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.fixture(scope="module", autouse=True)
def two():
    """Two makes stand for four."""
    with pytest.MonkeyPatch.context() as patch:
        for make in ("transformer", "dual_encoder"):
            patch.delitem(MAKES, make)
        yield


def others(**changes):
    """The same images by another name: other images, for all that is known."""
    return dataclasses.replace(data(), name="others", **changes)


def made(folder, learned=None, seed=3):
    settings = STRANGER_SETTINGS["quick"]
    return StrangerPanel(folder, learned or others(), settings, seed, 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a panel that has learned."""
    folder = tmp_path_factory.mktemp("panel")
    for make in MAKES:
        made(folder).listener(make)
    return folder


def ranked(panel, make, captions, owners):
    """Recall@1, 5 and 10, and the mean CLIPScore, by a plain loop."""
    listener, vocabulary = panel.listener(make), panel.learned.vocabulary
    images = listener.embed_images(data().test_features, training=False)
    ids = np.zeros((len(captions), 1, 6), "int32")
    for row, caption in zip(ids, captions):
        # One mark is punctuation, which is left out; two are a word.
        said = caption.rstrip("!").split() + ["!!"] * caption.endswith("!!")
        words = vocabulary.encode(said, eos=True)
        row[0, : len(words)] = words
    texts = listener.embed_texts(ids, ids > 0, training=False)[:, 0].numpy()
    ranks, fits = [], []
    for text, owner in zip(texts, owners):
        scores = images.numpy() @ text
        ranks.append(1 + (scores > scores[owner] + 1e-6).sum())
        lengths = np.linalg.norm(images[owner]) * np.linalg.norm(text)
        fits.append(2.5 * max(scores[owner] / lengths, 0.0))
    recalls = [100 * np.mean(np.array(ranks) <= k) for k in (1, 5, 10)]
    return [*recalls, np.mean(fits)]


def test_recall_is_the_mean_of_listeners_that_read_strings(folder):
    panel = made(folder)
    found = Strangers(panel, data()).scores(CAPTIONS, own=50.0)
    each = {m: ranked(panel, m, CAPTIONS, range(11)) for m in MAKES}
    tens = [recalls[2] for recalls in each.values()]
    assert found["strangers"] == len(MAKES) == 2
    for place, k in enumerate((1, 5, 10)):
        wanted = np.mean([recalls[place] for recalls in each.values()])
        assert found[f"strangers_r@{k}"] == pytest.approx(wanted)
    for make, ten in zip(MAKES, tens):
        assert found[f"strangers_r@10_{make}"] == pytest.approx(ten)
    fit = np.mean([recalls[3] for recalls in each.values()])
    assert found["strangers_clip_score"] == pytest.approx(fit, rel=1e-5)
    assert 0 < fit < 2.5
    spread = math.sqrt(sum((x - np.mean(tens)) ** 2 for x in tens))
    assert found["strangers_spread"] == pytest.approx(spread)
    assert found["private_language"] == pytest.approx(50 - np.mean(tens))
    # Of people's captions each is a query, several of one image.
    texts = data().test.texts
    owners = [i for i, several in enumerate(texts) for _ in several]
    said = [text for several in texts for text in several]
    wanted = np.mean([ranked(panel, m, said, owners)[0] for m in MAKES])
    assert found["human_strangers_r@1"] == pytest.approx(wanted)
    wanted = np.mean([ranked(panel, m, said, owners)[3] for m in MAKES])
    fit = found["human_strangers_clip_score"]
    assert fit == pytest.approx(wanted, rel=1e-5)
    alone = Strangers(panel, data()).scores(CAPTIONS)
    assert "private_language" not in alone


def test_a_panel_is_trained_once_and_kept(folder, monkeypatch):
    first = made(folder)
    vectors = {m: first.embed_captions(m, CAPTIONS) for m in MAKES}

    def never(*args, **options):
        raise RuntimeError("trained again")

    monkeypatch.setattr(StrangerPanel, "fit", never)
    again = made(folder)
    for make in MAKES:
        found = again.embed_captions(make, CAPTIONS)
        np.testing.assert_array_equal(found, vectors[make])
    with pytest.raises(RuntimeError, match="trained again"):
        made(folder, seed=4).listener("recurrent")
    with pytest.raises(ValueError, match="another study's"):
        made(folder, dataclasses.replace(others(), name="third"))


def part(captions, rows):
    return dataclasses.replace(
        captions,
        image_ids=captions.image_ids[rows],
        references=captions.references[rows],
        texts=[captions.texts[row] for row in rows],
    )


def test_images_that_are_to_be_found_are_not_learned_from(folder, tmp_path):
    assert Strangers(made(folder), data()).shared == 0
    speakers = data()
    with pytest.raises(ValueError, match="11 images of the test split among"):
        Strangers(made(tmp_path / "same", speakers), speakers)
    rows = np.arange(11)
    found = dataclasses.replace(
        speakers,
        test=part(speakers.test, rows[8:]),
        test_features=speakers.test_features[8:],
    )
    learned = dataclasses.replace(
        found,
        train=part(found.train, rows[5:8]),
        train_features=found.train_features[5:8],
    )
    assert Strangers(made(tmp_path / "some", learned), found).shared == 3


def study(directory, folder=None, **options):
    if folder is not None:
        heard = Strangers(made(folder), data())
        options = {"metrics": ["strangers"], "strangers": heard, **options}
    return Experiment(PSST, data(), TINY, directory, 3, verbose=0, **options)


def unheard(path):
    """Takes out of a record what strangers have heard."""
    path = path / "result.json"
    record = unsealed(json.loads(path.read_text()))
    late = "stranger", "private_language"
    kept = {
        name: value
        for name, value in record.items()
        if not any(word in name for word in late)
    }
    path.write_text(json.dumps(kept))
    return kept


def test_points_are_heard_when_they_are_new_and_when_they_are_finished(
    folder, tmp_path, monkeypatch
):
    found = study(tmp_path, folder).result("speaker_mle")
    people = study(tmp_path, folder).result("listener_gt")
    captions = study(tmp_path).report("speaker_mle").captions
    wanted = Strangers(made(folder), data()).scores(captions, found["r@10"])
    assert wanted.items() <= found.items()
    gap = found["beam_r@10"] - found["beam_strangers_r@10"]
    assert found["beam_private_language"] == pytest.approx(gap)
    assert people["strangers"] == 2
    for k in (1, 5, 10):
        name = f"strangers_r@{k}"
        assert people[name] == found[f"human_{name}"]
    for row in ("speaker_mle", "listener_gt"):
        unheard(tmp_path / row)

    def never(*args, **options):
        raise RuntimeError("trained or spoken again")

    monkeypatch.setattr(Experiment, "fit", never)
    monkeypatch.setattr(Experiment, "asked", never)
    # Who does not ask gets what is known.
    before = study(tmp_path).result("speaker_mle")
    assert not [name for name in before if "stranger" in name]
    assert study(tmp_path, folder).result("speaker_mle") == found
    again = study(tmp_path, folder).result("listener_gt")
    assert {k: v for k, v in again.items() if v is not None} == {
        k: v for k, v in people.items() if v is not None
    }
    for options in ({"metrics": ["strangers"]}, {"strangers": never}):
        with pytest.raises(ValueError, match="`strangers` must come with"):
            study(tmp_path, **options)


@pytest.mark.parametrize("make", EVERY)
def test_all_but_the_bag_of_words_know_their_order(tmp_path, make, monkeypatch):
    monkeypatch.setitem(MAKES, make, EVERY[make])
    panel = made(tmp_path)
    listener = panel._network(make, 0)
    listener({"image": data().test_features, "caption": data().test.references})
    words = np.array([[[4, 5, 6, 2], [6, 5, 4, 2]]])
    there, back = listener.embed_texts(words, words > 0)[0].numpy()
    assert np.allclose(there, back, atol=1e-5) == (make == "bag_of_words")
