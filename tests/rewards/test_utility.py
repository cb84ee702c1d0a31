import keras
import numpy as np
import pytest

import tfcap
from tests.methods import stranger
from tfcap.data import Question
from tfcap.rewards import DialogReader
from tfcap.rewards import LikelihoodReader
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


@pytest.mark.parametrize("log", [True, False])
def test_a_caption_is_worth_what_it_adds_to_an_empty_one(log):
    utility = Utility(QUESTIONS, Reader(), log=log)
    captions = ["a red cup", "a blue bus", "a red cup", "", "a cup", "a cup"]
    rows = [0, 0, 0, 0, 1, 2]

    def gain(shares, prior):
        return np.log(shares / prior) if log else shares - prior

    color, thing = gain(share(2, [0, 0]), 1 / 3), gain(share(2, [0]), 1 / 2)
    wrong = gain(share(0, [2, 0]), 1 / 3), gain(share(0, [2]), 1 / 2)
    right = (color + thing) / 2
    wanted = [right, sum(wrong) / 2, right, 0, thing, 0]
    found = utility._gains(captions, row=np.array(rows))
    np.testing.assert_allclose(found, wanted, 1e-6)
    # Equal captions of an image, and no caption, are read once: 5 and 3.
    assert len(utility.reader.read) == 8
    scores = utility.scores(captions[:2], rows[:2])
    assert scores["utility"] == pytest.approx(np.mean(wanted[:2]))


def test_scores_tell_how_many_answers_are_right_of_each_kind():
    utility = Utility(QUESTIONS, Reader())
    scores = utility.scores(
        ["a red cup", "a blue bus", "a dull cup"], [0, 0, 1]
    )
    assert scores.keys() == {
        *("utility", "utility_accuracy", "utility_without"),
        *("utility_mean_rank", "utility_accuracy_color"),
    }
    assert scores["utility_accuracy"] == 3 / 5  # red, cup, cup
    assert scores["utility_accuracy_color"] == 1 / 2
    assert scores["utility_mean_rank"] == (1 + 1 + 2.5 + 2 + 1) / 5
    assert scores["utility_without"] == 0  # all options share a rank


def test_answers_tell_what_was_chosen_and_its_rank():
    utility = Utility(QUESTIONS, Reader())
    ((color, thing),) = utility.answers(["a blue cup"], [0])
    assert (color.chosen, color.rank) == ("blue", 2.5)
    assert color.without == pytest.approx(1 / 3)
    assert (thing.chosen, thing.rank) == ("cup", 1)
    assert color.question.kind == "color"


def test_no_option_gains_by_its_place():
    # A reader that takes the first option learns nothing from a caption, and
    # one that also reads prefers it without a caption, too.
    question = Question("Which?", ("red", "blue"), 0)
    utility = Utility([[question]], Reader(place=50.0))
    assert not np.any(utility._gains([*"abcdef"], row=np.zeros(6, int)))
    utility = Utility([[question]], Reader(place=5.0), log=False)
    captions = [f"red {i}" for i in range(400)]
    gains = [utility._gains([text], row=np.zeros(1, int)) for text in captions]
    first = share(7, [0]) - share(5, [0]), share(2, [5]) - share(0, [5])
    assert abs(np.mean(gains) - np.mean(first)) < 0.01
    assert {*np.round(gains, 6).ravel()} == {*np.round(first, 6)}


def test_draws_depend_on_the_captions_alone():
    # So that a run that is resumed draws what it would have drawn.
    many = [COLOR._replace(text=str(i)) for i in range(9)]
    one, other = (
        Utility([many] * 2, Reader(), limit=2, seed=seed) for seed in (0, 1)
    )
    drawn = set()
    for caption in "abcdef":
        asked = [
            [x.question.text for x in answers]
            for answers in one.answers([caption, "a cup"], [0, 0])
        ]
        assert asked[0] == asked[1] and len(set(asked[0])) == 2
        again = one.answers([caption, "a cup"], [0, 0])
        assert [x.question.text for x in again[0]] == asked[0]
        drawn.add((*asked[0],))
    assert len(drawn) > 3
    assert one.answers(["a"], [0]) != other.answers(["a"], [0])


def test_a_speaker_learns_to_say_what_is_asked():
    vocabulary = stranger.VOCABULARY
    word = vocabulary.tokens[-1]
    question = Question("What?", (word, "nothing"), 0)
    utility = Utility([[question]] * 4, Reader(), log=False)
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


def test_what_is_known_without_a_caption_may_count():
    utility = Utility([[COLOR]], Reader(), subtract_empty=False, log=False)
    found = utility._gains(["red", ""], row=np.zeros(2, int))
    np.testing.assert_allclose(found, [share(2, [0, 0]), 1 / 3])
    assert len(utility.reader.read) == 2
    assert np.isnan(utility.answers(["red"], [0])[0][0].without)
    assert "utility_without" not in utility.scores(["red"], [0])


@pytest.mark.parametrize(
    "scores", [[[0.0]], [[0.0, np.nan, 1.0]], [], [[-np.inf] * 3]]
)
def test_readers_that_do_not_score_every_option_are_refused(scores):
    utility = Utility([[COLOR]], lambda *_: scores, subtract_empty=False)
    with pytest.raises(ValueError, match="a number for every option"):
        utility.answers(["a"], [0])


@pytest.mark.parametrize("batch_size", [2, 8])
@pytest.mark.parametrize("information", [True, False])
def test_options_are_scored_by_their_mean_log_probability(
    tmp_path, batch_size, information
):
    test_gguf = pytest.importorskip("tests.models.test_gguf")
    test_gguf.write(tmp_path / "tiny.gguf", "gemma3")
    lm = tfcap.models.from_gguf(tmp_path / "tiny.gguf")
    speaker = tfcap.models.CausalLMSpeaker(lm)
    options = {"mutual_information": information, "batch_size": batch_size}
    reader = LikelihoodReader(speaker, "{caption} {question}", **options)
    asked = [
        ("a red cup", "a", ["red", "blue boat"]),
        ("", "re", ["cup", "boat boat boat boat boat boat boat boat", "a"]),
        ("a blue boat", "cup", ["a", "cup"]),
        ("", "a", ["red", "blue boat"]),
    ]
    tokenizer = lm.preprocessor.tokenizer

    def likelihood(caption, question, option):
        prompt = tokenizer([f"{caption} {question}"])[0]
        first = [tokenizer.start_token_id, *map(int, prompt)]
        said = [*map(int, tokenizer([f" {option}"])[0])]
        ids = np.array([first + said])
        inputs = {"token_ids": ids, "padding_mask": np.ones_like(ids)}
        logits = np.array(lm(inputs)[0, len(first) - 1 : -1])
        logits[:, list(speaker.suppressed_ids)] = -1e9  # never said
        log_probs = np.asarray(keras.ops.log_softmax(logits))
        return log_probs[np.arange(len(said)), said].mean()

    found = reader(*map(list, zip(*asked)))
    for (caption, question, options), scores in zip(asked, found):
        wanted = [likelihood(caption, question, x) for x in options]
        if information:
            empty = [likelihood("", question, x) for x in options]
            wanted = np.subtract(wanted, empty)
        np.testing.assert_allclose(scores, wanted, 1e-4, 1e-4)


def test_a_dialog_model_reads_a_caption_as_history():
    vocabulary = tfcap.text.Vocabulary(
        "a red blue bus cup what is it ?".split()
    )
    keras.utils.set_random_seed(0)
    encoder = tfcap.layers.LateFusionEncoder(
        8, output_units=6, return_state=True
    )
    generator = tfcap.models.DialogGenerator(
        vocabulary.size, encoder, embedding_units=6
    )
    entry = np.ones((1, 1, 1), int)
    image = np.zeros((1, 1, 3), "float32")
    names = "question", "history", "answer"
    generator({**dict.fromkeys(names, entry), "image": image})  # builds it
    reader = DialogReader(generator, vocabulary, (1, 3), batch_size=2)
    captions = ["A red bus.", "", "a blue cup"]
    options = [["a bus", "red"], ["cup", "a cup", "bus"], ["it", "a"]]
    found = reader(captions, ["What is it"] * 3, options)
    for caption, texts, scores in zip(captions, options, found):
        for text, score in zip(texts, scores):
            words = tfcap.text.word_tokenize(caption)
            batch = {
                "question": vocabulary.encode(["what", "is", "it", "?"]),
                "history": [*vocabulary.encode(words), 0, 0],
                "answer": vocabulary.encode(text.split(), eos=True),
            }
            batch = {k: np.array([[v]]) for k, v in batch.items()}
            batch["image"] = image
            log_probs = keras.ops.log_softmax(generator(batch))[0, 0]
            wanted = np.take_along_axis(
                np.array(log_probs), batch["answer"][0, 0][:, None], axis=1
            )
            assert score == pytest.approx(wanted.mean(), abs=1e-5)


def test_a_language_model_reads_what_another_speaker_says(tmp_path):
    test_gguf = pytest.importorskip("tests.models.test_gguf")
    test_gguf.write(tmp_path / "tiny.gguf", "gemma3")
    lm = tfcap.models.from_gguf(tmp_path / "tiny.gguf")
    weights = [np.array(w) for w in lm.backbone.weights]
    reader = LikelihoodReader(tfcap.models.CausalLMSpeaker(lm))
    question = Question("red", ("a cup", "boat"), 0)
    utility = Utility([[question]] * 4, reader)
    speaker = stranger.speaker()
    training = tfcap.methods.scst(speaker, utility, max_length=2, seed=0)
    training.compile(keras.optimizers.Adam(0.05))
    data = {**stranger.batch(4), "row": np.arange(4)}
    logs = training.train_on_batch(data, return_dict=True)
    assert np.isfinite(logs["utility"]) and logs["utility"] != 0
    for old, new in zip(weights, lm.backbone.weights):
        np.testing.assert_array_equal(old, new)
