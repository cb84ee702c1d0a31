"""Speakers of models that exist are evaluated, as any are."""

from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.eager import run_eagerly
from tests.models.test_wrapped_speakers import MADE
from tests.models.test_wrapped_speakers import VOCABULARY
from tests.models.test_wrapped_speakers import D
from tfcap.decoding import Greedy
from tfcap.models import CausalLMSpeaker
from tfcap.models import RetrievalListener
from tfcap.text import evaluate_captions
from tfcap.training import Evaluator

#: Two batches, padded to lengths of their own.
CAPTIONS = [[[[5, 6, 2], [7, 2, -1]]], [[[8, 2], [-1, -1]], [[6, 2], [5, 2]]]]
HUMAN = [[[5, 6], [7]], [[8]], [[6], [5]]]


def pretrained():
    """GPT-2, of which id 0 is a word and the last one pads."""
    hub = pytest.importorskip("keras_hub").models
    backbone = hub.GPT2Backbone(
        VOCABULARY.size + 1,
        num_layers=1,
        num_heads=1,
        hidden_dim=D,
        intermediate_dim=D,
    )
    # Of a sure model, whose words differ.
    for weight in backbone.trainable_variables:
        weight.assign(keras.random.normal(weight.shape, stddev=2.0, seed=3))
    return CausalLMSpeaker(
        hub.GPT2CausalLM(backbone),
        prefix=keras.layers.Dense(D),
        bos=1,
        eos=2,
        pad=VOCABULARY.size,
    )


def without_padding(captions):
    rows = [[[w for w in row if w >= 0] for row in rows] for rows in captions]
    return [[row for row in each if row] for each in rows]


@pytest.mark.parametrize("make", [*MADE, pretrained])
def test_speakers_of_models_that_exist_are_evaluated(make):
    keras.utils.set_random_seed(0)
    speaker = make()
    vocabulary = SimpleNamespace(
        size=speaker.vocabulary_size,
        decode=lambda ids: " ".join(f"w{i}" for i in ids),
    )
    listener = RetrievalListener(vocabulary.size, units=D, embedding_units=D)
    batches = []
    for captions in CAPTIONS:
        captions = np.array(captions, "int32")
        captions[captions < 0] = speaker.pad
        rows = len(captions)
        batches.append(
            {
                "image": np.random.normal(size=(rows, 3, D)).astype("float32"),
                "question": np.full((rows, 2), 4, "int32"),
                "caption": captions,
            }
        )
    ragged = [
        {**batch, "caption": tf.ragged.constant(without_padding(captions))}
        for batch, captions in zip(batches, CAPTIONS)
    ]
    with run_eagerly():
        report = Evaluator(speaker, batches, listener, vocabulary=vocabulary)()
        as_ragged = Evaluator(speaker, ragged, listener, vocabulary=vocabulary)
        assert as_ragged().result() == report.result()
        greedy = Greedy(max_length=3)
        said = []
        for batch in batches:
            tokens = greedy.decode(speaker, speaker.begin(batch)).tokens
            said += [row[: [*row, 2].index(2)] for row in tokens.numpy()[:, 0]]
    assert report.captions == [vocabulary.decode(row) for row in said]
    human = [[vocabulary.decode(row) for row in rows] for rows in HUMAN]
    assert report.references == human
    scores = report.result()
    alone = evaluate_captions(report.captions, human, ["rouge_l"])
    assert scores["rouge_l"] == alone.scores["rouge_l"].corpus
    assert 1 <= scores["mean_rank"] <= 3 and scores["r@5"] == 100.0
