import keras
import numpy as np

from reproduce.grammar_accuracy import grammar_accuracy
from reproduce.grammar_batches import CORRUPTIONS
from reproduce.grammar_batches import GrammarBatches
from tests.data.tiny_captions import tiny_captions
from tfcap.models import GrammarClassifier

CAPTIONS = tiny_captions()


class Sayer(keras.Model):
    """Takes for well formed what stands in a list."""

    def __init__(self, known):
        super().__init__()
        self.known = np.array(known)

    def call(self, inputs):
        same = inputs["caption"][..., None, :] == self.known
        known = keras.ops.any(keras.ops.all(same, axis=-1), axis=-1)
        return keras.ops.cast(known, "float32") - 0.5


def test_who_knows_all_captions_is_right():
    human = CAPTIONS.references.reshape(-1, 6)
    found = grammar_accuracy(Sayer(human), CAPTIONS)
    assert set(found) <= {"human", "mean", *CORRUPTIONS} and len(found) > 4
    assert set(found.values()) == {1.0}


def test_who_knows_none_takes_all_for_corrupted():
    found = grammar_accuracy(Sayer([[0] * 6]), CAPTIONS)
    assert found.pop("human") == 0.0 and found.pop("mean") == 0.5
    assert set(found.values()) == {1.0}


def test_a_classifier_learns_to_tell_corrupted_captions():
    keras.utils.set_random_seed(0)
    batches = GrammarBatches(CAPTIONS, 26)
    classifier = GrammarClassifier(CAPTIONS.vocabulary.size, 32, 16)
    classifier.compile(
        keras.optimizers.Adam(0.01),
        keras.losses.BinaryCrossentropy(from_logits=True),
    )
    before = grammar_accuracy(classifier, CAPTIONS)["mean"]
    classifier.fit(batches.dataset(epochs=60), shuffle=False, verbose=0)
    after = grammar_accuracy(classifier, CAPTIONS, seed=9)["mean"]
    assert after > 0.85 > before
