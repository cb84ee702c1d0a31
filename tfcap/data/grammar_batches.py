"""Batches of captions and of what they become when they are corrupted."""

import functools

import numpy as np

from tfcap.data.caption_corruptions import CORRUPTIONS
from tfcap.data.caption_corruptions import corrupt_captions
from tfcap.data.step_pipeline import step_pipeline


class GrammarBatches:
    """Feeds captions, each beside a corrupted one, to a grammar classifier.

    As of `CaptionBatches`, the batch of a global step depends on seed and
    step alone. An epoch has each caption once, and corrupts it anew.

    Args:
        captions: `EncodedCaptions`. Captions without words are left out.
        batch_size: Integer, human captions in a batch, B.
        seed: Integer. Defaults to `0`.
        kinds: As those of `tfcap.data.corrupt_captions()`.

    Example:

    >>> split = tfcap.data.CaptionSplit(
    ...     [7, 9], [["A cat."], ["A dog!", "a dog"]], ["", ""], ["", ""]
    ... )
    >>> vocabulary = tfcap.data.build_caption_vocabulary(split, min_count=1)
    >>> captions = tfcap.data.EncodedCaptions.from_split(split, vocabulary, 4)
    >>> batches = tfcap.data.GrammarBatches(captions, batch_size=3)
    >>> inputs, labels = batches.batch(0)
    >>> inputs["caption"].shape, labels[0]
    ((3, 2, 4), array([1., 0.], dtype=float32))
    """

    def __init__(self, captions, batch_size, seed=0, kinds=tuple(CORRUPTIONS)):
        vocabulary = captions.vocabulary
        first = captions.references[..., 0]
        spoken = (first != vocabulary.pad) & (first != vocabulary.eos)
        self.captions = captions.references[spoken]
        self.words = np.arange(
            vocabulary.size - len(vocabulary.words), vocabulary.size
        )
        self.eos = vocabulary.eos
        self.batch_size = batch_size
        self.seed = seed
        self.kinds = tuple(kinds)
        if not 0 < batch_size <= len(self.captions):
            raise ValueError(
                "`batch_size` must be in 1..number of captions. Received: "
                f"batch_size={batch_size} with {len(self.captions)} captions."
            )
        # One order serves an epoch; steps may be made out of order.
        self._order = functools.lru_cache(maxsize=2)(self._draw_order)

    @property
    def steps_per_epoch(self):
        """Whole batches in an epoch; the rest waits for another order."""
        return len(self.captions) // self.batch_size

    def dataset(self, epochs=1, start_step=0):
        """Training batches from a global step to the end of the last epoch.

        Args:
            epochs: Integer, epochs of the whole run, those before
                `start_step` included. Defaults to `1`.
            start_step: Integer, first global step. Defaults to `0`.

        Returns:
            `tf.data.Dataset` of pairs: a dict of `caption` `(B, 2, T)`, int32,
            a human caption and a corrupted one, and labels `(B, 2)`, 1 and 0.
        """
        steps = epochs * self.steps_per_epoch
        return step_pipeline(self.batch, range(start_step, steps))

    def batch(self, step):
        """The training batch of a global step, as NumPy arrays."""
        epoch, place = divmod(int(step), self.steps_per_epoch)
        start = place * self.batch_size
        drawn = self._order(epoch)[start : start + self.batch_size]
        rng = np.random.default_rng([self.seed, 1, int(step)])
        captions = self.captions[drawn]
        corrupted, _ = self.corrupt(captions, rng)
        labels = np.tile(np.array([1.0, 0.0], "float32"), (len(drawn), 1))
        return {"caption": np.stack([captions, corrupted], axis=1)}, labels

    def corrupt(self, captions, rng):
        """`corrupt_captions()` with the words of these captions."""
        return corrupt_captions(captions, self.words, rng, self.kinds, self.eos)

    def _draw_order(self, epoch):
        rng = np.random.default_rng([self.seed, 0, epoch])
        return rng.permutation(len(self.captions))
