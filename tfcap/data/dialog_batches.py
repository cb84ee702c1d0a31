"""Batches of dialogs, functions of seed and step."""

import numpy as np
from numpy.typing import NDArray

from tfcap.data.mapped_features import check_features
from tfcap.data.mapped_features import image_entries
from tfcap.data.neighbors import draw_in_batch
from tfcap.data.neighbors import draw_wrong_options
from tfcap.data.step_pipeline import RowBatches


class DialogBatches(RowBatches):
    """Feeds dialogs with their images to a model, resumable at any step.

    The batch of global step `s` depends on `(seed, s)` alone: the order of
    the dialogs on the seed and the epoch, the negatives on the seed and the
    step. A run that is resumed at step `s` with `dataset(start_step=s)` gets
    the batches of the uninterrupted one.

    A batch is a dict with `image` `(B, P, D)`, `question` `(B, R, Tq)`,
    `history` `(B, R, Th)` and `answer` `(B, R, Ta)`; with negatives, a pair:
    the dict with `options` `(B, R, 1 + W + K, Ta)`, and labels
    `(B, R, 1 + W + K)`. Where images of a feature file have fewer
    positions than others, there is an `image_mask` `(B, P)`.

    With negatives, a question's candidates are the truth, then `negatives` of
    its own wrong options, then `in_batch_negatives` of the wrong options drawn
    for the other questions of the batch. Labels are 1 for the truth, 0 for a
    wrong answer, -1 for entries to ignore: a "wrong" answer that equals the
    truth, and absent rounds.

    Args:
        dialogs: `EncodedDialogs` of M dialogs.
        features: Image features in the order of the dialogs: an array of
            shape `(M, P, D)`, an object that returns one when indexed with an
            array of rows, such as `load_features(lazy=True)`, or a function
            of such an array.
        batch_size: Integer, dialogs in a batch, B.
        seed: Integer. Defaults to `0`.
        negatives: Integer, W, number of a question's own wrong options.
            Defaults to `0`: no candidates and no labels.
        in_batch_negatives: Integer, K, number of those of other questions.
            Defaults to `0`.
        shuffle: Boolean. Defaults to `True`.

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, sections 3.2 and 4. The
      authors' code reads the truth at a wrong index and draws it as a negative
      for a fifth of the questions; here it never is a negative.
    """

    def __init__(
        self,
        dialogs,
        features,
        batch_size: int,
        seed: int = 0,
        negatives: int = 0,
        in_batch_negatives: int = 0,
        shuffle: bool = True,
    ):
        self.dialogs = dialogs
        self.features = features
        self.negatives = negatives
        self.in_batch_negatives = in_batch_negatives
        super().__init__(len(dialogs), batch_size, seed, shuffle, "dialogs")
        self._check()

    def __len__(self):
        return len(self.dialogs)

    def batch(self, step):
        """Returns the training batch of a global step, as NumPy arrays."""
        rows = self.rows(step)
        inputs = self.inputs(rows)
        if not self.negatives:
            return inputs
        inputs["options"], labels = self.candidates(rows, self.rng(1, step))
        return inputs, labels

    def inputs(self, rows: NDArray) -> dict:
        """Returns the inputs of some dialogs, as NumPy arrays.

        Args:
            rows: Integer array of shape `(B,)`.
        """
        return {
            **image_entries("image", self.features, rows),
            "question": self.dialogs.question(rows),
            "history": self.dialogs.history(rows),
            "answer": self.dialogs.answer(rows),
        }

    def candidates(self, rows: NDArray, rng: np.random.Generator) -> NDArray:
        """Returns candidates of some dialogs' questions, and their labels.

        Args:
            rows: Integer array of shape `(B,)`.
            rng: NumPy random generator.

        Returns:
            Integer array `(B, R, 1 + W + K, Ta)` and float array
            `(B, R, 1 + W + K)`.
        """
        data = self.dialogs
        shape = data.answer_index[rows].shape
        truth = data.answer_index[rows].reshape(-1)
        gt = data.gt_index[rows].reshape(-1)
        present = (truth >= 0) & (gt >= 0)
        options = data.options[rows].reshape(len(gt), -1)
        wrong = draw_wrong_options(options, gt, self.negatives, rng)
        drawn = [truth[:, None], wrong]
        drawn = [np.where(present[:, None], ids, -1) for ids in drawn]
        if self.in_batch_negatives:
            size = self.in_batch_negatives
            drawn.append(draw_in_batch(wrong, present, size, rng))
        ids = np.concatenate(drawn, axis=-1)
        words = data.answers[ids] * (ids >= 0)[..., None].astype(np.int32)
        labels = self._labels(words)
        return words.reshape(*shape, *words.shape[1:]), labels.reshape(
            *shape, -1
        )

    def _labels(self, words):
        """1, 0 or -1 of candidates `(Q, N, Ta)`, the truth first."""
        repeats = np.all(words == words[:, :1], axis=-1)
        # An answer has EOS at least: an empty row is not there.
        ignored = repeats | ~words.any(axis=-1)
        labels = np.where(ignored, -1.0, 0.0).astype(np.float32)
        labels[:, 0] = np.where(words[:, 0].any(axis=-1), 1.0, -1.0)
        labels[labels[:, 0] < 0] = -1.0
        return labels

    def _check(self):
        check_features(self.features, len(self.dialogs), "dialogs")
        width = self.dialogs.options.shape[-1]
        others = self.in_batch_negatives
        if not bool(others) <= self.negatives < max(width, 1):
            raise ValueError(
                "`negatives` must be less than the number of options, and at "
                "least 1 if `in_batch_negatives` are drawn from them. "
                f"Received: negatives={self.negatives} of {width} options, "
                f"in_batch_negatives={others}."
            )
