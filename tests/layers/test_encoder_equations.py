"""Equations of the dialog encoders, by loops."""

import numpy as np

from tfcap.layers import HCIAEEncoder
from tfcap.layers import HREAEncoder
from tfcap.layers import LateFusionEncoder
from tfcap.layers import MemoryNetworkEncoder

RNG = np.random.default_rng(0)
QUESTION = RNG.normal(size=(2, 3, 4, 5)).astype("float32")
HISTORY = RNG.normal(size=(2, 3, 6, 5)).astype("float32")
IMAGE = RNG.normal(size=(2, 7, 8)).astype("float32")


def attend(layer, query, memory):
    """One query over one memory: equations 1 and 2."""
    wq, b = layer.project_query.get_weights()
    (wm,), (wa,) = layer.project_memory.get_weights(), layer.score.get_weights()
    z = np.array([np.tanh(m @ wm + query @ wq + b) @ wa[:, 0] for m in memory])
    weights = np.exp(z) / np.exp(z).sum()
    return sum(w * m for w, m in zip(weights, memory)), weights


def test_equations_one_to_three():
    encode = HCIAEEncoder(4, output_units=3, return_attention=True)
    encoding, attention = encode(QUESTION, HISTORY, IMAGE)
    asked = np.asarray(encode.read_question(QUESTION)[0])
    said = np.asarray(encode.read_history(HISTORY))
    wv, bv = encode.project_image.get_weights()
    we, be = encode.project.get_weights()
    for b in range(2):
        seen = np.tanh(IMAGE[b] @ wv + bv)
        for r in range(3):
            mq = asked[b, r]
            mh, rows = attend(encode.attend_history, mq, said[b, : r + 1])
            query = np.concatenate([mq, mh])
            v, positions = attend(encode.attend_image, query, seen)
            e = np.tanh(np.concatenate([mq, mh, v]) @ we + be)
            np.testing.assert_allclose(encoding[b, r], e, atol=1e-5)
            np.testing.assert_allclose(
                attention["history"][b, r, : r + 1], rows, atol=1e-5
            )
            np.testing.assert_allclose(
                attention["image"][b, r], positions, atol=1e-5
            )


def test_dropout_falls_on_the_image_the_query_and_what_is_fused():
    encode, seen = HCIAEEncoder(units=5, dropout=0.5), []

    def drop(inputs, training):
        seen.append((tuple(inputs.shape), training))
        return inputs

    encode.drop = drop
    words = np.ones((2, 3, 5, 4), "float32")
    encode(words, words, np.ones((2, 9, 6), "float32"), training=True)
    shapes = [(2, 9, 5), (2, 3, 10), (2, 3, 15)]
    assert seen == [(shape, True) for shape in shapes]


def test_facts_are_weighed_by_inner_products():
    encode = MemoryNetworkEncoder(4, return_attention=True)
    encoding, attention = encode(QUESTION, HISTORY, IMAGE)
    asked = np.asarray(encode.read_question(QUESTION)[0])
    facts = np.asarray(encode.read_history(HISTORY))
    (wv, bv), (wq, bq), (wf, bf), (we, be) = (
        x.get_weights()
        for x in (
            encode.project_image,
            encode.project_query,
            encode.project_fact,
            encode.project,
        )
    )
    for b in range(2):
        seen = np.tanh(IMAGE[b] @ wv + bv).mean(0)
        for r in range(3):
            query = np.tanh(np.concatenate([asked[b, r], seen]) @ wq + bq)
            scores = np.exp(facts[b, : r + 1] @ query)
            weights = scores / scores.sum()
            fact = np.tanh((weights @ facts[b, : r + 1]) @ wf + bf)
            np.testing.assert_allclose(
                encoding[b, r], np.tanh((query + fact) @ we + be), atol=1e-5
            )
            np.testing.assert_allclose(
                attention["history"][b, r, : r + 1], weights, atol=1e-5
            )


def test_the_history_is_read_as_one_text():
    words = np.array([6, 2, 4])
    mask = np.tile(np.arange(6) < words[:, None], (2, 1, 1))
    encode = LateFusionEncoder(4)
    encoding = np.asarray(encode(QUESTION, HISTORY, IMAGE, history_mask=mask))
    wv, bv = encode.project_image.get_weights()
    we, be = encode.project.get_weights()
    seen = np.tanh(IMAGE[0] @ wv + bv).mean(0)
    asked = np.asarray(encode.read_question(QUESTION)[0])[0]
    for r in range(3):
        rows = [HISTORY[0, i, : words[i]] for i in range(r + 1)]
        said = encode.read_history(np.concatenate(rows)[None])[0, -1]
        fused = np.concatenate([asked[r], said, seen])
        np.testing.assert_allclose(
            encoding[0, r], np.tanh(fused @ we + be), atol=1e-5
        )


def test_there_are_no_attention_weights():
    encode = LateFusionEncoder(4, return_attention=True)
    question, image = np.zeros((1, 2, 3, 5)), np.zeros((1, 1, 6))
    assert encode(question, question, image)[1] == {}


def test_the_image_is_read_with_every_word():
    encode = HREAEncoder(4, return_state=True)
    _, (h, _) = encode(QUESTION, HISTORY, IMAGE)
    wv, bv = encode.project_image.get_weights()
    seen = np.tanh(IMAGE @ wv + bv).mean(1)[:, None, None]
    words = np.concatenate([QUESTION, np.tile(seen, (1, 3, 4, 1))], -1)
    wanted, _ = encode.read_question(words.astype("float32"))
    np.testing.assert_allclose(h, wanted, atol=1e-5)


def test_a_round_remembers_earlier_questions():
    encode, question = HREAEncoder(4), QUESTION.copy()
    before = np.asarray(encode(QUESTION, HISTORY, IMAGE))
    question[:, 0] += 1
    after = np.asarray(encode(question, HISTORY, IMAGE))
    assert np.abs(before - after)[0, 2].max() > 1e-4
