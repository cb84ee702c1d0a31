"""Scalars of any log as points."""

import math
from collections import defaultdict
from dataclasses import replace

from tensorboard.plugins.hparams.metadata import PLUGIN_NAME as HPARAMS

from tensorboard_plugin_tfcap.checkpoints import harm_notices
from tensorboard_plugin_tfcap.checkpoints import lacking_notices
from tensorboard_plugin_tfcap.checkpoints import merged
from tensorboard_plugin_tfcap.checkpoints import sampled_notices
from tensorboard_plugin_tfcap.curve_names import numbered
from tensorboard_plugin_tfcap.dataset import Dataset
from tensorboard_plugin_tfcap.dataset import all_metrics
from tensorboard_plugin_tfcap.dataset import best_metric
from tensorboard_plugin_tfcap.hparams import hparams_metrics
from tensorboard_plugin_tfcap.hparams import run_hparams
from tensorboard_plugin_tfcap.log import WHOLE
from tensorboard_plugin_tfcap.log import run_revision
from tensorboard_plugin_tfcap.run_names import BY_ALL
from tensorboard_plugin_tfcap.run_names import BY_HPARAMS
from tensorboard_plugin_tfcap.run_names import grouped_scalars
from tensorboard_plugin_tfcap.run_names import run_names
from tensorboard_plugin_tfcap.tradeoff.metric_names import named_metric
from tensorboard_plugin_tfcap.tradeoff.point import TradeoffPoint


class ScalarsSource:
    """Reads scalars of any runs."""

    name = "scalars"

    def __init__(self, log):
        self._log = log
        self._scalars = log.scalars()
        self._hparams = log.tensors(HPARAMS) if self._scalars else {}

    def __len__(self):
        return len(self._scalars)

    def revision(self):
        """A text that changes with the log."""
        return self._log.revision(self._scalars, self._hparams)

    def about(self, query):
        """Parts of a query on which the data set depends."""
        best = (query.by, query.higher, query.lower)
        at = query.at if query.at in ("best", "common") else "last"
        return query.group, at, *(best if at == "best" else ())

    def dataset(self, query) -> Dataset:
        """The last or best values of every run."""
        members, unknown = self._members(query)
        notices = [*self._log.damage, *unknown]
        histories = {}
        if query.at == "common":
            histories = self._histories(members, WHOLE)
            last = [merged(points) for points in histories.values()]
        else:
            last = self._last(members)
        metrics, points = all_metrics(last, self._described()), last
        notices += harm_notices(last)
        if query.at == "best" and metrics:
            by = best_metric(metrics, query)
            points, sentences = self._best(members, by)
            notices += sentences
        return Dataset(
            self.name,
            self.revision(),
            numbered(points),
            metrics,
            notices=notices,
            histories=histories,
        )

    def _described(self):
        """Metrics that HParams are configured to show, by name."""
        titles = hparams_metrics(self._hparams)
        return {
            name: replace(named_metric(name, title or None), featured=place)
            for place, (name, title) in enumerate(titles.items(), 1)
        }

    def _members(self, query):
        """Parts of runs by run, and notices about runs that are left out."""
        hparams = run_hparams(self._hparams)
        group = query.group or BY_ALL
        grouped = {}
        if group == BY_ALL:
            grouped = grouped_scalars(self._scalars)
        above = {run: grouped.get(run, (run,))[0] for run in self._scalars}
        names = run_names(list(dict.fromkeys(above.values())), group, hparams)
        members = defaultdict(list)
        for run in sorted(self._scalars):
            if above[run] in names:
                name = names[above[run]]
                if run in grouped:
                    name = replace(name, metric=grouped[run][1])
                members[name.whole].append((run, name))
        unknown = sum(above[run] not in names for run in self._scalars)
        if not unknown:
            return members, []
        how = "have no HParams" if group == BY_HPARAMS else "do not match"
        return members, [f"{unknown} runs {how}, and are left out."]

    def _last(self, members):
        """The last values of each run, as points."""

        def make(wholes):
            some = {whole: members[whole] for whole in wholes}
            histories = self._histories(some, downsample=1)
            return {run: merged(points) for run, points in histories.items()}

        revisions = self._revisions(members)
        points = self._log.results(("scalars last",), revisions, make)
        return list(points.values())

    def _best(self, members, by):
        """The best step of each run, and notices.

        A metric that was not logged at that step has its last earlier value.
        """

        def make(wholes):
            some = {whole: members[whole] for whole in wholes}
            histories = self._histories(some, WHOLE)
            return {run: _best(points, by) for run, points in histories.items()}

        kind = ("scalars best", by.name, by.sign)
        best = self._log.results(kind, self._revisions(members), make)
        sampled = [
            run
            for run, (_, count) in best.items()
            if self._log.is_sampled(count, "scalars")
        ]
        lacking = [run for run, (_, count) in best.items() if not count]
        notices = sampled_notices(sampled, by, "scalars")
        notices += lacking_notices(lacking, by)
        return [point for point, _ in best.values()], notices

    def _revisions(self, members):
        return {
            whole: [(n, run_revision(self._scalars[run])) for run, n in parts]
            for whole, parts in members.items()
        }

    def _histories(self, members, downsample):
        """Lists of points in the order of steps, by run."""
        runs = [run for parts in members.values() for run, _ in parts]
        data = self._log.read_scalars(downsample, runs) if runs else {}
        histories = {}
        for whole, parts in members.items():
            steps, times, bad = defaultdict(dict), {}, defaultdict(set)
            # Final results do not replace what was logged in training.
            for run, name in sorted(parts, key=lambda part: part[1].results):
                end = max(times, default=0) if name.results else None
                for tag, series in data.get(run, {}).items():
                    metric = name.metric_of(tag)
                    for datum in series:
                        step = datum.step
                        if end and len(series) == 1 and not step:
                            step = end
                        times[step] = datum.wall_time
                        if name.results and metric in steps[step]:
                            continue
                        if math.isfinite(datum.value):
                            steps[step][metric] = float(datum.value)
                        else:
                            bad[step].add(metric)
            about = parts[0][1]
            points = [
                TradeoffPoint(
                    whole,
                    *(about.method, about.params, about.seed),
                    *(step, steps[step], times[step]),
                    diverged=tuple(sorted(bad[step])),
                )
                for step in sorted(times)
            ]
            if points:
                histories[whole] = points
        return histories


def _best(points, by):
    """A run's best point, and the number of points with the metric."""
    known = [
        place for place, point in enumerate(points) if by.name in point.metrics
    ]
    best = max(
        known,
        key=lambda place: by.sign * points[place].metrics[by.name],
        default=len(points) - 1,
    )
    return merged(points[: best + 1]), len(known)
