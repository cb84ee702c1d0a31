"""Accuracy of a grammar classifier on captions and corrupted ones."""

import numpy as np

from reproduce.grammar_batches import GrammarBatches


def grammar_accuracy(
    classifier, captions, seed: int = 0, batch_size: int = 500
):
    """Share of captions that a classifier takes for what they are, by kind.

    Args:
        captions: `tfcap.data.EncodedCaptions`, best of images that were not
            trained on. Each caption is judged as it is and corrupted once.

    Returns:
        Dict of floats in `[0, 1]`: `"human"`, each
        kind of corruption that occurs, and `"mean"`, the mean of
        `"human"` and of all that is corrupted.

    Example:

    >>> split = tfcap.data.CaptionSplit([7], [["A red cat."]], [""], [""])
    >>> vocabulary = tfcap.data.build_vocabulary(split, min_count=1)
    >>> captions = tfcap.data.EncodedCaptions.from_split(split, vocabulary, 9)
    >>> classifier = tfcap.models.GrammarClassifier(vocabulary.size, 4)
    >>> from reproduce.grammar_accuracy import grammar_accuracy
    >>> found = grammar_accuracy(classifier, captions)
    >>> 0.0 <= found["mean"] <= 1.0
    True
    """
    batches = GrammarBatches(captions, batch_size=1, seed=seed)
    human = batches.captions
    corrupted, kinds = batches.corrupt(human, np.random.default_rng(seed))
    pairs = {"caption": np.stack([human, corrupted], axis=1)}
    logits = classifier.predict(pairs, batch_size=batch_size, verbose=0)
    right, wrong = logits[:, 0] > 0, logits[:, 1] <= 0
    accuracy = {"human": right.mean()}
    for kind in batches.kinds:
        if np.any(kinds == kind):
            accuracy[kind] = wrong[kinds == kind].mean()
    accuracy["mean"] = (right.mean() + wrong.mean()) / 2
    return {name: float(value) for name, value in accuracy.items()}
