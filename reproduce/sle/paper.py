"""Sequence-level learning, of two papers: training of rows."""

import dataclasses
import functools
import os

from reproduce.captioning.phases import SPEAKER_PHASES
from reproduce.captioning.rewarded import cider
from reproduce.captioning.rewarded import reward_speaker
from reproduce.captioning.rewarded import reward_training
from reproduce.captioning.rewarded import speaker_alone_heard
from reproduce.experiment import named
from reproduce.paper import Paper
from reproduce.paper import build
from reproduce.point_log import kept_file
from reproduce.point_log import kept_report
from reproduce.sle.settings import ROWS
from reproduce.sle.settings import SETTINGS
from reproduce.sle.tables import sequence_tables
from reproduce.study import read_written
from reproduce.study import write_json
from tfcap.decoding import BeamSearch
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.training import Evaluator
from tfcap.training import SpeakerReport


def train(experiment, row, point):
    """The training of a row for CIDEr-D and diversity."""
    about = experiment.about_point(point)
    networks = [reward_speaker(experiment), cider(experiment)]
    numbers = {
        **experiment.words(),
        "num_samples": about.settings.num_samples,
        "alpha": about.settings.alpha,
        "entropy_weight": about.settings.entropy_weight,
    }
    model = build(ROWS[row], networks, numbers, about)
    return reward_training(about, model)


def several(experiment, name: str, speaker, metrics):
    """Scores of several captions of every image, which are saved.

    Returns:
        Dict of scores, named as by `Evaluator.diversity()`: after `"rs_"`
        those of random samples, after `"bs_"` those of beams, and after
        `"beam_"` those of the best caption of each beam.
    """
    scores = {}
    if speaker is not None:
        scores, metrics = _diversity(experiment, name, speaker), NATURALNESS
    beams = read_written(experiment.path(name, "several.json"))["bs"]
    greedy = SpeakerReport.load(experiment.path(name, "captions.json"))
    best = [captions[0] for captions in beams]
    report = dataclasses.replace(greedy, captions=best, scores={}, each={})
    report = report.with_language(experiment.training_captions)
    if metrics:
        report = report.rescored(metrics, objects=experiment.objects)
    return scores | named("beam", report.scores | experiment.heard(best, {}))


def _diversity(experiment, name, speaker):
    """Scores of several captions, by sampling and by beam search."""
    settings, unsaid = experiment.settings, experiment.unsaid
    length, scores, kept = settings.max_length, {}, {}
    decoders = {
        "rs": Sample(
            Categorical(seed=experiment.seed),
            settings.diversity_samples,
            length,
            suppress=unsaid,
            unroll=False,
        ),
        "bs": BeamSearch(settings.beam_width, length, suppress=unsaid),
    }
    batches = experiment.batches(experiment.split, shuffle=False)
    size = settings.evaluation_batch_size
    evaluate = Evaluator(speaker, batches, batch_size=size)
    for key, decoder in decoders.items():
        report = evaluate.diversity(decoder)
        scores |= {f"{key}_{k}": v for k, v in report.scores.items()}
        kept[key] = report.captions
    write_json(experiment.path(name, "several.json"), kept)
    return scores


def kept_several(directory, rows, seed: int = 0):
    """Saved captions of rows, with all samples of an image as one.

    Returns:
        Dict of `tfcap.training.SpeakerReport` by row.
    """
    reports = {}
    for row in rows:
        point = {"method": row, "seed": seed}
        path = kept_file(directory, SLE, point, "several.json")
        if os.path.exists(path):
            samples = read_written(path)["rs"]
            said = [" / ".join(dict.fromkeys(several)) for several in samples]
            report = kept_report(directory, SLE, point)
            reports[row] = dataclasses.replace(report, captions=said)
    return reports


def tables_of_rows(*rows):
    """A function that makes tables of these rows."""
    return functools.partial(sequence_tables, rows=rows)


#: Scores of naturalness that are always there.
NATURALNESS = ("bleu", "rouge_l", "cider_d")
#: Common arguments of both papers.
SHARED = {
    "settings": SETTINGS,
    "phases": SPEAKER_PHASES,
    "heard": speaker_alone_heard,
    "more": several,
}
SLE = Paper(
    "sle",
    rows=ROWS,
    starts={"xe": "speaker_mle"},
    train=train,
    axes={
        "alpha": ("sll_sle",),
        "rate": tuple(ROWS),
        "entropy_weight": ("sll_me",),
    },
    default=("xe", "sll", "sll_sle"),
    tables=tables_of_rows("xe", *ROWS),
    results={
        "results/sequence_world": {},
        "results/sle_flickr8k": {},
        "results/sequence_clips": {},
        "results/sequence_coco_text": {},
    },
    **SHARED,
)
