"""The plugin's own points, out of a log."""

from tensorboard_plugin_tfcap.comparison import Comparison
from tensorboard_plugin_tfcap.comparison import read_comparison
from tensorboard_plugin_tfcap.comparison import read_reference
from tensorboard_plugin_tfcap.dataset import Dataset
from tensorboard_plugin_tfcap.dataset import QueryError
from tensorboard_plugin_tfcap.dataset import all_metrics
from tensorboard_plugin_tfcap.dataset import default_axes
from tensorboard_plugin_tfcap.log import ALL
from tensorboard_plugin_tfcap.log import revision
from tensorboard_plugin_tfcap.metadata import POINT_TAG
from tensorboard_plugin_tfcap.metadata import RecordError
from tensorboard_plugin_tfcap.metadata import decode_content
from tensorboard_plugin_tfcap.notices import Notices
from tensorboard_plugin_tfcap.records import read_point


class PointsSource:
    """Reads the points that a `TradeoffWriter` wrote."""

    name = "points"

    def __init__(self, log):
        self._log = log
        self._tensors = log.tensors()
        self._blobs = log.blobs()

    def __len__(self):
        return len(self._tensors)

    def revision(self):
        """A text that changes when the log does."""
        return revision(self._tensors, self._blobs)

    def about(self, query):
        """Parts of a query on which the data set depends."""
        return (query.at, query.by) if query.at == "best" else ()

    def dataset(self, query) -> Dataset:
        """Every run's last or best point."""
        notices, described, tags = Notices(), {}, {}
        for run, listed in self._tensors.items():
            for tag, series in listed.items():
                try:
                    content = decode_content(series.plugin_content)
                except RecordError as error:
                    notices.add(run, f"has a summary {tag!r:.80} that {error}")
                    continue
                tags[run, tag] = content.kind
                described |= content.metrics
        last = self._log.read_tensors(downsample=1) if tags else {}
        points, bests, references = [], {}, []
        comparison = Comparison()
        for (run, tag), kind in sorted(tags.items()):
            for datum in last.get(run, {}).get(tag, [])[-1:]:
                try:
                    if kind == "reference":
                        record = read_reference(_text(datum))
                        references.append(record)
                    elif kind == "comparison":
                        record = read_comparison(_text(datum))
                        comparison = comparison.joined(record)
                    elif kind == "point":
                        point, best = self._point(run, tag, datum)
                        points.append(point)
                        bests[point.run] = best
                except RecordError as error:
                    notices.add(run, error)
        metrics = all_metrics(points, described)
        if query.at == "best":
            points = self._best(points, bests, metrics, query.by)
        return Dataset(
            self.name,
            self.revision(),
            points,
            metrics,
            references,
            notices.sentences(),
            comparison,
        )

    def history(self, run: str, query=None):
        """All points of a run, as far as TensorBoard keeps them."""
        return self._histories([run]).get(run, [])

    def _histories(self, runs):
        """Lists of points in the order of steps, by run."""
        places = {self._place(run): run for run in runs}
        places = {k: run for k, run in places.items() if k is not None}
        if not places:
            return {}
        # All at once: each question is a round trip of its own.
        folders, tags = (sorted(set(names)) for names in zip(*places))
        data = self._log.read_tensors(ALL, folders, tags)
        histories = {}
        for (folder, tag), run in places.items():
            points = {}
            for datum in data.get(folder, {}).get(tag, []):
                try:
                    point, _ = self._point(folder, tag, datum)
                except RecordError:
                    # `dataset()` tells of such records.
                    continue
                points[datum.step] = point
            histories[run] = [points[step] for step in sorted(points)]
        return histories

    def _best(self, points, bests, metrics, by):
        """The best step of each run, which the last record may know."""
        if not points:
            return []
        by = by or (default_axes(metrics) or tuple(metrics))[0]
        if by not in metrics:
            raise QueryError(
                f"`by` must be a metric of the log. Received: by={by!r:.80}, "
                f"of {', '.join(list(metrics)[:20])}."
            )
        sign, chosen = metrics[by].sign, []
        known = {
            run: best[0]
            for run, best in bests.items()
            if best is not None and best[1] == by
        }
        histories = self._histories(
            [point.run for point in points if point.run not in known]
        )
        for point in points:
            steps = [p for p in histories.get(point.run, ()) if by in p.metrics]
            best = max(steps, key=lambda p: sign * p.metrics[by], default=point)
            chosen.append(known.get(point.run, best))
        return chosen

    def _point(self, run, tag, datum):
        name = run if tag == POINT_TAG else f"{run}:{tag}"
        return read_point(
            _text(datum), name, datum.step, datum.wall_time, run in self._blobs
        )

    def _place(self, run):
        """The run and tag of the log that a point's run is, or `None`."""
        folder, _, tag = run.rpartition(":")
        for place in ((run, POINT_TAG), (folder, tag)):
            if place[1] in self._tensors.get(place[0], {}):
                return place
        return None


def _text(datum):
    """The text of a tensor that holds one."""
    values = datum.numpy
    if values.size != 1 or values.dtype.kind not in "OSU":
        raise RecordError("is no text")
    return values.item()
