"""One data set, one seed, and a speaker that has learned from people."""

import os
from dataclasses import asdict

import keras

from tfcap.data import CaptionBatches
from tfcap.decoding import Greedy
from tfcap.recipes.captioning.phases import speaker_alone
from tfcap.recipes.captioning.rates import rising
from tfcap.recipes.study import Study
from tfcap.recipes.study import write_json
from tfcap.text.json_file import read_json
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
        verbose: 1 for progress bars, 0 for silence.
        about: Dict of what else is the study's own, of which JSON can hold
            the values. Defaults to `None`.

    Attributes:
        phases: Dict of functions of the study that pretrain, by the name
            under which it keeps the networks.

    Raises:
        ValueError: If the directory holds a study of other settings, data or
            seed.
    """

    phases = {"speaker_mle": speaker_alone}

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
    ):
        about = {
            "settings": asdict(settings),
            "seed": seed,
            "data": [data.name, len(data.train), len(data.test)],
            **({} if split == "test" else {"split": split}),
            **(about or {}),
        }
        super().__init__(directory, about, seed, verbose)
        self.data = data
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

    def player(self, network, objective, rate, **turns):
        """Somebody who learns, at a rate that rises at first."""
        adam = keras.optimizers.Adam(rising(rate, self.settings.warm_up_steps))
        clipnorm = self.settings.clipnorm
        return Player(network, objective, adam, clipnorm, **turns)

    def rescore(self, name):
        """Adds scores that nobody asked for when a row was evaluated."""
        path = self.path(name, "result.json")
        found = read_json(path)
        lacking = [metric for metric in self.metrics if metric not in found]
        if lacking:
            self.say(f"{name}: {', '.join(lacking)}")
            kept = self.path(name, "captions.json")
            report = SpeakerReport.load(kept).rescored(lacking)
            if is_chief():
                report.save(kept)
            for absence in report.absent.values():
                self.say(str(absence))
            write_json(path, found | self._more(name, report, lacking))

    def _more(self, name, report, metrics):
        """Scores that a report has got, and others of the same captions."""
        return report.result()

    def _pretrain(self, phase):
        self.say(f"{phase}: {self.phases[phase].__doc__.splitlines()[0]}")
        return self.phases[phase](self)
