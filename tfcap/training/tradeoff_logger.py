"""Points of trade-off curves, for the TensorBoard plugin."""

import re
import warnings

import keras

from tensorboard_plugin_tfcap.summary import Sample
from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tfcap.training.workers import is_chief

#: Samples that are written of a report.
SAMPLES = 16


class TradeoffLogger(keras.callbacks.Callback):
    """Writes what a run measures, for the Trade-off tab of TensorBoard.

    After each evaluation, a point is on disk. It is written in a folder of
    its own, apart from that of `keras.callbacks.TensorBoard`, since one of
    TensorBoard's loaders reads one file of a folder at a time; and by the
    chief alone, where there are several workers.

    Args:
        directory: String or path, a folder of the run's own below the log
            directory, such as `"logs/psst/lambda=0.001,seed=0"`.
        method: String; runs of one method are joined to a curve.
        params: Dict of numbers and words by name, such as lambda: what the
            curve runs along, or what makes it another one. Defaults to none.
        seed: Integer or string. Optional.
        evaluate: Callable without arguments that returns a dict of numbers,
            or a report with a `result()` that does. Defaults to `None`: the
            logs of Keras that begin with `prefix` are written, of the epochs
            that have any.
        every: Integer, epochs between points. Defaults to `1`.
        prefix: String. Defaults to `"val_"`.
        **options: Further arguments of `TradeoffWriter`, such as `best_by`.

    Example:

    >>> import tempfile
    >>> callback = tfcap.training.TradeoffLogger(
    ...     tempfile.mkdtemp(), "mine", {"lambda": 0.001}, seed=0
    ... )
    >>> callback.on_epoch_end(0, {"loss": 1.0, "val_r_10": 60.0})
    """

    def __init__(
        self,
        directory,
        method,
        params=None,
        seed=None,
        evaluate=None,
        every=1,
        prefix="val_",
        **options,
    ):
        super().__init__()
        if every < 1:
            raise ValueError(
                f"`every` must be at least 1. Received: every={every}."
            )
        self.evaluate = evaluate
        self.every = every
        self.prefix = prefix
        self.writer = TradeoffWriter(directory, method, params, seed, **options)
        self._written = self._skipped = 0
        self._first_epoch = None

    def on_train_begin(self, logs=None):
        self._written = self._skipped = 0
        self._first_epoch = None

    def on_epoch_begin(self, epoch, logs=None):
        if self._first_epoch is None:
            self._first_epoch = epoch

    def on_epoch_end(self, epoch, logs=None):
        if (epoch + 1) % self.every:
            return
        # All workers evaluate, since that may take all of them.
        scores = (
            self.evaluate() if self.evaluate else _unfiled(logs, self.prefix)
        )
        if not (self.evaluate or scores):
            # Evaluations may be rarer than epochs, as by `validation_freq`.
            self._skipped += 1
            return
        self._written += 1
        if is_chief(self.model):
            write_report(self.writer, epoch + 1, scores)

    def on_train_end(self, logs=None):
        # A run that goes on may have written its points before.
        whole = self._first_epoch == 0
        if whole and self._skipped and not self._written:
            warnings.warn(
                f"`TradeoffLogger` has written no point: in {self._skipped} "
                f"epochs there were no logs that begin with {self.prefix!r}. "
                "Put the callback that evaluates before this one, and let it "
                "evaluate in epochs that `every` of this one divides.",
                RuntimeWarning,
                stacklevel=2,
            )
        self.writer.close()


def write_report(writer, step, report, images=None):
    """Writes a report: its figures, and captions if it has any.

    Args:
        writer: `TradeoffWriter`.
        step: Integer.
        report: Dict of numbers, or anything with a `result()` that returns
            one; a `SpeakerReport` has captions, too.
        images: Function from an image's row in the report to its pixels or
            `None`. Optional.

    Example:

    >>> import tempfile
    >>> from tensorboard_plugin_tfcap.summary import TradeoffWriter
    >>> with TradeoffWriter(tempfile.mkdtemp(), "mine") as writer:
    ...     tfcap.training.write_report(writer, 1, {"r@10": 60.0})
    """
    metrics = report if isinstance(report, dict) else report.result()
    writer.point(step, {k: v for k, v in metrics.items() if k != "count"})
    if hasattr(report, "captions"):
        writer.samples(step, report_samples(report, images))


def report_samples(report, images=None, count=SAMPLES):
    """The first captions of a report.

    Args:
        report: `SpeakerReport`.
        images: Function from an image's row in the report to its pixels or
            `None`, such as `tfcap.data.Photographs`, whose file names are
            shown, too. Optional.
        count: Integer, how many at most. Defaults to `16`.

    Returns:
        List of `tensorboard_plugin_tfcap.summary.Sample`.

    Example:

    >>> report = tfcap.training.SpeakerReport(
    ...     {}, [7], ["a dog"], [["A dog."]], np.ones(1), np.ones(1), {}, {}
    ... )
    >>> tfcap.training.report_samples(report)[0].caption
    'a dog'
    """
    names = getattr(images, "filenames", None)
    return [
        Sample(
            id=report.image_ids[row],
            caption=report.captions[row],
            rank=report.ranks[row],
            human=report.references[row],
            human_rank=report.human_ranks[row],
            image=images(row) if images else None,
            name=names[row] if names else "",
            scores={name: v[row] for name, v in report.each.items()},
        )
        for row in range(min(count, len(report)))
    ]


def _unfiled(logs, prefix):
    """Logs under the names of metrics: `val_r_10` is `r@10`."""
    return {
        re.sub(r"(^|_)r_(\d+)$", r"\1r@\2", name.removeprefix(prefix)): value
        for name, value in (logs or {}).items()
        if name.startswith(prefix)
    }
