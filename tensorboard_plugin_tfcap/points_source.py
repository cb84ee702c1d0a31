"""Points of a log that a `TradeoffWriter` wrote."""

import functools

from tensorboard_plugin_tfcap.checkpoints import harm_notices
from tensorboard_plugin_tfcap.checkpoints import lacking_notices
from tensorboard_plugin_tfcap.checkpoints import sampled_notices
from tensorboard_plugin_tfcap.comparison import Comparison
from tensorboard_plugin_tfcap.comparison import read_comparison
from tensorboard_plugin_tfcap.comparison import read_reference
from tensorboard_plugin_tfcap.dataset import Dataset
from tensorboard_plugin_tfcap.dataset import all_metrics
from tensorboard_plugin_tfcap.dataset import best_metric
from tensorboard_plugin_tfcap.log import WHOLE
from tensorboard_plugin_tfcap.metadata import PLUGIN_NAME
from tensorboard_plugin_tfcap.metadata import POINT_TAG
from tensorboard_plugin_tfcap.metadata import RecordError
from tensorboard_plugin_tfcap.metadata import decode_content
from tensorboard_plugin_tfcap.notices import Notices
from tensorboard_plugin_tfcap.records import read_point

#: Readers of records by kind; points are read with more arguments.
_RECORDS = {
    "point": read_point,
    "reference": read_reference,
    "comparison": read_comparison,
}
#: Cached: runs of a sweep have equal metadata.
_content = functools.lru_cache(256)(decode_content)


class PointsSource:
    """Reads the points that a `TradeoffWriter` wrote."""

    name = "points"

    def __init__(self, log):
        self._log = log
        self._tensors = log.tensors()
        self._blobs = log.blobs()

    def __len__(self):
        runs = self._tensors.values()
        return sum(any(map(_is_point, tags.values())) for tags in runs)

    def revision(self):
        """A text that changes with the log."""
        return self._log.revision(self._tensors, self._blobs)

    def about(self, query):
        """Parts of a query on which the data set depends."""
        if query.at == "best":
            return query.at, query.by, query.higher, query.lower
        return (query.at,) if query.at == "common" else ()

    def dataset(self, query) -> Dataset:
        """Every run's last or best point, and the others where asked for."""
        notices, described, tags = Notices(), {}, {}
        for run, listed in self._tensors.items():
            for tag, series in listed.items():
                try:
                    content = _content(series.plugin_content)
                except RecordError as error:
                    notices.add(run, f"has a summary {tag!r:.80} that {error}")
                    continue
                tags[run, tag] = content.kind
                described |= content.metrics
        points, references = [], []
        comparison = Comparison()
        for (run, tag), record in self._records(tags).items():
            if isinstance(record, RecordError):
                notices.add(run, record)
            elif tags[run, tag] == "reference":
                references.append(record)
            elif tags[run, tag] == "comparison":
                comparison = comparison.joined(record)
            else:
                points.append(record)
        metrics = all_metrics(points, described)
        sentences = [*self._log.damage, *notices.sentences()]
        sentences += harm_notices(points)
        histories = {}
        if query.at == "common":
            histories = self._histories([point.run for point in points])
        if query.at == "best" and points:
            by = best_metric(metrics, query)
            points, not_best = self._best(points, by)
            sentences += not_best
        return Dataset(
            self.name,
            self.revision(),
            points,
            metrics,
            references,
            sentences,
            comparison,
            histories,
        )

    def _records(self, tags):
        """The last record of each series, or why it cannot be read."""

        def make(keys):
            folders, names = (sorted(set(some)) for some in zip(*keys))
            data = self._log.read_tensors(1, folders, names)
            return {
                (run, tag): self._record(tags[run, tag], run, tag, datum)
                for run, tag in keys
                for datum in data.get(run, {}).get(tag, [])[-1:]
            }

        wanted = [key for key in sorted(tags) if tags[key] in _RECORDS]
        revisions = {key: self._revision(*key) for key in wanted}
        return self._log.results(("points last",), revisions, make)

    def _record(self, kind, run, tag, datum):
        try:
            if kind == "point":
                return self._point(run, tag, datum)[0]
            return _RECORDS[kind](_text(datum))
        except RecordError as error:
            return error

    def _revision(self, run, tag):
        series = self._tensors[run][tag]
        return series.max_step, series.max_wall_time, run in self._blobs

    def _histories(self, runs, downsample=WHOLE):
        """Lists of points in the order of steps, by run.

        The best points that records carry are among them, also of steps that
        TensorBoard has left out.
        """
        places = {self._place(run): run for run in runs}
        places = {k: run for k, run in places.items() if k is not None}
        if not places:
            return {}
        # All at once: each request is a round trip.
        folders, tags = (sorted(set(names)) for names in zip(*places))
        data = self._log.read_tensors(downsample, folders, tags)
        histories = {}
        for (folder, tag), run in places.items():
            points, best = {}, {}
            for datum in data.get(folder, {}).get(tag, []):
                try:
                    point, known = self._point(folder, tag, datum)
                except RecordError:
                    # `dataset()` reports such records.
                    continue
                points[datum.step] = point
                if known is not None and downsample == WHOLE:
                    best[known[0].step] = known[0]
            points = {**best, **points}
            histories[run] = [points[step] for step in sorted(points)]
        return histories

    def _best(self, points, by):
        """The best step of each run, and notices."""

        def make(runs):
            best = {}
            for run, steps in self._histories(runs).items():
                known = [p for p in steps if by.name in p.metrics]
                value = lambda p: by.sign * p.metrics[by.name]  # noqa: E731
                best[run] = max(known, key=value, default=None), len(steps)
            return best

        revisions = {
            point.run: self._revision(*self._place(point.run))
            for point in points
        }
        kind = ("points best", by.name, by.sign)
        best = self._log.results(kind, revisions, make)
        found = [best.get(point.run, (None,))[0] for point in points]
        lacking = [p.run for p, step in zip(points, found) if step is None]
        sampled = [
            run
            for run, (_, count) in best.items()
            if self._log.is_sampled(count)
        ]
        notices = sampled_notices(sampled, by, PLUGIN_NAME)
        notices += lacking_notices(lacking, by)
        return [step or p for p, step in zip(points, found)], notices

    def _point(self, run, tag, datum):
        name = run if tag == POINT_TAG else f"{run}:{tag}"
        return read_point(
            _text(datum), name, datum.step, datum.wall_time, run in self._blobs
        )

    def _place(self, run):
        """The run and tag in the log of a point's run, or `None`."""
        folder, _, tag = run.rpartition(":")
        for place in ((run, POINT_TAG), (folder, tag)):
            if place[1] in self._tensors.get(place[0], {}):
                return place
        return None


def _is_point(series):
    """Check whether the records of a series are points."""
    try:
        return _content(series.plugin_content).kind == "point"
    except RecordError:
        # `dataset()` reports such records.
        return True


def _text(datum):
    """The text of a tensor that holds one."""
    values = datum.numpy
    if values.size != 1 or values.dtype.kind not in "OSU":
        raise RecordError("is not text")
    return values.item()
