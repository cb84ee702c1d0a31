import numpy as np
import pytest
import tensorflow as tf

from reproduce.visdial import DialogPartner
from reproduce.visdial import partner_of
from tests.dialogs import encoded
from tests.dialogs import features
from tests.dialogs import generator
from tfcap.decoding import Greedy

LENGTHS = {"caption_length": 6, "question_length": 6, "answer_length": 4}


@pytest.fixture(scope="module", autouse=True)
def eagerly():
    # Dialogs of every length would be traced anew.
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.fixture(scope="module")
def speaker():
    made = generator()
    # Loud enough that an answer depends on what was asked before.
    rng = np.random.default_rng(3)
    made.set_weights([rng.normal(size=w.shape) for w in made.get_weights()])
    return made


def partner(speaker, rounds=3, **arguments):
    vocabulary = encoded().vocabulary
    image = features()[0]
    arguments = {**LENGTHS, **arguments}
    return DialogPartner(
        speaker, vocabulary, image, "a red maybe", rounds=rounds, **arguments
    )


def expected(speaker, questions, said):
    """The answer to the last question, the dialog encoded by hand."""
    vocabulary, rounds = encoded().vocabulary, len(questions)
    table = np.zeros((1, rounds, 6), "int32")
    history = np.zeros((1, rounds, 10), "int32")
    lines = ["a red maybe"]
    # As in training, four words of an answer are heard.
    heard = [" ".join(answer.split()[:4]) for answer in said]
    lines += [f"{q} ? {a}" for q, a in zip(questions, heard)]
    for r, (question, line) in enumerate(zip(questions, lines)):
        words = vocabulary.encode([*question.split(), "?"])
        table[0, r, : len(words)] = words
        words = vocabulary.encode(line.split())
        history[0, r, : len(words)] = words
    state = speaker.begin(
        {"image": features()[:1], "question": table, "history": history}
    )
    tokens = Greedy(max_length=5).decode(speaker, state).tokens
    return vocabulary.decode(np.asarray(tokens)[-1, 0])


QUESTIONS = ["is it red", "is it blue", "is it on the left", "two", "yes no"]


def test_it_answers_what_the_generator_answers(speaker):
    who, said = partner(speaker, rounds=5), []
    for r, question in enumerate(QUESTIONS):
        answer = who.ask(question + "?")
        assert answer == expected(speaker, QUESTIONS[: r + 1], said)
        said.append(answer)
    assert len(set(said)) > 1


def test_the_oldest_exchange_is_forgotten_but_not_the_caption(speaker):
    who, said = partner(speaker, rounds=2), []
    for question in QUESTIONS:
        said.append(who.ask(question))
    assert said[-1] == expected(speaker, QUESTIONS[-2:], said[-2:])


def test_words_that_it_does_not_know_are_told(speaker):
    who = partner(speaker)
    who.ask("Is the zebra's hat RED, zebra?")
    assert who.unknown == ["zebra", "'s", "hat", ","]
    who.ask("is it red?")
    assert who.unknown == []


def test_a_caption_may_be_word_ids(speaker):
    words = encoded().vocabulary.encode(["a", "red", "maybe"]) + [0, 0]
    vocabulary, image = encoded().vocabulary, features()[0]
    who = DialogPartner(speaker, vocabulary, image, words, 3, **LENGTHS)
    assert who.ask("is it red") == partner(speaker).ask("is it red")


def test_long_and_empty_questions_are_read_as_far_as_they_go(speaker):
    who = partner(speaker)
    assert isinstance(who.ask("red " * 50), str)
    assert isinstance(who.ask(""), str)


@pytest.mark.parametrize(
    "name, value", [("features", np.zeros((1, 4, 3))), ("rounds", 0)]
)
def test_wrong_arguments_are_refused(speaker, name, value):
    arguments = {"features": features()[0], "rounds": 3, name: value}
    with pytest.raises(ValueError, match=f"`{name}`"):
        DialogPartner(speaker, encoded().vocabulary, caption="", **arguments)


def test_it_takes_an_image_of_an_experiment(speaker):
    class Study:
        class data:
            test = encoded()
            test_features = features()

        def networks(self, row):
            return {"generator": speaker}

    who = partner_of(Study(), 2)
    assert who.rounds == Study.data.test.rounds
    np.testing.assert_array_equal(who.features, features()[2])
    assert isinstance(who.ask("is it red"), str)
