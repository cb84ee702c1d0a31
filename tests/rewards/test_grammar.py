import keras
import numpy as np
import pytest

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


def test_values_are_probabilities_of_being_well_formed():
    classifier, rollout = judge(), captions.rollout(BATCH.tokens)
    reward = Grammar(classifier)
    found = reward(rollout, captions.episode())
    logits = classifier.logits(rollout.tokens, rollout.mask)
    wanted = 1 / (1 + np.exp(-keras.ops.convert_to_numpy(logits)))
    assert np.ptp(wanted) > 0.01
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    silent = rollout._replace(mask=0 * rollout.mask)
    assert not np.any(reward(silent, captions.episode()))
    # Packed sequences are not for XLA.
    captions.check(reward, keras.backend.backend() == "tensorflow")


def test_what_cannot_judge_is_refused():
    other, rollout = judge(), captions.rollout(BATCH.tokens)
    other.vocabulary_size = captions.VOCABULARY.size + 1
    with pytest.raises(ValueError, match="`classifier` must have the speaker"):
        Grammar(other)(rollout, captions.episode())
    with pytest.raises(TypeError, match="`classifier` must.*'grammar'"):
        Grammar("grammar")
