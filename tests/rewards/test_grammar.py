import keras
import numpy as np
import pytest

import tests.testing as contract
from tests import captions
from tfcap.models import GrammarClassifier
from tfcap.rewards import Grammar

BATCH = captions.Batch()


def judge():
    keras.utils.set_random_seed(0)
    classifier = GrammarClassifier(captions.VOCABULARY.size, 6, 5)
    classifier({"caption": BATCH.tokens})
    table = classifier.embedding.embeddings
    table.assign(20.0 * table)
    return classifier


def test_values_are_of_what_is_said():
    rollout = captions.rollout(BATCH.tokens)

    def episode(rows):
        return captions.episode(BATCH.human[rows])

    # Packed sequences are not for XLA.
    on_host = keras.backend.backend() == "tensorflow"
    contract.check_reward(Grammar(judge()), rollout, episode, on_host)


def test_values_are_probabilities_of_being_well_formed():
    classifier, rollout = judge(), captions.rollout(BATCH.tokens)
    found = Grammar(classifier)(rollout, captions.episode())
    logits = keras.ops.convert_to_numpy(
        classifier.logits(rollout.tokens, rollout.mask)
    )
    wanted = 1 / (1 + np.exp(-logits))
    assert np.ptp(wanted) > 0.01
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_values_of_saying_nothing_are_0():
    rollout = captions.rollout(BATCH.tokens)
    silent = rollout._replace(mask=0 * rollout.mask)
    found = Grammar(judge())(silent, captions.episode())
    assert not np.any(found)


def test_a_classifier_reads_the_words_of_its_vocabulary():
    other, rollout = judge(), captions.rollout(BATCH.tokens)
    other.vocabulary_size = captions.VOCABULARY.size + 1
    with pytest.raises(ValueError, match="`classifier` must read the speaker"):
        Grammar(other)(rollout, captions.episode())


def test_a_classifier_must_have_logits():
    with pytest.raises(TypeError, match="`classifier` must.*'grammar'"):
        Grammar("grammar")
