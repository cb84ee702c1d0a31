import keras
import numpy as np
import pytest

import tfcap
from tests.methods import stranger
from tfcap.rewards import LikelihoodReader
from tfcap.rewards import Question
from tfcap.rewards import Utility

COLOR = Question("Which color?", ("red", "blue", "green"), 0, "color")
THING = Question("What?", ("bus", "cup"), 1)
QUESTIONS = [[COLOR, THING], [THING], []]


class Reader:
    """Knows what a caption says, and likes the first option besides."""

    def __init__(self, place=0.0):
        self.place, self.read = place, []

    def __call__(self, captions, questions, options):
        self.read += zip(captions, questions)
        scores = [
            np.array([2.0 * (x in caption.split()) for x in each])
            for caption, each in zip(captions, options)
        ]
        for each in scores:
            each[0] += self.place
        return scores


def share(right, others):
    return np.exp(right) / (np.exp(right) + np.sum(np.exp(others)))


def test_a_caption_is_worth_what_it_adds_to_an_empty_one():
    utility = Utility(QUESTIONS, Reader(), seed=0)
    captions = ["a red cup", "a blue bus", "a red cup", "", "a cup", "a cup"]
    rows = [0, 0, 0, 0, 1, 2]
    color, thing = share(2, [0, 0]), share(2, [0])
    wrong = share(0, [2, 0]), share(0, [2])
    right = ((color - 1 / 3) + (thing - 1 / 2)) / 2
    wanted = [right, (sum(wrong) - 1 / 3 - 1 / 2) / 2, right, 0]
    wanted += [thing - 1 / 2, 0]
    found = utility._gains(captions, row=np.array(rows))
    np.testing.assert_allclose(found, wanted, 1e-6)
    # Equal captions of an image, and no caption, are read once: 7 and 3.
    assert len(utility.reader.read) == 10
    utility._gains(captions[:1] * 3, row=np.zeros(3, int))
    assert len(utility.reader.read) == 12


def test_answers_tell_what_was_chosen_and_its_rank():
    utility = Utility(QUESTIONS, Reader(), subtract_empty=False, seed=0)
    ((color, thing),) = utility.answers(["a blue cup"], [0])
    assert (color.chosen, color.rank, color.without) == ("blue", 2.5, 0)
    assert (thing.chosen, thing.rank) == ("cup", 1)
    assert color.question.kind == "color"


def test_no_option_gains_by_its_place():
    for options in (("red", "blue"), ("blue", "red")):
        question = Question("Which?", options, options.index("red"))
        utility = Utility([[question]], Reader(place=5.0), seed=0)
        gains = [utility.answers(["blue"], [0])[0][0] for _ in range(400)]
        mean = np.mean([x.probability for x in gains])
        assert abs(mean - (share(5, [2]) + share(0, [7])) / 2) < 0.1


def test_a_caption_is_asked_as_many_questions_as_there_may_be():
    many = [COLOR._replace(text=str(i)) for i in range(9)]
    utility = Utility([many], Reader(), limit=2, subtract_empty=False, seed=0)
    asked = [
        tuple(x.question.text for x in utility.answers(["a"], [0])[0])
        for _ in range(9)
    ]
    assert {len(set(each)) for each in asked} == {2} and len(set(asked)) > 3


def test_a_speaker_learns_to_say_what_is_asked():
    vocabulary = stranger.VOCABULARY
    word = vocabulary.tokens[-1]
    question = Question("What?", (word, "nothing"), 0)
    utility = Utility([[question]] * 4, Reader(), seed=0)
    speaker = stranger.speaker()
    training = tfcap.methods.scst(
        speaker, utility, num_samples=8, max_length=2, seed=0
    )
    training.compile(keras.optimizers.Adam(0.05))
    data = {**stranger.batch(4), "row": np.arange(4)}
    history = training.fit(data, epochs=25, verbose=0).history["utility"]
    assert history[-1] > history[0] + 0.1


@pytest.mark.parametrize(
    "wrong", [Question("?", ("a",), 0), Question("?", ("a", "b"), 2)]
)
def test_questions_without_a_right_answer_are_refused(wrong):
    with pytest.raises(ValueError, match="at least two options"):
        Utility([[], [wrong]], Reader())


@pytest.mark.parametrize("scores", [[[0.0]], [[0.0, np.nan, 1.0]], []])
def test_readers_that_do_not_score_every_option_are_refused(scores):
    utility = Utility([[COLOR]], lambda *_: scores, subtract_empty=False)
    with pytest.raises(ValueError, match="a number for every option"):
        utility.answers(["a"], [0])


@pytest.mark.parametrize("batch_size", [2, 8])
def test_options_are_scored_by_their_mean_log_probability(tmp_path, batch_size):
    test_gguf = pytest.importorskip("tests.models.test_gguf")
    test_gguf.write(tmp_path / "tiny.gguf", "gemma3")
    lm = tfcap.models.from_gguf(tmp_path / "tiny.gguf")
    speaker = tfcap.models.CausalLMSpeaker(lm)
    reader = LikelihoodReader(speaker, "{caption} {question}", batch_size)
    asked = [
        ("a red cup", "a", ["red", "blue boat"]),
        ("", "re", ["cup", "boat", "a"]),
        ("a blue boat", "cup", ["a", "cup"]),
    ]
    tokenizer, wanted = lm.preprocessor.tokenizer, []
    for caption, question, options in asked:
        prompt = tokenizer([f"{caption} {question}"])[0]
        first = [tokenizer.start_token_id, *map(int, prompt)]
        for option in options:
            said = [*map(int, tokenizer([option])[0]), tokenizer.end_token_id]
            ids = np.array([first + said])
            inputs = {"token_ids": ids, "padding_mask": np.ones_like(ids)}
            logits = np.array(lm(inputs)[0, len(first) - 1 : -1])
            logits[:, list(speaker.suppressed_ids)] = -1e9  # never said
            log_probs = np.asarray(keras.ops.log_softmax(logits))
            each = log_probs[np.arange(len(said)), said]
            wanted.append(each.mean())
    found = np.concatenate(reader(*map(list, zip(*asked))))
    np.testing.assert_allclose(found, wanted, 1e-4, 1e-4)
