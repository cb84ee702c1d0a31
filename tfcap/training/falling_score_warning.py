"""Tells when a speaker loses what it had learned."""

import warnings

import keras


class FallingScoreWarning(keras.callbacks.Callback):
    """Warns when the score of greedy captions keeps falling.

    A speaker that is reinforced too early, or in too large steps, soon says
    worse things, is rewarded for none of them, and does not come back. Reads
    what `tfcap.training.Evaluator` logs, so put it behind that, and
    warns once for each time that evaluations in a row were worse than the one
    before; with `start`, also when they stay below it, as those do that fall
    at once and go up and down there. Epochs that do not log the score are not
    evaluations.

    What was seen is not part of a checkpoint: a run that is resumed counts
    from its first evaluation on.

    Args:
        monitor: String, name of the score in the logs, better when higher.
            Defaults to `"val_cider_d"`.
        patience: Integer, number of evaluations in a row. Defaults to `3`.
        start: Float, the score before training. Defaults to `None`, unknown.
        min_delta: Float, by how much an evaluation must be worse to count.
            Defaults to `0.0`.

    Example:

    >>> callback = tfcap.training.FallingScoreWarning(patience=2, start=0.9)
    """

    def __init__(
        self, monitor="val_cider_d", patience=3, start=None, min_delta=0.0
    ):
        super().__init__()
        if not isinstance(patience, int) or patience < 1:
            raise ValueError(
                "`patience` must be a positive integer. Received: "
                f"patience={patience}."
            )
        if min_delta < 0:
            raise ValueError(
                "`min_delta` must be 0 or more. Received: "
                f"min_delta={min_delta}."
            )
        self.monitor = monitor
        self.patience = patience
        self.start = start
        self.min_delta = min_delta
        self._forget()

    def _forget(self):
        self._scores = [] if self.start is None else [float(self.start)]
        self._worse = 0
        self._names = ()

    def on_train_begin(self, logs=None):
        self._forget()

    def on_epoch_end(self, epoch, logs=None):
        self._names = sorted(logs or {})
        if self.monitor not in self._names:
            return
        score = float(logs[self.monitor])
        held_against = self._scores[-1:]
        if self.start is not None:
            held_against.append(self.start)
        worse = any(score < than - self.min_delta for than in held_against)
        self._worse = self._worse + 1 if worse else 0
        self._scores.append(score)
        if self._worse == self.patience:
            self._warn()

    def on_train_end(self, logs=None):
        known = 0 if self.start is None else 1
        if self._names and len(self._scores) == known:
            warnings.warn(
                f"`{self.monitor}` was never logged, so nobody watched it. "
                f"Received: logs of {self._names}. Put the callback that "
                "evaluates before this one, or give another `monitor`.",
                RuntimeWarning,
                stacklevel=2,
            )

    def _warn(self):
        last = self._scores[-self.patience - 1 :]
        fell = all(after < before for before, after in zip(last, last[1:]))
        what = "falling" if fell else "falling, or below what it began with,"
        values = ", ".join(f"{score:.4g}" for score in last)
        if self.start is not None:
            values += f"; {self.start:.4g} before training"
        warnings.warn(
            f"`{self.monitor}` has been {what} for {self.patience} "
            f"evaluations ({values}): the speaker seems to lose what it had "
            "learned. Train it longer by maximum likelihood first, lower the "
            "learning rate, enlarge the batch or draw more samples, or hold it "
            "with a term of TeacherForcing or a reward of KLPenalty.",
            RuntimeWarning,
            stacklevel=3,
        )
