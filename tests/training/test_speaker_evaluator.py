import functools

import numpy as np
import pytest
from keras import ops

from tests.scribe import LENGTH
from tests.scribe import VOCABULARY
from tests.scribe import BagListener
from tests.scribe import Batches
from tests.scribe import Scribe
from tests.scribe import encode
from tfcap.decoding import Greedy
from tfcap.decoding import Rollout
from tfcap.text import TrainingCaptions
from tfcap.text import Vocabulary
from tfcap.text import caption_language
from tfcap.text import caption_tokenize
from tfcap.text import evaluate_captions
from tfcap.text import self_bleu
from tfcap.training import SpeakerEvaluator
from tfcap.training import evaluate_speaker

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


@pytest.fixture
def batches():
    return Batches(SAID, HUMAN)


@pytest.fixture
def evaluate(batches):
    return functools.partial(evaluate_speaker, Scribe(), BagListener(), batches)


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


def test_what_is_asked_for_and_absent_is_named(evaluate):
    report = evaluate(metrics=["meteor"], java="/no/java")
    assert {*report.absent} == {"meteor"}
    assert "cider_d" in report.result() and "meteor" not in report.result()
    assert "METEOR is absent: there is no Java" in report.table()


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
    result = evaluate_speaker(
        Scribe(), BagListener(), Batches(said, [["a dog"]] * 4)
    ).result()
    shares = [1 / 3, 0, 1 / 4, 2 / 4]
    assert result["repeated_bigrams"] == pytest.approx(np.mean(shares))
    assert result["repeated_trigrams"] == pytest.approx(1 / 3 / 4)


def test_a_bigram_said_twice_counts_though_no_word_comes_twice_in_a_row():
    said = ["a dog a dog", "a cat sits", "the a cat a cat", "a a cat"]
    result = evaluate_speaker(
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
    evaluate, monkeypatch
):
    words = [text.split() for text in SAID]

    def published(captions):
        return self_bleu([captions], 5, smoothing="nltk")[-1].corpus

    assert evaluate().result()["self_bleu"] == published(words)
    monkeypatch.setattr(caption_language, "SELF_BLEU_CAPTIONS", 3)
    assert evaluate().result()["self_bleu"] == published(words[:3])
    alone = Batches(SAID[:1], HUMAN[:1])
    result = evaluate_speaker(Scribe(), BagListener(), alone).result()
    assert "self_bleu" not in result


def test_captions_of_the_training_split_are_not_new(evaluate):
    known = ["A dog runs.", ["a", "a", "cat"]]
    found = evaluate(training_captions=iter(known)).result()["novelty"]
    assert found == pytest.approx(2 / 5)


def test_silence_is_no_failure():
    report = evaluate_speaker(
        Scribe(), BagListener(), Batches(["", ""], [["a dog"], ["a cat"]])
    )
    assert report.captions == ["", ""]
    assert report.result()["cider_d"] == 0
    assert report.result()["mean_length"] == 0


def test_a_listener_without_an_opinion_is_at_chance(batches):
    listener = BagListener()
    listener.words.assign(np.zeros_like(listener.words))
    result = evaluate_speaker(Scribe(), listener, batches).result()
    assert result["mean_rank"] == result["human_mean_rank"] == 3
    assert result["r@1"] == 0


def test_an_evaluator_is_traced_once_and_sees_new_weights(batches):
    class Counted(Scribe):
        begun = 0

        def begin(self, inputs, training=False):
            self.begun += 1
            return super().begin(inputs, training)

    speaker, listener = Counted(), BagListener()
    evaluator = SpeakerEvaluator(speaker, listener, batches)
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
    alone = evaluate_speaker(Scribe(), None, batches)
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
    evaluate = functools.partial(
        evaluate_speaker, Scribe(), BagListener(), batches
    )
    assert "<unk>" not in evaluate().captions[0]
    said = evaluate(decoder=Greedy(max_length=LENGTH)).captions
    assert said == ["a <unk>"] * 2


def test_texts_may_be_given_apart(batches):
    texts = [["a red dog"]] * 5
    report = evaluate_speaker(Scribe(), BagListener(), batches, texts)
    assert report.references == texts
    del batches.captions
    with pytest.raises(ValueError, match="`texts` and `vocabulary` must be"):
        evaluate_speaker(Scribe(), BagListener(), batches, texts)
    report = evaluate_speaker(
        Scribe(), BagListener(), batches, texts, VOCABULARY
    )
    assert report.image_ids == [0, 1, 2, 3, 4]


def test_what_does_not_fit_together_is_refused(evaluate, batches):
    with pytest.raises(ValueError, match="`texts`.*4 lists, 5 images"):
        evaluate(texts=HUMAN[:4])
    with pytest.raises(ValueError, match="of 5 ids for a speaker of 14"):
        evaluate(vocabulary=Vocabulary(["a"]))
    with pytest.raises(ValueError, match="'human_too'"):
        evaluate(other_listeners={"human_too": BagListener()})
    whole = batches.evaluation
    batches.evaluation = lambda size: (
        ({"image": inputs["image"]}, rows) for inputs, rows in whole(size)
    )
    with pytest.raises(ValueError, match=r"'references'\].*\['image'\]"):
        evaluate()


def test_batches_without_an_order_are_refused():
    with pytest.raises(TypeError, match="`batches` must have `evaluation"):
        SpeakerEvaluator(None, None, [{"image": None}], [["a"]], None)
