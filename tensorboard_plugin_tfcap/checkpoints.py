"""Steps at which runs are compared, and runs that diverged."""

from dataclasses import replace

#: How many runs a sentence names.
_MOST = 5


def merged(points):
    """A run's last point, with the last value of every metric.

    A metric that was NaN or infinite the last time has no value.
    """
    metrics, diverged = {}, set()
    for point in points:
        metrics |= point.metrics
        diverged = (diverged - set(point.metrics)) | set(point.diverged)
    return replace(
        points[-1],
        metrics={n: v for n, v in metrics.items() if n not in diverged},
        diverged=tuple(sorted(diverged)),
    )


def at_checkpoint(points, at: str, histories, hidden=()):
    """Points at a checkpoint that depends on several runs.

    Args:
        points: List of `TradeoffPoint`, the last or best one of each run.
        at: String, as of `Query`.
        histories: Dict of lists of points by run, for `"common"`.
        hidden: Names of runs that are not shown: they neither count nor are
            mentioned in notices. Defaults to none.

    Returns:
        List of points and list of notices.

    Example:

    >>> from tensorboard_plugin_tfcap.checkpoints import at_checkpoint
    >>> from tensorboard_plugin_tfcap.tradeoff import TradeoffPoint
    >>> points = [TradeoffPoint(run, "mine", step=9) for run in "ab"]
    >>> points.append(TradeoffPoint("c", "mine", step=4))
    >>> at_checkpoint(points, "finished", {})[1]
    ['Finished runs only: 1 of 3 left out, behind others of their method: c.']
    """
    if not points or at not in ("finished", "common"):
        return points, []
    counted = [p for p in points if p.run not in hidden] or points
    if at == "finished":
        most = {}
        for point in counted:
            most[point.method] = max(most.get(point.method, 0), point.step)
        late = [p.run for p in counted if p.step < most[p.method]]
        if not late:
            return points, []
        behind = {*late}
        return [point for point in points if point.run not in behind], [
            f"Finished runs only: {len(late)} of {len(counted)} left out, "
            f"behind others of their method: {run_names(late)}."
        ]
    step = min(point.step for point in counted)
    kept, late = [], []
    for point in points:
        before = [p for p in histories.get(point.run, ()) if p.step <= step]
        if before:
            last = merged(before)
            names = "step", "metrics", "diverged", "wall_time"
            kept.append(replace(point, **{n: getattr(last, n) for n in names}))
        elif point.run in hidden:
            kept.append(point)
        else:
            late.append(point.run)
    notices = [
        f"All runs at step {step}, the last that all {len(counted)} have "
        "reached, or at their last one before it."
    ]
    if late:
        notices.append(f"No record before that step: {run_names(late)}.")
    return kept, notices


def harm_notices(points) -> list[str]:
    """Notices of runs whose last values are NaN or infinite.

    Args:
        points: List of `TradeoffPoint`, the last one of each run.
    """
    bad = [point for point in points if point.diverged]
    if not bad:
        return []
    texts = [f"{p.run} ({', '.join(p.diverged[:3])})" for p in bad]
    verb = "ends" if len(bad) == 1 else "end"
    return [
        f"{len(bad)} of {len(points)} runs {verb} in NaN or infinity: "
        f"{run_names(texts)}."
    ]


def sampled_notices(runs, by, plugin: str) -> list[str]:
    """Notices of runs of which TensorBoard has kept only a sample."""
    if not runs:
        return []
    return [
        f"Best by {by.title} is the best of a sample: TensorBoard keeps only "
        f"some steps of {run_names(runs)}. Start it with --samples_per_plugin "
        f"{plugin}=0 to keep all."
    ]


def lacking_notices(runs, by) -> list[str]:
    """Notices of runs that never logged the metric of the best step."""
    if not runs:
        return []
    return [
        f"Best by {by.title}: no step of {run_names(runs)} has it, so the last "
        "one is drawn."
    ]


def run_names(runs) -> str:
    """The first names of a list, and how many more there are."""
    more = len(runs) - _MOST
    text = ", ".join(f"{run:.120}" for run in runs[:_MOST])
    return f"{text} and {more} more" if more > 0 else text
