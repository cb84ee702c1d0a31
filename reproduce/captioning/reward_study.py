"""One data set, one seed: a speaker, and what rewards make of it."""

import functools
import os
from dataclasses import replace

import keras

from reproduce.captioning.plan import Partner
from reproduce.captioning.speaker_study import SpeakerStudy
from reproduce.study import read_written
from reproduce.study import write_json
from tfcap.models import without_dropout
from tfcap.training import EvaluationCallback
from tfcap.training import Evaluator
from tfcap.training import FallingScoreWarning
from tfcap.training import Game
from tfcap.training import SpeakerReport
from tfcap.training import is_chief


class RewardStudy(SpeakerStudy):
    """Pretrains a speaker, and trains it on for rewards, a row at a time.

    Under `directory`, each row has a folder with its speaker, its scores
    (`result.json`), its captions (`captions.json`) and its TensorBoard logs.
    What is there is loaded; what was interrupted goes on where it stopped.

    Args:
        *args, **options: As `SpeakerStudy`, with `RewardSettings`. What is
            evaluated while a row is trained are greedy captions; CIDEr-D that
            keeps falling is warned of.

    Attributes:
        rows: Dict of functions by the name of a row, each from a task to a
            `Plan`.
        pretrained: Tuple of strings, names of the row before any reward.
        task: Class of what a row is given, made of the study, a fresh speaker
            and the settings of this point.
    """

    rows, pretrained, task = {}, (), None

    def result(self, row, **point):
        """The record of a row, which is trained now if it was not.

        Args:
            row: String, key of `rows`, or one of `pretrained`.
            **point: Settings of this point that are not the study's, by their
                names; `reward_rate` is told as `rate`.

        Returns:
            Dict of scores.
        """
        name = row_name(row, **point)
        path = self.path(name, "result.json")
        if not self.has(path):
            speaker = self.trained(row, **point)
            self.say(f"{name}: evaluating the {self.split} split")
            write_json(path, self._evaluate(name, speaker))
        self.rescore(
            name,
            lambda **told: self._evaluator(
                self.trained(row, **point), self.split, **told
            ),
        )
        return read_written(path)

    def trained(self, row, **point):
        """The speaker of a row, trained now if it was not."""
        if row in self.pretrained:
            return self.networks("speaker_mle")["speaker"]
        name = row_name(row, **point)
        keras.utils.set_random_seed(self.seed)

        def train():
            return self._train(row, name, point)

        return self.once(name, train)["speaker"]

    def report(self, row, **point):
        """The captions of a row, as `tfcap.training.SpeakerReport`."""
        path = self.path(row_name(row, **point), "captions.json")
        return SpeakerReport.load(path)

    def kept(self, name):
        pretrained = os.path.basename(name) in self.pretrained
        return "speaker_mle" if pretrained else name

    def starting_speaker(self):
        """A fresh speaker, as it is before it learns for a reward."""
        speaker = self.networks("speaker_mle", fresh=True)["speaker"]
        if not self.settings.reward_dropout:
            without_dropout(speaker)
        return speaker

    def reward_batches(self):
        """`tfcap.data.CaptionBatches` to learn for a reward from."""
        return self.batches(batch_size=self.settings.reward_batch_size)

    def plan(self, row, **point):
        """What a row is given, and the `Plan` that it makes of it."""
        rate = point.pop("rate", self.settings.reward_rate)
        settings = replace(self.settings, reward_rate=rate, **point)
        task = self.task(self, self.starting_speaker(), settings)
        return task, self.rows[row](task)

    def _train(self, row, name, point):
        task, plan = self.plan(row, **point)
        self.say(f"{name}: learning for a reward")
        rate = task.settings.reward_rate
        who = {"speaker": Partner(task.speaker, plan.objective, rate)}
        who |= self._prepared(row, plan, point)
        players = {k: self.player(*p[:2]) for k, p in who.items()}
        game = Game(task.speaker, players)
        game.compile({k: self.optimizer(p.rate) for k, p in who.items()})
        return self.fit(
            name,
            game,
            self.reward_batches(),
            self.settings.reward_epochs,
            [*plan.callbacks, *self._watch(task.speaker)],
            speaker=task.speaker,
        )

    def _prepared(self, row, plan, point):
        """The partners of a plan, ready to play."""
        return plan.partners

    def _watch(self, speaker):
        """Evaluation of held-out images, and a word where it gets worse."""
        if not self.evaluate_every:
            return []
        evaluator = self._evaluator(speaker, "validation", verbose=0)
        return [
            EvaluationCallback(evaluator, self.evaluate_every),
            FallingScoreWarning(),
        ]

    def _evaluate(self, name, speaker):
        """Scores of a speaker, whose captions are kept."""
        report = self._evaluator(speaker, self.split)()
        if is_chief():
            report.save(self.path(name, "captions.json"))
        found = report.result()
        if self.data.judge is not None and self.split == "test":
            found |= self.data.judge(report.captions)
        evaluator = functools.partial(self._evaluator, speaker, self.split)
        return found | self.all_decoded(name, evaluator)

    def _evaluator(self, speaker, split, listener=None, **options):
        """What scores the greedy captions; by default, nobody listens."""
        return Evaluator(
            speaker,
            self.batches(split, shuffle=False),
            listener,
            training_captions=self.training_captions,
            batch_size=self.settings.evaluation_batch_size,
            **{"decoder": self.greedy, "verbose": self.bars, **options},
        )


def row_name(row, **point):
    """The folder of a row, within the study's."""
    parts = [f"{k}_{v:g}" for k, v in point.items()]
    return os.path.join("rows", "_".join([row, *parts]))
