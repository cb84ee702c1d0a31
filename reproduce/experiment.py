"""One paper's rows on one data set, with one seed, in one folder."""

import copy
import functools
import os
from dataclasses import asdict
from dataclasses import fields
from dataclasses import replace
from typing import Any
from typing import NamedTuple

import keras

from reproduce.captioning.caption_data import about_data
from reproduce.captioning.pretrained import SPEAKER
from reproduce.captioning.pretrained import check_pretrained
from reproduce.captioning.pretrained import take_pretrained
from reproduce.captioning.rates import rising
from reproduce.comparisons.strangers import STRANGERS
from reproduce.study import Study
from reproduce.study import read_written
from reproduce.study import write_json
from tfcap.data import CaptionBatches
from tfcap.decoding import Greedy
from tfcap.models import without_dropout
from tfcap.text import TrainingCaptions
from tfcap.training import Evaluator
from tfcap.training import SpeakerReport
from tfcap.training import is_chief

#: Scores of retrieval by a listener.
_RETRIEVAL = ("r@1", "r@5", "r@10", "median_rank", "mean_rank", "mrr")
#: The metric of claims, on data whose truth is known.
TRUTH = "truth"
#: Scores that tell whether a metric of another name is known.
_SCORE_OF = {"bleu": "bleu_4", "chair": "chair_i"}
#: Settings that a point calls by another name.
_RENAMED = {"rate": "reward_rate"}


class Point(NamedTuple):
    """A point of an experiment, by which a row sets its numbers.

    Args:
        settings: Those of the paper, with the numbers of the point.
    """

    experiment: Any
    settings: Any

    @property
    def steps_per_epoch(self):
        """Steps of an epoch over all images."""
        return self.experiment.batches().steps_per_epoch


class Experiment(Study):
    """Trains and evaluates the rows of a paper, and saves everything.

    Under `directory`, each phase of pretraining and each row has a folder with
    its networks, its scores (`result.json`), every caption of the split with
    the rank of its image (`captions.json`) and its TensorBoard logs. Finished
    work is loaded; interrupted training resumes.

    A point is a row and the numbers in which it differs from the settings:
    `result()`, `trained()` and `report()` take these by their names in
    records, `lambda_` for lambda.

    Args:
        settings: Those of the paper.
        seed: Integer, of initial weights, batches and samples.
        split: String, `"test"` or `"validation"`: what is evaluated. Defaults
            to `"test"`.
        metrics: Names of further scores, such as `"meteor"` and `"bcmr"`.
        objects: As of `tfcap.text.evaluate_captions()`, for `"chair"`, which
            takes the references for the truth. Defaults to `None`, no CHAIR.
        verbose: As that of `reproduce.study.Study`.
        pretrained: String or path of another experiment's folder with the
            same data, seed and settings of the speaker, whose speaker of
            maximum likelihood is used. Defaults to `None`, it is trained.
        strangers: `Strangers`, the held-out listeners that evaluate the
            captions of every point, for the metric `"strangers"`. Defaults to
            `None`.

    Raises:
        ValueError: If the directory holds an experiment of other settings,
            data or seed.
    """

    def __init__(
        self,
        paper,
        data,
        settings,
        directory,
        seed=0,
        split="test",
        metrics=(),
        objects=None,
        verbose=1,
        pretrained=None,
        strangers=None,
    ):
        about = {
            "settings": asdict(settings),
            "seed": seed,
            **about_data(data),
            **({} if split == "test" else {"split": split}),
        }
        super().__init__(directory, about, seed, verbose)
        self.paper = paper
        self.data = data
        self._source = pretrained
        if pretrained is not None:
            check_pretrained(pretrained, self.about)
        self.settings = settings
        self.split = split
        if (STRANGERS in metrics) != (strangers is not None):
            raise ValueError(
                f"`strangers` must come with the metric {STRANGERS!r}, and "
                f"with it alone. Received: metrics={tuple(metrics)}, "
                f"strangers={strangers}."
            )
        self.metrics = tuple(m for m in metrics if m != STRANGERS)
        self.objects = objects
        if TRUTH in self.metrics and data.truth is None:
            raise ValueError(
                f"`metrics` must be available for the data. Received: "
                f"{TRUTH!r} for {data.name!r}, which has no ground truth. Use "
                "the embedded world, or 'chair', which takes the references "
                "for the truth."
            )
        self.strangers = strangers
        # Retrievers by name, once they are made.
        self.given = {}
        self.unsaid = (data.vocabulary.unk,)
        # Evaluation needs no gradient: a loop is traced once, and ends when
        # all captions have.
        self.greedy = Greedy(
            settings.max_length, suppress=self.unsaid, unroll=False
        )
        if is_chief():
            path = os.path.join(self.directory, "vocabulary.json")
            data.vocabulary.save(path)

    def networks(self, phase: str, fresh: bool = False):
        """Networks of a phase of pretraining by role, trained if necessary."""
        phase = self.paper.left(self, phase)
        keras.utils.set_random_seed(self.seed)
        networks = self.once(phase, lambda: self._pretrain(phase))
        # Loaded ones draw the same, whether they were trained here or before.
        keras.utils.set_random_seed(self.seed)
        return self.load(phase) if fresh else networks

    def starting(self, phase, role, dropout=True):
        """A copy of a pretrained network, for a row to train."""
        network = self.networks(phase, fresh=True)[role]
        return network if dropout else without_dropout(network)

    def about_point(self, point):
        """A `Point`, its settings those of the paper but for its numbers."""
        names = {field.name for field in fields(self.settings)}
        moved = {_RENAMED.get(k, k): v for k, v in point.items()}
        settings = replace(
            self.settings, **{k: v for k, v in moved.items() if k in names}
        )
        return Point(self, settings)

    def words(self):
        """Arguments that all methods share: words, seed and clipping."""
        return {
            "max_length": self.settings.max_length,
            "suppress": self.unsaid,
            "seed": self.seed,
            "global_clipnorm": self.settings.clipnorm,
        }

    def batches(self, split="train", batch_size=None, **options):
        """`tfcap.data.CaptionBatches` of a split."""
        captions = getattr(self.data, split)
        size = batch_size or self.settings.batch_size
        return CaptionBatches(
            captions,
            getattr(self.data, f"{split}_features"),
            min(size, len(captions)),
            seed=self.seed,
            **options,
        )

    def optimizer(self, rate):
        """Adam, at a schedule, or at a rate that rises at first."""
        if not callable(rate):
            rate = rising(rate, self.settings.warm_up_steps)
        return keras.optimizers.Adam(rate)

    @functools.cached_property
    def training_captions(self):
        """Human captions of the training images."""
        texts = self.data.train.texts
        return TrainingCaptions(text for several in texts for text in several)

    @functools.cached_property
    def decodings(self):
        """Decoders by what stands before the names of their scores."""
        return self.paper.decodings(self)

    def result(self, row: str, **point):
        """The record of a point, trained first if necessary."""
        point = _plain(point)
        name = self.paper.place(row, point)
        path = self.path(name, "result.json")
        if not self.has(path):
            write_json(path, self._evaluate(name, row, point))
        if row in self.paper.human:
            return self._with_people(name, row)
        return self._with_later_scores(name)

    def trained(self, row, **point):
        """Networks of a point by role, trained first if necessary."""
        if row in self.paper.starts:
            return self.networks(self.paper.starts[row])
        point = _plain(point)
        name = self.paper.place(row, point)
        keras.utils.set_random_seed(self.seed)
        self.once(name, lambda: self._train(name, row, point))
        keras.utils.set_random_seed(self.seed)
        return self.load(name)

    def report(self, row, **point):
        """The kept captions of a point, a `tfcap.training.SpeakerReport`."""
        return self.kept(self.paper.place(row, _plain(point)))

    def kept(self, name):
        """The captions that are kept in a folder."""
        return SpeakerReport.load(self.path(name, "captions.json"))

    def training(self, row, **point):
        """A row as it is before its training, a `reproduce.paper.Training`."""
        return self.paper.train(self, row, _plain(point))

    def compiled(self, training):
        """The model of a training, ready to be fitted."""
        model, rates = training.model, training.rates
        model.compile({k: self.optimizer(rates[k]) for k in model.learners})
        return model

    def _pretrain(self, phase):
        if phase == SPEAKER and self._source is not None:
            self.say(f"{phase}: taken from {self._source}")
            take_pretrained(self._source, self.path(phase))
            return self.load(phase)
        train = self.paper.phases[phase]
        self.say(f"{phase}: {train.__doc__.splitlines()[0]}")
        return train(self)

    def _train(self, name, row, point):
        training = self.training(row, **point)
        self.say(f"{name}: training")
        if training.prepare:
            training.prepare()
        return self.fit(
            name,
            self.compiled(training),
            training.batches,
            training.epochs,
            training.callbacks,
            **training.networks,
        )

    def _evaluate(self, name, row, point):
        """Scores of a point, whose captions are kept."""
        ask = self.asked(row, point)
        self.say(f"{name}: evaluating the {self.split} split")
        report = ask()()
        if is_chief():
            report.save(self.path(name, "captions.json"))
        scores = report.result()
        if row in self.paper.human:
            # Human captions have a recall, and no references.
            return _human_scores(row, scores | self.heard_people())
        scores |= self.heard(report.captions, scores)
        if self.data.judge is not None and self.split == "test":
            scores |= self.data.judge(report.captions)
        for kind in [*self.decodings][1:]:
            scores |= self.decoded(name, kind, ask)
        if self.paper.more:
            speaker = ask.args[0]
            scores |= self.paper.more(self, name, speaker, ())
        return scores

    def asked(self, row, point):
        """A function that makes evaluators of a point's networks."""
        speaker, listener, others = self.paper.heard(self, row, point)
        guidance = {k: v for k, v in point.items() if k == "gamma"}
        return functools.partial(
            self._evaluator,
            speaker,
            listener=listener,
            other_listeners=others,
            **guidance,
        )

    def _evaluator(self, speaker, listener=None, gamma=1.0, **options):
        decoder = options.pop("decoder", self.decodings[""])
        if gamma != 1.0:
            decoder = copy.copy(decoder)
            # Of every word two states are read: in a loop, traced once.
            decoder.guidance, decoder.unroll = gamma, False
        return Evaluator(
            speaker,
            self.batches(self.split, shuffle=False),
            listener,
            training_captions=self.training_captions,
            batch_size=self.settings.evaluation_batch_size,
            decoder=decoder,
            **{"verbose": self.bars, **options},
        )

    def decoded(self, name, kind, ask):
        """Scores of a point under another decoding; captions are kept."""
        self.say(f"{name}: evaluating the {self.split} split, {kind}")
        report = ask(decoder=self.decodings[kind], human_captions=0)()
        if is_chief():
            report.save(self.path(name, f"captions_{kind}.json"))
        scores = report.result()
        return named(kind, scores | self.heard(report.captions, scores))

    def _with_later_scores(self, name):
        """The record of a point, with the scores that it lacks.

        They are computed from the saved captions: nothing is decoded.
        """
        path = self.path(name, "result.json")
        record = read_written(path)
        heard = self.strangers.wanted if self.strangers else ()
        for kind in self.decodings:
            prefix = f"{kind}_" if kind else ""
            lacking = [
                metric
                for metric in (*self.metrics, *heard)
                if prefix + score_of(metric) not in record
            ]
            if lacking:
                self.say(f"{name}: {prefix}{', '.join(lacking)}")
                metrics = [m for m in lacking if m in self.metrics]
                record = self._rescored(name, kind, metrics) | record
                write_json(path, record)
        return record

    def _rescored(self, name, kind, metrics):
        """Scores of kept captions, some of them new."""
        file = f"captions_{kind}.json" if kind else "captions.json"
        report = SpeakerReport.load(self.path(name, file))
        written = [metric for metric in metrics if metric != TRUTH]
        if written:
            report = report.rescored(written, objects=self.objects)
            if is_chief():
                report.save(self.path(name, file))
        for absence in report.absent.values():
            self.say(str(absence))
        scores = report.result()
        if TRUTH in metrics:
            scores |= self.data.truth(self.split).scores(report.captions)
        scores |= self.heard(report.captions, scores)
        if kind:
            return named(kind, scores)
        more = self.paper.more
        return scores | (more(self, name, None, written) if more else {})

    def _with_people(self, name, row):
        """The record of human captions, with scores by held-out listeners."""
        path = self.path(name, "result.json")
        record = read_written(path)
        if not record.keys() >= {*getattr(self.strangers, "wanted", ())}:
            record = _human_scores(row, self.heard_people()) | record
            write_json(path, record)
        # Human captions have no naturalness to be measured.
        return dict.fromkeys(map(score_of, self.metrics)) | record

    def heard(self, captions, scores):
        """Scores by held-out listeners, if there are any.

        Args:
            scores: Dict that may hold recall by the own listener.
        """
        if self.strangers is None:
            return {}
        return self.strangers.scores(captions, scores.get("r@10"))

    def heard_people(self):
        """Scores of human captions by held-out listeners, if there are any."""
        return self.strangers.human_scores() if self.strangers else {}


def _plain(point):
    """Numbers of a point, by their names in records."""
    return {k.rstrip("_"): v for k, v in point.items() if v is not None}


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


def _human_scores(row, scores):
    """Scores of human captions, under the names of a speaker's."""
    prefix = "human_"
    own = {
        name.removeprefix(prefix): score
        for name, score in scores.items()
        if name.startswith(prefix)
    }
    if row != "listener_gt":
        return own
    # The listener trained on human captions alone is the fixed one.
    return own | {f"fixed_{k}": own[k] for k in _RETRIEVAL if k in own}
