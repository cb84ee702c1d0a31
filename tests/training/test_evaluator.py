import functools
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

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


def evaluated(speaker, listener, batches, **options):
    return Evaluator(speaker, batches, listener, **options)()


@pytest.fixture
def batches():
    return Batches(SAID, HUMAN)


@pytest.fixture(scope="module")
def plain():
    return evaluated(Scribe(), BagListener(), Batches(SAID, HUMAN))


@pytest.fixture
def evaluate(batches, plain):
    """Function of options; one report serves all who give none."""

    def evaluate(**options):
        if not options:
            return plain
        return evaluated(Scribe(), BagListener(), batches, **options)

    return evaluate


def heard(listener, text):
    """A listener's vector of a caption, word by word."""
    total = 0
    for word in encode([text])[0]:
        if word:
            total = total + listener.words.numpy()[word]
    return total


def rank(scores, truth):
    """1 is best; among ties the middle place."""
    others = np.delete(scores, truth)
    own = scores[truth]
    return 1 + np.sum(others > own) + np.sum(others == own) / 2


def image_ranks(listener, batches, captions):
    """Of each pair of an image and a caption, the rank of the image."""
    images = batches.image[:, 0, LENGTH:]
    return [rank(images @ heard(listener, text), i) for i, text in captions]


def test_captions_are_those_of_the_images_in_their_order(evaluate):
    for size in (None, 1, 4, 100):
        report = evaluate(batch_size=size)
        assert report.captions == SAID
        assert report.references == HUMAN
        assert report.image_ids == [f"image-{i}" for i in range(5)]


def test_the_image_is_found_by_its_caption_among_all(evaluate, batches):
    report = evaluate()
    ranks = image_ranks(BagListener(), batches, enumerate(SAID))
    assert report.ranks.tolist() == ranks
    assert len(set(ranks)) > 2
    result = report.result()
    assert result["r@1"] == 100 * np.mean(np.array(ranks) <= 1)
    assert result["r@5"] == 100.0
    assert result["mean_rank"] == pytest.approx(np.mean(ranks))
    assert result["median_rank"] == np.median(ranks)
    assert result["mrr"] == pytest.approx(np.mean(1 / np.array(ranks)))


def test_the_caption_is_found_by_its_image_among_all(evaluate, batches):
    images = batches.image[:, 0, LENGTH:]
    texts = np.stack([heard(BagListener(), text) for text in SAID])
    ranks = [rank(texts @ image, i) for i, image in enumerate(images)]
    found = evaluate().result()["image_to_text_mean_rank"]
    assert found == pytest.approx(np.mean(ranks))


def test_the_listener_also_hears_people(evaluate, batches):
    report = evaluate()
    listener, result = BagListener(), report.result()
    first = [(i, row[0]) for i, row in enumerate(HUMAN)]
    ranks = image_ranks(listener, batches, first)
    assert report.human_ranks.tolist() == ranks
    assert result["human_first_mean_rank"] == pytest.approx(np.mean(ranks))
    every = [(i, text) for i, row in enumerate(HUMAN) for text in row]
    ranks = image_ranks(listener, batches, every)
    assert result["human_mean_rank"] == pytest.approx(np.mean(ranks))
    assert result["human_r@1"] == 100 * np.mean(np.array(ranks) <= 1)
    assert {"human_image_to_text_r@10"} < {*result}


def test_of_many_human_captions_some_or_none_may_be_heard(evaluate, batches):
    result = evaluate(human_captions=1).result()
    assert result["human_mean_rank"] == result["human_first_mean_rank"]
    assert (
        result["human_mean_rank"]
        == evaluate().result()["human_first_mean_rank"]
    )
    two = [(i, text) for i, row in enumerate(HUMAN) for text in row[:2]]
    ranks = image_ranks(BagListener(), batches, two)
    found = evaluate(human_captions=2).result()["human_mean_rank"]
    assert found == pytest.approx(np.mean(ranks))
    report = evaluate(human_captions=0)
    assert np.isnan(report.human_ranks).all()
    assert not [name for name in report.result() if "human" in name]


def test_naturalness_is_that_of_the_captions_and_the_raw_references(evaluate):
    report, alone = evaluate(), evaluate_captions(SAID, HUMAN, ["cider_d"])
    assert report.result()["cider_d"] == alone.scores["cider_d"].corpus
    np.testing.assert_array_equal(
        report.each["cider_d"], alone.scores["cider_d"].each
    )
    named = {f"bleu_{k}" for k in (1, 2, 3, 4)} | {"rouge_l"}
    assert named < {*report.result()} and not report.absent


def test_what_is_asked_for_and_absent_is_named(evaluate, monkeypatch):
    monkeypatch.setenv("PATH", "")
    report = evaluate(metrics=["spice"])
    assert {*report.absent} == {"spice"}
    assert "cider_d" in report.result() and "spice" not in report.result()
    assert "SPICE is absent: there is no `java`" in report.table()


def test_variety_and_signs_of_drift_are_counted(evaluate):
    result = evaluate().result()
    assert result["vocabulary_size"] == 9
    assert result["distinct_captions"] == 4
    assert result["repeat_rate"] == pytest.approx(1 / 5)
    assert result["bad_ending_rate"] == pytest.approx(2 / 5)
    assert result["unfinished_rate"] == pytest.approx(1 / 5)
    assert result["mean_length"] == pytest.approx((3 + 6 + 3 + 3 + 4) / 5)
    assert not {"novelty", "novel_bigrams", "lm_log_prob"} & {*result}


def test_what_is_said_again_is_counted():
    said = ["a dog a dog", "a cat", "the a cat a cat", "a dog a dog a"]
    result = evaluated(
        Scribe(), BagListener(), Batches(said, [["a dog"]] * 4)
    ).result()
    shares = [1 / 3, 0, 1 / 4, 2 / 4]
    assert result["repeated_bigrams"] == pytest.approx(np.mean(shares))
    assert result["repeated_trigrams"] == pytest.approx(1 / 3 / 4)


def test_a_bigram_said_twice_counts_though_no_word_comes_twice_in_a_row():
    said = ["a dog a dog", "a cat sits", "the a cat a cat", "a a cat"]
    result = evaluated(
        Scribe(), BagListener(), Batches(said, [["a dog"]] * 4)
    ).result()
    assert result["repeat_rate"] == pytest.approx(1 / 4)
    assert result["repeated_bigram_rate"] == pytest.approx(2 / 4)


def test_captions_are_measured_against_those_of_training(evaluate):
    known = TrainingCaptions(["a dog runs", "the cat sits on a mat"] * 2)
    report = evaluate(training_captions=known)
    result, words = report.result(), [text.split() for text in SAID]
    assert result["novel_bigrams"] == pytest.approx(6 / 14)
    assert result["novel_trigrams"] == pytest.approx(5 / 9)
    model = known.language_model
    np.testing.assert_array_equal(
        report.each["lm_log_prob"], model.log_prob(words).each
    )
    assert result["lm_log_prob"] == model.log_prob(words).corpus
    human = [caption_tokenize(text) for row in HUMAN for text in row]
    assert result["human_lm_log_prob"] == model.log_prob(human).corpus
    assert "log prob / word" in report.table()


def test_self_bleu_is_that_of_the_first_captions_as_published(
    evaluate, batches, monkeypatch
):
    words = [text.split() for text in SAID]

    def published(captions):
        return self_bleu([captions], 5, smoothing="nltk")[-1].corpus

    assert evaluate().result()["self_bleu"] == published(words)
    monkeypatch.setattr(evaluation, "SELF_BLEU_CAPTIONS", 3)
    result = evaluated(Scribe(), None, batches).result()
    assert result["self_bleu"] == published(words[:3])
    alone = Batches(SAID[:1], HUMAN[:1])
    result = evaluated(Scribe(), BagListener(), alone).result()
    assert "self_bleu" not in result


def test_captions_of_the_training_split_are_not_new(evaluate):
    known = ["A dog runs.", ["a", "a", "cat"]]
    found = evaluate(training_captions=iter(known)).result()["novelty"]
    assert found == pytest.approx(2 / 5)


def test_silence_is_no_failure():
    report = evaluated(
        Scribe(), BagListener(), Batches(["", ""], [["a dog"], ["a cat"]])
    )
    assert report.captions == ["", ""]
    assert report.result()["cider_d"] == 0
    assert report.result()["mean_length"] == 0


def test_a_listener_without_an_opinion_is_at_chance(batches):
    listener = BagListener()
    listener.words.assign(np.zeros_like(listener.words))
    result = evaluated(Scribe(), listener, batches).result()
    assert result["mean_rank"] == result["human_mean_rank"] == 3
    assert result["r@1"] == 0


def test_an_evaluator_is_traced_once_and_sees_new_weights(batches):
    class Counted(Scribe):
        begun = 0

        def begin(self, inputs, training=False):
            self.begun += 1
            return super().begin(inputs, training)

    speaker, listener = Counted(), BagListener()
    evaluator = Evaluator(speaker, batches, listener)
    before = evaluator()
    listener.words.assign(-listener.words)
    after = evaluator()
    assert speaker.begun == 1
    # What was best is worst.
    np.testing.assert_array_equal(before.ranks + after.ranks, 6)


def test_other_listeners_hear_the_speaker_too(evaluate, batches):
    report = evaluate(other_listeners={"fixed": BagListener(seed=7)})
    ranks = image_ranks(BagListener(seed=7), batches, enumerate(SAID))
    assert report.result()["fixed_mean_rank"] == pytest.approx(np.mean(ranks))
    images = batches.image[:, 0, LENGTH:]
    texts = np.stack([heard(BagListener(seed=7), text) for text in SAID])
    ranks = [rank(texts @ image, i) for i, image in enumerate(images)]
    found = report.result()["fixed_image_to_text_mean_rank"]
    assert found == pytest.approx(np.mean(ranks))
    assert "caption by image, fixed" in report.table()
    own = evaluate().result()
    assert {k: report.result()[k] for k in own} == own
    assert own["mean_rank"] != report.result()["fixed_mean_rank"]


def test_where_nobody_listens_naturalness_is_left(evaluate, batches, tmp_path):
    alone = evaluated(Scribe(), None, batches)
    heard = evaluate()
    assert alone.captions == heard.captions
    assert np.isnan(alone.ranks).all() and np.isnan(alone.human_ranks).all()
    assert not any("r@1" in name for name in alone.scores)
    assert alone.scores.items() <= heard.scores.items()
    assert "R@1" not in alone.table() and "CIDEr-D" in alone.table()
    alone.save(tmp_path / "alone.json")
    kept = type(alone).load(tmp_path / "alone.json")
    assert kept.scores == alone.scores and np.isnan(kept.ranks).all()


def test_of_several_sequences_the_first_counts(evaluate):
    class Two:
        def decode(self, speaker, state, references=None, training=False):
            first = state["script"][:, None]
            second = first * 0 + np.array([4, 2, 0, 0, 0, 0], "int32")
            tokens = ops.concatenate([first, second], axis=1)
            return Rollout(tokens, ops.cast(tokens > 0, "float32"))

    assert evaluate(decoder=Two()).captions == SAID


def test_the_unknown_word_is_not_said_unless_asked_for():
    batches = Batches(["a zeppelin"] * 2, [["a dog"], ["a cat"]])
    evaluate = functools.partial(evaluated, Scribe(), BagListener(), batches)
    assert "<unk>" not in evaluate().captions[0]
    said = evaluate(decoder=Greedy(max_length=LENGTH)).captions
    assert said == ["a <unk>"] * 2


def test_texts_may_be_given_apart(batches):
    texts = [["a red dog"]] * 5
    report = evaluated(Scribe(), BagListener(), batches, texts=texts)
    assert report.references == texts
    del batches.captions
    with pytest.raises(ValueError, match="`vocabulary` must be given"):
        evaluated(Scribe(), BagListener(), batches, texts=texts)
    report = evaluated(
        Scribe(), BagListener(), batches, texts=texts, vocabulary=VOCABULARY
    )
    assert report.image_ids == [0, 1, 2, 3, 4]


def test_arguments_that_do_not_fit_together_are_refused(evaluate, batches):
    with pytest.raises(ValueError, match="`texts`.*4 for 5 images"):
        evaluate(texts=HUMAN[:4])
    with pytest.raises(ValueError, match="speaker's size.*=5 .* of 14"):
        evaluate(vocabulary=Vocabulary(["a"]))
    other = SimpleNamespace(size=14, pad=7, decode=str)
    with pytest.raises(ValueError, match="the speaker's pad.*=7 .* of 0"):
        evaluate(vocabulary=other)
    deaf = RetrievalListener(3, units=2, embedding_units=2)
    with pytest.raises(ValueError, match="`listener` must read the speaker's"):
        evaluated(Scribe(), deaf, batches)
    match = r"`other_listeners\['fixed'\]` must "
    with pytest.raises(ValueError, match=match + "read the speaker's"):
        evaluate(other_listeners={"fixed": deaf})
    with pytest.raises(TypeError, match="`speaker` must .*Batches without voc"):
        Evaluator(batches, Scribe())
    with pytest.raises(TypeError, match=match + "have the method"):
        evaluate(other_listeners={"fixed": object()})


def data(batches, **names):
    """The images and references of our batches, under names of one's own."""
    held = {"image": batches.image, "references": batches.references}
    return {names.get(name, name): array for name, array in held.items()}


@pytest.fixture
def own(plain):
    return plain.scores


def test_scores_are_those_of_earlier_versions_to_the_last_bit(own):
    assert own["cider_d"] == 2.1172966236217077
    assert own["bleu_4"] == 5.104254316929173e-05
    assert own["rouge_l"] == 0.665453716370269
    assert own["mrr"] == 0.2644444444444445
    assert own["image_to_text_mrr"] == 0.23158730158730162
    assert own["human_mrr"] == 0.48357142857142854
    assert own["self_bleu"] == 0.21456414938116475


class Sequence(keras.utils.PyDataset):
    """Batches of two, with targets that nobody reads."""

    def __init__(self, rows):
        super().__init__()
        self.rows = rows

    def __len__(self):
        return 3

    def __getitem__(self, index):
        two = slice(2 * index, 2 * index + 2)
        return {name: array[two] for name, array in self.rows.items()}, None


@pytest.mark.parametrize("kind", ["dict", "list", "tf", "pairs", "PyDataset"])
def test_any_data_set_of_keras_gives_the_same(batches, own, kind):
    rows = data(batches)
    sets = tf.data.Dataset.from_tensor_slices(rows).batch(2)
    dataset = {
        "dict": lambda: rows,
        "list": lambda: list(sets.as_numpy_iterator()),
        "tf": lambda: sets,
        "pairs": lambda: sets.map(lambda x: (x, x["image"], 1.0)),
        "PyDataset": lambda: Sequence(rows),
    }[kind]()
    options = {"batch_size": 3} if kind == "dict" else {}
    report = evaluated(
        Scribe(),
        BagListener(),
        dataset,
        texts=HUMAN,
        vocabulary=VOCABULARY,
        **options,
    )
    assert report.scores == own and report.captions == SAID


class Stranger(keras.Model):
    """A GRU that reads `pixels` and names no tfcap class."""

    vocabulary_size, bos, eos = VOCABULARY.size, 1, 2

    def __init__(self):
        super().__init__()
        keras.utils.set_random_seed(0)
        self.look = keras.layers.Dense(8)
        self.words = keras.layers.Embedding(self.vocabulary_size, 4)
        self.cell = keras.layers.GRUCell(8)
        self.head = keras.layers.Dense(self.vocabulary_size)

    def begin(self, inputs, training=False):
        return self.look(ops.mean(inputs["pixels"], axis=1))

    def step(self, words, state, training=False):
        _, (state,) = self.cell(self.words(words), [state])
        return self.head(state), state

    def references(self, inputs):
        return inputs["humans"]


def padded(batches, size=2):
    """Rows of as many captions and words as each image has."""

    def rows():
        for image, human in zip(batches.image, batches.references):
            human = human[human.any(axis=-1)]
            yield {"pixels": image, "humans": human[:, human.any(axis=0)]}

    shapes = {
        "pixels": tf.TensorSpec(batches.image.shape[1:], tf.float32),
        "humans": tf.TensorSpec([None, None], tf.int32),
    }
    made = tf.data.Dataset.from_generator(rows, output_signature=shapes)
    return made.padded_batch(size)


def test_a_strangers_speaker_and_padded_batches_are_evaluated(batches):
    speaker, listener = Stranger(), BagListener()
    options = {"vocabulary": VOCABULARY, "image": "pixels"}
    report = evaluated(speaker, listener, padded(batches), **options)
    # The words of the references, since nobody passed texts.
    assert report.references[3] == ["the dog", "a red dog"]
    assert report.references[2][2] == "a cat in a <unk>"
    state = speaker.begin({"pixels": batches.image})
    greedy = Greedy(max_length=LENGTH, suppress=(3,))
    said = greedy.decode(speaker, state).tokens
    assert report.captions == VOCABULARY.decode_batch(said[:, 0])
    ranks = image_ranks(listener, batches, enumerate(report.captions))
    assert report.ranks.tolist() == ranks
    expected = evaluate_captions(report.captions, report.references, ["bleu"])
    assert report.scores["bleu_2"] == expected.scores["bleu_2"].corpus
    # Sizes of batches change nothing.
    for size in (1, 5):
        again = evaluated(speaker, listener, padded(batches, size), **options)
        assert again.scores == report.scores


def test_keys_of_a_batch_may_have_other_names(batches, own):
    dataset = data(batches, references="human")
    options = {"texts": HUMAN, "vocabulary": VOCABULARY}
    report = evaluated(
        Scribe(), BagListener(), dataset, references="human", **options
    )
    assert report.scores == own


def test_references_are_asked_for_by_a_sentence(batches):
    images = {"image": batches.image}
    options = {"vocabulary": VOCABULARY}
    remedy = "Name their key in `references`"
    with pytest.raises(ValueError, match=remedy):
        evaluated(Scribe(), None, images, **options)
    with pytest.raises(ValueError, match=f"'humans'.*{remedy}"):
        evaluated(Scribe(), None, images, references="humans", **options)
    strings = {**images, "references": np.array([["a dog"]] * 5)}
    with pytest.raises(TypeError, match="Pass strings in `texts`"):
        evaluated(Scribe(), None, strings, **options)
    with pytest.raises(ValueError, match="'photo'.*Name their key in `image`"):
        evaluated(
            Scribe(), BagListener(), data(batches), image="photo", **options
        )
    report = evaluated(
        Scribe(),
        BagListener(),
        images,
        texts=HUMAN,
        decoder=Greedy(LENGTH),
        human_captions=0,
        **options,
    )
    assert report.captions == SAID


def test_data_sets_that_cannot_be_read_again_are_refused(batches):
    rows = data(batches)
    endless = tf.data.Dataset.from_tensor_slices(rows).batch(2).repeat()
    for dataset, error, message in (
        (None, TypeError, "`dataset` must be a `tf.data.Dataset`"),
        (iter([rows]), TypeError, "read again.*in a list"),
        (endless, ValueError, "come to an end"),
    ):
        with pytest.raises(error, match=message):
            Evaluator(Scribe(), dataset, vocabulary=VOCABULARY)
    with pytest.raises(ValueError, match="`batch_size` must be None"):
        Evaluator(Scribe(), [rows], batch_size=2, vocabulary=VOCABULARY)
    with pytest.raises(ValueError, match="at least one image"):
        evaluated(Scribe(), None, [], vocabulary=VOCABULARY, texts=[])


def test_it_is_a_callback(batches):
    evaluate, logs = Evaluator(Scribe(), batches, BagListener()), {}
    evaluate.on_epoch_end(0, logs)
    assert logs["val_r_1"] == evaluate().scores["r@1"]
    assert evaluate.report.captions == SAID
