"""Records of points: names of scores, and those that came to be known."""

from reproduce.study import read_written
from reproduce.study import write_json
from tfcap.training import SpeakerReport
from tfcap.training import is_chief

#: Scores of how a listener finds images.
_RETRIEVAL = ("r@1", "r@5", "r@10", "median_rank", "mean_rank", "mrr")
#: The metric that the embedded world knows of its captions.
TRUTH = "truth"
#: Scores that tell whether a metric of another name is known.
_SCORE_OF = {"bleu": "bleu_4", "chair": "chair_i"}


def score_of(metric: str) -> str:
    """The score in a record that a metric has left there."""
    return _SCORE_OF.get(metric, metric)


def named(kind, scores):
    """Scores of another decoding, by their names in records."""
    return {
        f"{kind}_{name}": score
        for name, score in scores.items()
        if not name.startswith("human_")
    }


def human_scores(row, scores):
    """Scores of human captions, under the names of a speaker's."""
    prefix = "human_"
    own = {
        name.removeprefix(prefix): score
        for name, score in scores.items()
        if name.startswith(prefix)
    }
    return own | fixed_scores(row, own)


def fixed_scores(row, scores):
    """The listener that is trained on human captions is the fixed one."""
    if row != "listener_gt":
        return {}
    return {f"fixed_{k}": scores[k] for k in _RETRIEVAL if k in scores}


def bring_up_to_date(experiment, name, row, point):
    """Adds scores that were not known when a point was evaluated.

    Those of captions need nothing but the captions, which are kept. For
    those of another decoding its networks must be there.
    """
    path = experiment.path(name, "result.json")
    record = read_written(path)
    heard = experiment.strangers.wanted if experiment.strangers else ()
    wanted = [*experiment.metrics, "lm_log_prob", *heard]
    for kind in experiment.decodings:
        prefix = f"{kind}_" if kind else ""
        lacking = [m for m in wanted if prefix + score_of(m) not in record]
        if not lacking:
            continue
        file = f"captions_{kind}.json" if kind else "captions.json"
        if experiment.has(experiment.path(name, file)):
            experiment.say(f"{name}: {prefix}{', '.join(lacking)}")
            if set(lacking) <= set(heard):
                scores = _heard(experiment, name, file, kind)
            else:
                scores = _rescored(experiment, name, file, kind, lacking)
        elif _has_networks(experiment, row, name):
            scores = experiment.decoded(
                name, kind, experiment.asked(row, point)
            )
        else:
            experiment.say(f"{name}: no networks, so no {kind} decoding.")
            continue
        record = scores | record
        write_json(path, record)


def _has_networks(experiment, row, name):
    kept = name
    if row in experiment.paper.starts:
        kept = experiment.paper.left(experiment, experiment.paper.starts[row])
    return experiment.has(experiment.path(kept, "networks.json"))


def _rescored(experiment, name, file, kind, lacking):
    """Scores of kept captions, some of them new."""
    kept = experiment.path(name, file)
    report = SpeakerReport.load(kept).with_language(
        experiment.training_captions
    )
    metrics = [name for name in lacking if name in experiment.metrics]
    written = [name for name in metrics if name != TRUTH]
    if written:
        report = report.rescored(written, objects=experiment.objects)
    if is_chief():
        report.save(kept)
    for absence in report.absent.values():
        experiment.say(str(absence))
    scores = report.result()
    if TRUTH in metrics:
        truth = experiment.data.truth(experiment.split)
        scores |= truth.scores(report.captions)
    scores |= experiment.heard(report.captions, scores)
    if kind:
        return named(kind, scores)
    more = experiment.paper.more
    return scores | (more(experiment, name, None, written) if more else {})


def _heard(experiment, name, file, kind):
    """Scores of kept captions by strangers alone."""
    report = SpeakerReport.load(experiment.path(name, file))
    scores = experiment.heard(report.captions, report.scores)
    if kind:
        return named(kind, scores)
    more = experiment.paper.more
    return scores | (more(experiment, name, None, ()) if more else {})


def human_record(experiment, name, row):
    """The record of human captions, with all that is known today."""
    path = experiment.path(name, "result.json")
    record = read_written(path)
    if "lm_log_prob" not in record:
        kept = SpeakerReport.load(experiment.path(name, "captions.json"))
        scores = kept.with_language(experiment.training_captions).result()
        record = human_scores(row, scores) | fixed_scores(row, record) | record
        write_json(path, record)
    if not record.keys() >= {*getattr(experiment.strangers, "wanted", ())}:
        record = human_scores(row, experiment.heard_people()) | record
        write_json(path, record)
    # What people say is not asked how natural it is, or how decoded.
    return (
        dict.fromkeys(
            [*map(score_of, experiment.metrics), *experiment.paper.measures]
        )
        | record
    )
