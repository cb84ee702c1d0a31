import types

import numpy as np
import pytest

from reproduce.visdial.talk import Talk
from tests import dialogs
from tfcap.decoding import Greedy

FEATURES = dialogs.features()
QUESTIONS = ["is it red", "is it blue", "is it on the left", "two", "yes no"]


@pytest.fixture(scope="module")
def speaker():
    made = dialogs.generator()
    # Loud enough that an answer depends on what was asked before.
    rng = np.random.default_rng(3)
    made.set_weights([rng.normal(size=w.shape) for w in made.get_weights()])
    return made


@pytest.fixture
def talk(speaker):
    def make(rounds=3, features=FEATURES):
        return Talk(
            types.SimpleNamespace(
                data=types.SimpleNamespace(
                    test=dialogs.encoded(rounds=rounds), test_features=features
                ),
                networks=lambda row: {"generator": speaker},
            ),
            2,
        )

    return make


def expected(speaker, rounds, questions, said):
    """The answer to the last question, the dialog encoded by hand."""
    test = dialogs.encoded(rounds=rounds)
    vocabulary, count = test.vocabulary, len(questions)
    table = np.zeros((1, count, 6), "int32")
    history = np.zeros((1, count, 20), "int32")
    lines = [vocabulary.decode(test.captions[2])]
    lines += [f"{q} ? {a}" for q, a in zip(questions, said)]
    for r, (question, line) in enumerate(zip(questions, lines)):
        words = vocabulary.encode([*question.split(), "?"])
        table[0, r, : len(words)] = words
        words = vocabulary.encode(line.split())
        history[0, r, : len(words)] = words
    image = FEATURES[2:3]
    state = speaker.begin(
        {"image": image, "question": table, "history": history}
    )
    decoder = Greedy(max_length=test.answers.shape[1])
    tokens = decoder.decode(speaker, state).tokens
    return vocabulary.decode(np.asarray(tokens)[-1, 0])


def test_it_answers_what_the_generator_answers(speaker, talk):
    who, said = talk(rounds=5), []
    for r, question in enumerate(QUESTIONS):
        answer = who.ask(question + "?" * (r % 2))
        assert answer == expected(speaker, 5, QUESTIONS[: r + 1], said)
        said.append(answer)
    assert len(set(said)) > 1


def test_the_oldest_exchange_is_forgotten_but_not_the_caption(
    speaker, talk, monkeypatch
):
    begin, heard = speaker.begin, []

    def spy(inputs):
        heard.append(inputs["history"][0])
        return begin(inputs)

    monkeypatch.setattr(speaker, "begin", spy)
    who, test = talk(rounds=2), dialogs.encoded(rounds=2)
    said = [who.ask(question) for question in QUESTIONS]
    caption, exchange = map(test.vocabulary.decode, heard[-1])
    assert caption == test.vocabulary.decode(test.captions[2])
    assert exchange == f"{QUESTIONS[-2]} ? {said[-2]}".strip()


def test_unknown_words_are_told_and_long_questions_are_cut(talk):
    who = talk(features=lambda rows: FEATURES[rows])
    who.ask("Is the zebra's hat RED, zebra?")
    assert who.unknown == ["zebra", "'s", "hat", ","]
    for question in ("red " * 50, ""):
        assert isinstance(who.ask(question), str)
        assert who.unknown == []
