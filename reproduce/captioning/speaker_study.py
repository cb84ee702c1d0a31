"""One data set, one seed, and a speaker that has learned from people."""

import functools
import os
from dataclasses import asdict

import keras

from reproduce.captioning.caption_data import about_data
from reproduce.captioning.caption_data import data_of_study
from reproduce.captioning.phases import speaker_alone
from reproduce.captioning.pretrained import SPEAKER
from reproduce.captioning.pretrained import check_pretrained
from reproduce.captioning.pretrained import take_pretrained
from reproduce.captioning.rates import rising
from reproduce.study import Study
from reproduce.study import read_written
from reproduce.study import write_json
from tfcap.data import CaptionBatches
from tfcap.decoding import Greedy
from tfcap.text import TrainingCaptions
from tfcap.training import Player
from tfcap.training import SpeakerReport
from tfcap.training import is_chief


class SpeakerStudy(Study):
    """What studies of captioning share: data, batches, pretraining.

    Args:
        data: `CaptionData`.
        settings: `SpeakerSettings`.
        directory: String or path.
        seed: Integer, of initial weights, batches and samples.
        split: String, `"test"` or `"validation"`: what is evaluated. Defaults
            to `"test"`.
        evaluate_every: Integer, epochs between evaluations of the validation
            split while a speaker goes on to learn; 0 for none. Defaults to
            `0`.
        metrics: Names of further scores, such as `"meteor"` and `"bcmr"`.
        verbose: As that of `reproduce.study.Study`.
        pretrained: String or path of another study's folder, whose speaker of
            maximum likelihood is taken where this one has none: of the same
            data, seed and `SpeakerSettings`. Defaults to `None`, it is
            trained.
        about: Dict of what else is the study's own, of which JSON can hold
            the values. Defaults to `None`.

    Attributes:
        phases: Dict of functions of the study that pretrain, by the name
            under which it keeps the networks.
        measures: Tuple of strings, scores that tell a record of today from
            one of before they were known.

    Raises:
        ValueError: If the directory holds a study of other settings, data or
            seed.
    """

    phases = {"speaker_mle": speaker_alone}
    measures = ("lm_log_prob",)

    def __init__(
        self,
        data,
        settings,
        directory,
        seed=0,
        split="test",
        evaluate_every=0,
        metrics=(),
        verbose=1,
        about=None,
        pretrained=None,
    ):
        about = {
            "settings": asdict(settings),
            "seed": seed,
            **about_data(data),
            **({} if split == "test" else {"split": split}),
            **(about or {}),
        }
        super().__init__(directory, about, seed, verbose)
        self.data = data_of_study(data, self.about)
        self._source = pretrained
        if pretrained is not None:
            check_pretrained(pretrained, self.about)
        self.settings = settings
        self.split = split
        self.evaluate_every = evaluate_every
        self.metrics = tuple(metrics)
        self.unsaid = (data.vocabulary.unk,)
        # One object, so that terms that ask for it share what it says.
        self.greedy = Greedy(settings.max_length, suppress=self.unsaid)
        if is_chief():
            path = os.path.join(self.directory, "vocabulary.json")
            data.vocabulary.save(path)

    def networks(self, phase, fresh=False):
        """What a phase of pretraining left, by role.

        Args:
            phase: String, key of `phases`.
            fresh: Boolean, whether the networks will be changed.
        """
        keras.utils.set_random_seed(self.seed)
        found = self.once(phase, lambda: self._pretrain(phase))
        return self.load(phase) if fresh else found

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

    def player(self, network, objective, **turns):
        """A network that learns."""
        return Player(network, objective, self.settings.clipnorm, **turns)

    def optimizer(self, rate):
        """An optimizer whose rate warms up."""
        warm_up = self.settings.warm_up_steps
        return keras.optimizers.Adam(rising(rate, warm_up))

    @functools.cached_property
    def training_captions(self):
        """The captions that people say of the training images."""
        texts = self.data.train.texts
        return TrainingCaptions(text for several in texts for text in several)

    @property
    def decodings(self):
        """Decoders by name, by which a point is evaluated, too."""
        return {}

    def rescore(self, name, evaluator):
        """Adds scores that were not known when a point was evaluated.

        Those of captions need nothing but the captions, which are kept. For
        those of another decoding its networks must be there.

        Args:
            name: String, the folder of the point.
            evaluator: Function of the decoder and other options of
                `tfcap.training.Evaluator` that makes one of the
                point's networks.
        """
        path = self.path(name, "result.json")
        found = read_written(path)
        wanted = [*self.metrics, "lm_log_prob"]
        lacking = [metric for metric in wanted if metric not in found]
        if lacking:
            self.say(f"{name}: {', '.join(lacking)}")
            report, told = self._rescored(name, "captions", lacking)
            for missing_score in report.absent.values():
                self.say(str(missing_score))
            found = told | found
            write_json(path, found)
        for kind in self.decodings:
            lacking = [m for m in wanted if f"{kind}_{m}" not in found]
            if not lacking:
                continue
            if self.has(self.path(name, f"captions_{kind}.json")):
                _, told = self._rescored(name, f"captions_{kind}", lacking)
            elif self.has(self.path(self.kept(name), "networks.json")):
                told = self.decoded(name, kind, evaluator)
            else:
                self.say(f"{name}: no networks, so no {kind} decoding.")
                continue
            found = _named(kind, told) | found
            write_json(path, found)

    def kept(self, name):
        """The folder that holds the networks of a point."""
        return name

    def decoded(self, name, kind, evaluator):
        """Scores of a point under another decoding; captions are kept.

        Args:
            name: String, the folder of the point.
            kind: String, key of `decodings`.
            evaluator: As that of `rescore()`.

        Returns:
            Dict of scores, as `SpeakerReport.result()` names them.
        """
        self.say(f"{name}: evaluating the {self.split} split, {kind}")
        decoder = self.decodings[kind]
        report = evaluator(decoder=decoder, human_captions=0)()
        if is_chief():
            report.save(self.path(name, f"captions_{kind}.json"))
        return report.result()

    def all_decoded(self, name, evaluator):
        """Scores of a point under all other decodings, by their names."""
        found = {}
        for kind in self.decodings:
            found |= _named(kind, self.decoded(name, kind, evaluator))
        return found

    def _rescored(self, name, file, lacking):
        """A kept report with more scores, and all scores to write down."""
        kept = self.path(name, f"{file}.json")
        report = SpeakerReport.load(kept).with_language(self.training_captions)
        metrics = [name for name in lacking if name in self.metrics]
        if metrics:
            report = report.rescored(metrics)
        if is_chief():
            report.save(kept)
        return report, self._more(name, report, metrics)

    def _more(self, name, report, metrics):
        """Scores that a report has got, and others of the same captions."""
        return report.result()

    def _pretrain(self, phase):
        if phase == SPEAKER and self._source is not None:
            self.say(f"{phase}: taken from {self._source}")
            take_pretrained(self._source, self.path(phase))
            return self.load(phase)
        self.say(f"{phase}: {self.phases[phase].__doc__.splitlines()[0]}")
        return self.phases[phase](self)


def _named(kind, scores):
    """Scores of another decoding, by their names in records."""
    return {
        f"{kind}_{name}": score
        for name, score in scores.items()
        if not name.startswith("human_")
    }
