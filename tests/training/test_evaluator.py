from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests.methods import stranger
from tests.scribe import LENGTH
from tests.scribe import VOCABULARY
from tests.scribe import BagListener
from tests.scribe import Batches
from tests.scribe import Scribe
from tests.scribe import encode
from tfcap.decoding import Greedy
from tfcap.decoding import Rollout
from tfcap.models import RetrievalListener
from tfcap.text import TrainingCaptions
from tfcap.text import Vocabulary
from tfcap.text import caption_tokenize
from tfcap.text import evaluate_captions
from tfcap.text import evaluation
from tfcap.text.scores.bleu import self_bleu
from tfcap.training import Evaluator

SAID = [
    "a dog runs",
    "the red cat sits on a",
    "a a cat",
    "a dog runs",
    "the cat in the",
]
HUMAN = [
    ["A dog runs.", "The dog runs on a mat."],
    ["A red cat!"],
    ["the cat sits", "A cat on a mat", "a cat in a zeppelin"],
    ["the dog", "a red dog"],
    ["a cat on the mat", "the cat"],
]
BATCHES = Batches(SAID, HUMAN)
#: Images and references under names of one's own, and what goes with them.
ROWS = {"image": BATCHES.image, "references": BATCHES.references}
OWN = {"texts": HUMAN, "vocabulary": VOCABULARY}


def evaluated(batches=BATCHES, listener=None, speaker=None, **options):
    listener = listener or BagListener()
    return Evaluator(speaker or Scribe(), batches, listener, **options)()


@pytest.fixture(scope="module")
def plain():
    return evaluated()


def rank(scores, truth):
    """1 is best; among ties the middle place."""
    others = np.delete(scores, truth)
    own = scores[truth]
    return 1 + np.sum(others > own) + np.sum(others == own) / 2


def scored(listener, texts):
    """Scores of captions by images, the words heard one by one."""
    words = listener.words.numpy()
    heard = [sum(words[w] for w in row if w) for row in encode(texts)]
    return np.stack(heard) @ BATCHES.image[:, 0, LENGTH:].T


def image_ranks(listener, captions):
    """Of each pair of an image and a caption, the rank of the image."""
    rows, texts = zip(*captions)
    return [rank(x, i) for i, x in zip(rows, scored(listener, texts))]


def caption_ranks(listener):
    return [rank(x, i) for i, x in enumerate(scored(listener, SAID).T)]


def test_captions_are_those_of_the_images_in_their_order():
    for size in (1, 4, 100):
        report = evaluated(batch_size=size)
        assert report.captions == SAID
        assert report.references == HUMAN
        assert report.image_ids == [f"image-{i}" for i in range(5)]


def test_images_and_captions_are_found_among_all(plain):
    ranks = image_ranks(BagListener(), enumerate(SAID))
    assert plain.ranks.tolist() == ranks
    assert len(set(ranks)) > 2
    result = plain.result()
    assert result["r@1"] == 100 * np.mean(np.array(ranks) <= 1)
    assert result["r@5"] == 100.0
    assert result["mean_rank"] == pytest.approx(np.mean(ranks))
    assert result["median_rank"] == np.median(ranks)
    assert result["mrr"] == pytest.approx(np.mean(1 / np.array(ranks)))
    wanted = np.mean(caption_ranks(BagListener()))
    assert result["image_to_text_mean_rank"] == pytest.approx(wanted)


def test_the_listener_also_hears_people(plain):
    def mean_rank(count=None):
        pairs = [(i, x) for i, row in enumerate(HUMAN) for x in row[:count]]
        return np.mean(image_ranks(BagListener(), pairs))

    result = plain.result()
    assert plain.human_ranks.mean() == pytest.approx(mean_rank(1))
    assert result["human_first_mean_rank"] == pytest.approx(mean_rank(1))
    assert result["human_mean_rank"] == pytest.approx(mean_rank())
    assert {"human_r@1", "human_image_to_text_r@10"} < {*result}
    for count in (1, 2):
        found = evaluated(human_captions=count).result()["human_mean_rank"]
        assert found == pytest.approx(mean_rank(count))
    report = evaluated(human_captions=0)
    assert np.isnan(report.human_ranks).all()
    assert not [name for name in report.result() if "human" in name]


def test_naturalness_is_that_of_the_captions_and_the_raw_references(plain):
    (wanted,) = evaluate_captions(SAID, HUMAN, ["cider_d"]).scores.values()
    assert plain.result()["cider_d"] == wanted.corpus
    np.testing.assert_array_equal(plain.each["cider_d"], wanted.each)
    named = {f"bleu_{k}" for k in (1, 2, 3, 4)} | {"rouge_l"}
    assert named < {*plain.result()} and not plain.absent


def test_what_is_asked_for_and_absent_is_named(monkeypatch):
    monkeypatch.setenv("PATH", "")
    report = evaluated(metrics=["spice"])
    assert {*report.absent} == {"spice"}
    assert "cider_d" in report.result() and "spice" not in report.result()
    assert "SPICE is absent: there is no `java`" in report.table()


def test_variety_and_signs_of_drift_are_counted(plain):
    result = plain.result()
    assert result["vocabulary_size"] == 9
    assert result["distinct_captions"] == 4
    assert result["repeat_rate"] == pytest.approx(1 / 5)
    assert result["bad_ending_rate"] == pytest.approx(2 / 5)
    assert result["unfinished_rate"] == pytest.approx(1 / 5)
    assert result["mean_length"] == pytest.approx((3 + 6 + 3 + 3 + 4) / 5)
    assert not {"novelty", "novel_bigrams", "lm_log_prob"} & {*result}


def test_what_is_said_again_is_counted():
    said = ["a dog a dog", "a cat", "the a cat a cat", "a dog a dog a", "a a"]
    result = evaluated(Batches(said, [["a dog"]] * 5)).result()
    shares = [1 / 3, 0, 1 / 4, 2 / 4, 0]
    assert result["repeated_bigrams"] == pytest.approx(np.mean(shares))
    assert result["repeated_trigrams"] == pytest.approx(1 / 3 / 5)
    # Whether or not a word comes twice in a row.
    assert result["repeated_bigram_rate"] == pytest.approx(3 / 5)
    assert result["repeat_rate"] == pytest.approx(1 / 5)


def test_captions_are_measured_against_those_of_training():
    known = TrainingCaptions(["a dog runs", "the cat sits on a mat"] * 2)
    report = evaluated(training_captions=known)
    result = report.result()
    scores = known.scores([text.split() for text in SAID])
    for name in ("novel_bigrams", "novel_trigrams", "lm_log_prob"):
        assert result[name] == scores[name].corpus
    each = scores["lm_log_prob"].each
    np.testing.assert_array_equal(report.each["lm_log_prob"], each)
    human = [caption_tokenize(text) for row in HUMAN for text in row]
    wanted = known.language_model.log_prob(human).corpus
    assert result["human_lm_log_prob"] == wanted
    assert "log prob / word" in report.table()
    known = iter(["A dog runs.", ["a", "a", "cat"]])
    found = evaluated(training_captions=known).result()["novelty"]
    assert found == pytest.approx(2 / 5)


def test_self_bleu_is_that_of_the_first_captions_as_published(
    plain, monkeypatch
):
    words = [text.split() for text in SAID]

    def published(captions):
        return self_bleu([captions], 5, smoothing="nltk")[-1].corpus

    assert plain.result()["self_bleu"] == published(words)
    monkeypatch.setattr(evaluation, "SELF_BLEU_CAPTIONS", 3)
    assert evaluated().result()["self_bleu"] == published(words[:3])
    alone = evaluated(Batches(SAID[:1], HUMAN[:1]))
    assert "self_bleu" not in alone.result()


def test_silence_is_no_failure():
    report = evaluated(Batches(["", ""], [["a dog"], ["a cat"]]))
    assert report.captions == ["", ""]
    assert report.result()["cider_d"] == report.result()["mean_length"] == 0


def test_a_listener_without_an_opinion_is_at_chance():
    listener = BagListener()
    listener.words.assign(np.zeros_like(listener.words))
    result = evaluated(listener=listener).result()
    assert result["mean_rank"] == result["human_mean_rank"] == 3
    assert result["r@1"] == 0


def test_an_evaluator_is_traced_once_and_sees_new_weights():
    class Counted(Scribe):
        begun = 0

        def begin(self, inputs, training=False):
            self.begun += 1
            return super().begin(inputs, training)

    speaker, listener = Counted(), BagListener()
    evaluator = Evaluator(speaker, BATCHES, listener)
    before = evaluator()
    listener.words.assign(-listener.words)
    after = evaluator()
    assert speaker.begun == 1
    # What was best is worst.
    np.testing.assert_array_equal(before.ranks + after.ranks, 6)


def test_other_listeners_hear_the_speaker_too(plain):
    other = BagListener(seed=7)
    report = evaluated(other_listeners={"fixed": other})
    result, own = report.result(), plain.result()
    wanted = np.mean(image_ranks(other, enumerate(SAID)))
    assert result["fixed_mean_rank"] == pytest.approx(wanted)
    wanted = np.mean(caption_ranks(other))
    assert result["fixed_image_to_text_mean_rank"] == pytest.approx(wanted)
    assert "caption by image, fixed" in report.table()
    assert own.items() <= result.items()
    assert own["mean_rank"] != result["fixed_mean_rank"]


def test_where_nobody_listens_naturalness_is_left(plain, tmp_path):
    alone = Evaluator(Scribe(), BATCHES)()
    assert alone.captions == plain.captions
    assert np.isnan(alone.ranks).all() and np.isnan(alone.human_ranks).all()
    assert not any("r@1" in name for name in alone.scores)
    assert alone.scores.items() <= plain.scores.items()
    assert "R@1" not in alone.table() and "CIDEr-D" in alone.table()
    alone.save(tmp_path / "alone.json")
    kept = type(alone).load(tmp_path / "alone.json")
    assert kept.scores == alone.scores and np.isnan(kept.ranks).all()


def test_of_several_sequences_the_first_counts():
    class Two:
        def decode(self, speaker, state, references=None, training=False):
            first = state["script"][:, None]
            second = first * 0 + np.array([4, 2, 0, 0, 0, 0], "int32")
            tokens = ops.concatenate([first, second], axis=1)
            return Rollout(tokens, ops.cast(tokens > 0, "float32"))

    assert evaluated(decoder=Two()).captions == SAID


def test_the_unknown_word_is_not_said_unless_asked_for():
    batches = Batches(["a zeppelin"] * 2, [["a dog"], ["a cat"]])
    assert "<unk>" not in evaluated(batches).captions[0]
    said = evaluated(batches, decoder=Greedy(max_length=LENGTH)).captions
    assert said == ["a <unk>"] * 2


def test_texts_may_be_given_apart():
    texts, batches = [["a red dog"]] * 5, Batches(SAID, HUMAN)
    assert evaluated(batches, texts=texts).references == texts
    del batches.captions
    with pytest.raises(ValueError, match="`vocabulary` must be given"):
        evaluated(batches, texts=texts)
    report = evaluated(batches, texts=texts, vocabulary=VOCABULARY)
    assert report.image_ids == [0, 1, 2, 3, 4]


DEAF = RetrievalListener(3, units=2, embedding_units=2)
IMAGES, STRINGS = {"image": BATCHES.image}, {"vocabulary": VOCABULARY}
ENDLESS = tf.data.Dataset.from_tensor_slices(ROWS).batch(2).repeat()
NO_KEY = "Name their key in `references`"
OTHER = r"`other_listeners\['fixed'\]` must "


#: Messages, and what does not fit together.
REFUSED = {
    "`texts`.*4 for 5 images": dict(texts=HUMAN[:4]),
    "speaker's size.*=5 .* with 14": dict(vocabulary=Vocabulary(["a"])),
    "the speaker's pad.*=7 .* with 0": dict(
        vocabulary=SimpleNamespace(size=14, pad=7, decode=str)
    ),
    "`listener` must have the speaker's": dict(listener=DEAF),
    OTHER + "have the speaker's": dict(other_listeners={"fixed": DEAF}),
    OTHER + "have the method": dict(other_listeners={"fixed": object()}),
    "`speaker` must .*Batches without voc": dict(speaker=BATCHES),
    NO_KEY: dict(batches=IMAGES, **STRINGS),
    f"'humans'.*{NO_KEY}": dict(batches=IMAGES, references="humans", **STRINGS),
    "Pass strings in `texts`": dict(
        batches={**IMAGES, "references": np.array([["a dog"]] * 5)}, **STRINGS
    ),
    "'photo'.*Name their key in `image`": dict(
        batches=ROWS, image="photo", **STRINGS
    ),
    "`dataset` must be a `tf.data.Dataset`": dict(batches=None, **STRINGS),
    "read again.*in a list": dict(batches=iter([ROWS]), **STRINGS),
    "must be finite": dict(batches=ENDLESS, **STRINGS),
    "`batch_size` must be None": dict(batches=[ROWS], batch_size=2, **STRINGS),
    "at least one image": dict(batches=[], texts=[], **STRINGS),
}


@pytest.mark.parametrize("told", REFUSED)
def test_what_does_not_fit_together_is_refused(told):
    with pytest.raises((TypeError, ValueError), match=told):
        evaluated(**REFUSED[told])


def test_scores_are_those_of_earlier_versions_to_the_last_bit(plain):
    own = plain.scores
    assert own["cider_d"] == 2.1172966236217077
    assert own["bleu_4"] == 5.104254316929173e-05
    assert own["rouge_l"] == 0.665453716370269
    assert own["mrr"] == 0.2644444444444445
    assert own["image_to_text_mrr"] == 0.23158730158730162
    assert own["human_mrr"] == 0.48357142857142854
    assert own["self_bleu"] == 0.21456414938116475


class Sequence(keras.utils.PyDataset):
    """Batches of two, with targets that nobody reads."""

    def __len__(self):
        return 3

    def __getitem__(self, index):
        two = slice(2 * index, 2 * index + 2)
        return {name: array[two] for name, array in ROWS.items()}, None


SETS = tf.data.Dataset.from_tensor_slices(ROWS).batch(2)
DATASETS = {
    "dict": (ROWS, {"batch_size": 3}),
    "other key": (
        {"image": ROWS["image"], "human": ROWS["references"]},
        {"references": "human"},
    ),
    "list": (list(SETS.as_numpy_iterator()), {}),
    "tf": (SETS, {}),
    "pairs": (SETS.map(lambda x: (x, x["image"], 1.0)), {}),
    "PyDataset": (Sequence(), {}),
}


@pytest.mark.parametrize("kind", DATASETS)
def test_any_data_set_of_keras_gives_the_same(plain, kind):
    dataset, options = DATASETS[kind]
    report = evaluated(dataset, **OWN, **options)
    assert report.scores == plain.scores and report.captions == SAID


def test_references_are_needed_where_somebody_hears_them():
    report = evaluated(IMAGES, decoder=Greedy(LENGTH), human_captions=0, **OWN)
    assert report.captions == SAID


def padded(batch, size):
    """Rows of as many words as each image's captions have."""

    def rows():
        for image, human in zip(batch["pixels"], batch["sentences"]):
            yield {"pixels": image, "sentences": human[:, human.any(axis=0)]}

    shapes = {
        "pixels": tf.TensorSpec(batch["pixels"].shape[1:], tf.float32),
        "sentences": tf.TensorSpec([None, None], tf.int32),
    }
    made = tf.data.Dataset.from_generator(rows, output_signature=shapes)
    return made.padded_batch(size)


def test_a_strangers_networks_and_padded_batches_are_evaluated():
    speaker, listener = stranger.speaker(), stranger.listener()
    batch, vocabulary = stranger.batch(5), stranger.VOCABULARY
    report = Evaluator(speaker, padded(batch, 2), listener)()
    # The words of the references, since nobody passed texts.
    texts = [vocabulary.decode_batch(rows) for rows in batch["sentences"]]
    assert report.references == texts
    state = speaker.begin(batch)
    longest = int((batch["sentences"] > 0).sum(axis=-1).max())
    greedy = Greedy(longest, suppress=(vocabulary.unk,))
    said = greedy.decode(speaker, state).tokens
    assert report.captions == vocabulary.decode_batch(said[:, 0])
    images = np.asarray(listener.embed_images(batch["pixels"]))
    own = np.asarray(listener.embed_texts(said, said != 0))[:, 0]
    ranks = [rank(row, i) for i, row in enumerate(own @ images.T)]
    np.testing.assert_allclose(report.ranks, ranks)
    # Sizes of batches change nothing.
    for size in (1, 5):
        again = Evaluator(speaker, padded(batch, size), listener)()
        assert again.scores == pytest.approx(report.scores)


def test_it_is_a_callback():
    evaluate, logs = Evaluator(Scribe(), BATCHES, BagListener()), {}
    evaluate.on_epoch_end(0, logs)
    assert logs["val_r_1"] == evaluate().scores["r@1"]
    assert evaluate.report.captions == SAID
