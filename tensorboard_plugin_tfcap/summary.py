"""Writes trade-off points for TensorBoard, with or without TensorFlow."""

import errno
import itertools
import json
import math
import os
from dataclasses import dataclass
from dataclasses import field

import numpy as np

from tensorboard_plugin_tfcap.claims import MOST_CLAIMS
from tensorboard_plugin_tfcap.claims import Claim
from tensorboard_plugin_tfcap.claims import claims_content
from tensorboard_plugin_tfcap.comparison import read_comparison
from tensorboard_plugin_tfcap.events import event_file
from tensorboard_plugin_tfcap.events import summary_event
from tensorboard_plugin_tfcap.metadata import COMPARISON_TAG
from tensorboard_plugin_tfcap.metadata import LARGEST_SAMPLES
from tensorboard_plugin_tfcap.metadata import LONGEST_TEXT
from tensorboard_plugin_tfcap.metadata import MOST_HUMAN
from tensorboard_plugin_tfcap.metadata import MOST_SAMPLES
from tensorboard_plugin_tfcap.metadata import POINT_TAG
from tensorboard_plugin_tfcap.metadata import REFERENCE_TAG
from tensorboard_plugin_tfcap.metadata import SAMPLES_TAG
from tensorboard_plugin_tfcap.metadata import VERSION
from tensorboard_plugin_tfcap.metadata import RecordError
from tensorboard_plugin_tfcap.metadata import short_text
from tensorboard_plugin_tfcap.other_tabs import scalar_values
from tensorboard_plugin_tfcap.other_tabs import settings_value
from tensorboard_plugin_tfcap.thumbnails import thumbnail
from tensorboard_plugin_tfcap.tradeoff.metric_names import grouped_name
from tensorboard_plugin_tfcap.tradeoff.metric_names import named_metric
from tensorboard_plugin_tfcap.written import filled_text
from tensorboard_plugin_tfcap.written import numbers
from tensorboard_plugin_tfcap.written import plain
from tensorboard_plugin_tfcap.written import setting
from tensorboard_plugin_tfcap.written import settings
from tensorboard_plugin_tfcap.written import small
from tensorboard_plugin_tfcap.written import text
from tensorboard_plugin_tfcap.written import texts

#: Most pictures of one step.
_MOST_PICTURES = 32


@dataclass(frozen=True)
class Sample:
    """A caption of one image, with its rank and human captions.

    Args:
        id: String or integer, the image, by which samples of two points are
            compared.
        rank: Number, rank of the image by the caption. Optional.
        human_rank: Number, rank of the image by a human caption. Optional.
        human: List of strings, human captions; the first ones are kept.
            Defaults to none.
        image: Array of shape `(height, width, 3)` or `(height, width)`,
            integers in `[0, 255]` or floats in `[0, 1]`, or a path of a file.
            Optional.
        scores: Dict of floats by name. Defaults to none.
        name: String, such as a file name, shown beside the id. Defaults to
            `""`.
        claims: List of `Claim`, at most 64; false ones are marked in the
            caption. Defaults to `None`: unknown.
        missing: List of strings, what the caption leaves out; the first 64 are
            kept. Defaults to none.
    """

    id: str | int
    caption: str
    rank: float | None = None
    human: list = field(default_factory=list)
    human_rank: float | None = None
    image: object = None
    scores: dict = field(default_factory=dict)
    name: str = ""
    claims: list[Claim] | None = None
    missing: list = field(default_factory=list)

    def content(self):
        """The sample as a record, without its picture."""
        about = {
            "id": str(self.id),
            "name": short_text(self.name),
            "caption": short_text(self.caption, LONGEST_TEXT),
            "rank": plain(self.rank),
            "human": [
                short_text(caption, LONGEST_TEXT)
                for caption in texts("human", self.human)[:MOST_HUMAN]
            ],
            "human_rank": plain(self.human_rank),
            "scores": {k: plain(v) for k, v in self.scores.items()},
        }
        if self.claims is not None:
            about["claims"] = claims_content(self.caption, self.claims)
        if self.missing:
            lacking = texts("missing", self.missing)[:MOST_CLAIMS]
            about["missing"] = list(map(short_text, lacking))
        return about


class TradeoffWriter:
    """Writes the points of one run for TensorBoard.

    A run is one training: one method, with one value of each parameter and
    one seed. A point is an evaluation at one step of it. The plugin draws the
    last or best point of each run, and joins those of a method.

    Everything is on disk when a method returns. Use one writer for each
    folder: some of TensorBoard's loaders read one file at a time.

    Args:
        directory: String or path, the run's folder below the log directory.
            Made if absent.
        params: Dict of numbers and words by name, such as lambda. Defaults to
            none.
        metrics: Iterable of dicts of `name` and what of `title`, `better`
            (`"higher"` or `"lower"`) and `role` (`"naturalness"`, `"recall"`
            or `"other"`) the name does not tell. Defaults to none: names of
            usual measures are known.
        best_by: String, a metric with a known direction: each point carries
            the best one so far, which is then known even where TensorBoard
            leaves out points. Optional.
        split: String, the data that are measured; each split has a curve of
            its own. Optional.
        title: String, the method's title. Defaults to `None`: its name.
        scalars: Boolean, whether points are written as scalars and HParams,
            too, for TensorBoard's other tabs. Defaults to `True`.

    Example:

    >>> import tempfile
    >>> from tensorboard_plugin_tfcap.summary import TradeoffWriter
    >>> folder = tempfile.mkdtemp()
    >>> with TradeoffWriter(folder, "mine", {"lambda": 0.001}) as writer:
    ...     writer.point(0, {"cider_d": 1.1, "r@10": 70.0})
    """

    def __init__(
        self,
        directory,
        method: str,
        params=None,
        seed=None,
        metrics=(),
        best_by=None,
        split=None,
        title=None,
        scalars=True,
    ):
        self._scalars = scalars
        self._about = {
            "method": filled_text("method", method),
            "params": settings(params or {}),
            "seed": None if seed is None else setting("seed", seed),
            "split": None if split is None else filled_text("split", split),
            **({} if title is None else {"title": text("title", title)}),
        }
        self._named = {m.name: m for m in map(_described, metrics)}
        self._best_by, self._best = best_by, None
        if best_by is not None and not self._metric(best_by).sign:
            raise ValueError(
                "`best_by` must be a metric with a known direction. Received: "
                f"best_by={best_by!r}. Tell it: "
                f"metrics=[{{'name': {best_by!r}, 'better': 'lower'}}]."
            )
        self._described = set()
        self._directory, self._file = os.fspath(directory), None

    def point(self, step: int, metrics, training=None):
        """Writes the metrics of a step.

        Args:
            metrics: Dict of numbers by name.
            training: Dict of numbers by name that training logged, such as
                the loss: written for TensorBoard's Time Series alone.
                Optional.

        NaN and infinity are logged as such, and the tab names such runs.

        Raises:
            TypeError: If a metric is an array, or its name is not a string.
            ValueError: If there is no number, or more than 400.
        """
        values = numbers(metrics)
        finite = {n: v for n, v in values.items() if math.isfinite(v)}
        record = {**self._about, "metrics": finite}
        if len(finite) < len(values):
            record["diverged"] = [n for n in values if n not in finite]
        record["best"] = self._so_far(int(step), finite)
        known = [self._metric(name) for name in values]
        others = []
        if self._scalars:
            grouped = {grouped_name(n): v for n, v in values.items()}
            others += scalar_values(grouped, training or {})
            if POINT_TAG not in self._described:
                others.append(settings_value(self._about))
        record = small(_json(record))
        self._write("point", POINT_TAG, step, record, known, others)

    def samples(self, step: int, samples):
        """Writes captions of some images at a step, the first 200.

        Raises:
            ValueError: If they exceed 8 MiB without their pictures.
        """
        items, pictures = [], []
        for sample in itertools.islice(samples, MOST_SAMPLES):
            number = None
            if sample.image is not None and len(pictures) < _MOST_PICTURES:
                number = len(pictures)
                pictures.append(thumbnail(sample.image))
            items.append({**sample.content(), "image": number})
        record = _json({"items": items})
        if len(record) > LARGEST_SAMPLES:
            raise ValueError(
                f"`samples` must be at most {LARGEST_SAMPLES} bytes as JSON, "
                f"without their pictures. Received: {len(items)} samples of "
                f"{len(record)} bytes. Write fewer a step, or shorter ones."
            )
        blobs = np.array([record, *pictures], dtype=object)
        self._write("samples", SAMPLES_TAG, step, blobs)

    def close(self):
        """Closes the file; later points go into another one."""
        if self._file is not None:
            self._file.close()
            self._file, self._described = None, set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _metric(self, name):
        return self._named.get(name) or named_metric(name)

    def _so_far(self, step, numbers):
        by = self._best_by
        if by is None or by not in numbers:
            return self._best
        sign = self._metric(by).sign
        old = self._best
        if old is None or sign * numbers[by] > sign * old["metrics"][by]:
            self._best = {"by": by, "step": step, "metrics": numbers}
        return self._best

    def _write(self, kind, tag, step, value, metrics=(), others=()):
        # TensorBoard reads metadata of a tag from its first record only.
        first = tag not in self._described
        metrics = metrics if first else None
        event = summary_event(kind, tag, step, value, metrics, others)
        self._described.add(tag)
        if self._file is None:
            # Opened late, so that no empty file is left.
            self._file = event_file(self._directory)
        try:
            self._file.add_event(event)
            self._file.flush()
        except Exception as error:
            # Where TensorFlow writes the files, errors are its own.
            if "No space left" not in str(error):
                raise
            raise OSError(
                errno.ENOSPC,
                "`directory` must be on a disk with room. Received: "
                f"directory={self._directory!r}, and no space left on device. "
                "What was written is kept. Make room, and run the same command "
                "again.",
            ) from error


def write_references(directory, references):
    """Writes published results, which are drawn as hollow marks.

    Args:
        references: Iterable of dicts of `title`, `metrics`, a dict of numbers
            by name, and, optionally, `source` and `data`, strings.

    Raises:
        ValueError: If one lacks a title or metrics.

    Example:

    >>> import tempfile
    >>> from tensorboard_plugin_tfcap.summary import write_references
    >>> found = {"title": "SR-PL", "metrics": {"cider_d": 1.17, "r@10": 80.1}}
    >>> write_references(tempfile.mkdtemp(), [{**found, "source": "COCO"}])
    """
    values = [_json(_reference(reference)) for reference in references]
    file = event_file(os.fspath(directory))
    for number, value in enumerate(values):
        # TensorBoard always keeps the last record of a tag.
        tag = f"{REFERENCE_TAG}/{number}"
        file.add_event(summary_event("reference", tag, 0, value, ()))
    file.close()


def write_comparison(
    directory, titles=None, presets=(), references=(), data=""
):
    """Writes how a log is presented: titles, named figures, references.

    A log may contain several, such as those of several sweeps.

    Args:
        titles: Dict of titles by method, in the order of the legend. Defaults
            to none: methods are shown by their names.
        presets: Iterable of dicts, named figures. Each has `id`, `title` and
            `y`, a metric, and either `x`, a metric, with a line `along` one of
            these axes at a `value`; or `panels`, dicts of `title` and `x`,
            with `usual`, the value of a parameter to draw. A panel with a
            `parameter` draws `y` against it, at the greatest level of `x` that
            all curves reach; its `ends` name methods that stand for values of
            it.
        references: Iterable of dicts, as of `write_references()`, drawn on
            request, unless their `data` is another data set than the log's.
        data: String, the data set of the log's points. Defaults to `""`:
            unknown.

    Raises:
        ValueError: If a preset or a reference is incomplete.

    Example:

    >>> import tempfile
    >>> from tensorboard_plugin_tfcap.summary import write_comparison
    >>> write_comparison(
    ...     tempfile.mkdtemp(),
    ...     titles={"mine": "My method", "base": "Baseline"},
    ...     presets=[
    ...         {"id": "table1", "title": "Recall at CIDEr-D = 1.2"}
    ...         | {"x": "cider_d", "y": "r@10", "along": "x", "value": 1.2}
    ...     ],
    ... )
    """
    value = _json(
        {
            "titles": dict(titles or {}),
            "presets": list(presets),
            "references": list(map(_reference, references)),
            "data": text("data", data),
        }
    )
    try:
        read_comparison(value)
    except RecordError as error:
        raise ValueError(
            "`titles`, `presets` and `references` must be as documented. "
            f"Received: a comparison that {error}."
        ) from error
    file = event_file(os.fspath(directory))
    file.add_event(summary_event("comparison", COMPARISON_TAG, 0, value, ()))
    file.close()


def _described(metric):
    """Makes a metric from a dict."""
    keys = {"name", "title", "better", "role"}
    if "name" not in metric or set(metric) - keys:
        raise ValueError(
            "`metrics` must be dicts with `name` and, optionally, `title`, "
            f"`better` and `role`. Received: {metric!r}."
        )
    return named_metric(**metric)


def _reference(reference):
    title, metrics = reference.get("title"), reference.get("metrics")
    if not title or not metrics:
        raise ValueError(
            "`references` must have a `title` and `metrics`, numbers by name. "
            f"Received: {reference!r:.200}."
        )
    values = {text("metrics", k): plain(v) for k, v in metrics.items()}
    if None in values.values():
        raise ValueError(
            "`references` must have finite numbers as `metrics`. Received: "
            f"{metrics!r:.200} of {title!r:.80}. Leave out the others."
        )
    return {
        "title": text("title", title),
        "source": text("source", reference.get("source", "")),
        "data": text("data", reference.get("data", "")),
        "metrics": values,
    }


def _json(content):
    return json.dumps(
        {"version": VERSION, **content}, allow_nan=False, ensure_ascii=False
    ).encode()
