"""One data set, one seed: a speaker that learns to stand out."""

import os

import keras

from tfcap.objectives import Judging
from tfcap.recipes.captioning.networks import without_dropout
from tfcap.recipes.captioning.speaker_study import SpeakerStudy
from tfcap.recipes.distinctive.mining import mined_neighbors
from tfcap.recipes.distinctive.plan import Task
from tfcap.recipes.distinctive.retriever import train_retriever
from tfcap.recipes.distinctive.rows import ROWS
from tfcap.recipes.study import read_json
from tfcap.recipes.study import write_json
from tfcap.training import Game
from tfcap.training import Player
from tfcap.training import SpeakerEvaluator
from tfcap.training import SpeakerReport

#: The row before any reward.
PRETRAINED = ("tf",)


class DistinctiveStudy(SpeakerStudy):
    """Pretrains a speaker and its judges, and trains it on for rewards.

    Under `directory`, each row has a folder with its speaker, its scores
    (`result.json`), its captions with the ranks of their images
    (`captions.json`) and its TensorBoard logs. What is there is loaded; what
    was interrupted goes on where it stopped.

    Args:
        data: `tfcap.recipes.captioning.CaptionData`.
        settings: `DistinctiveSettings`.
        directory: String or path.
        seed: Integer, of initial weights, batches and samples.
        split: String, `"test"` or `"validation"`: what is evaluated. Defaults
            to `"test"`.
        metrics: Names of further scores, such as `"meteor"`.
        retriever: Object that embeds images and texts and stays as it is,
            such as what `tfcap.models.clip_retriever()` returns. Defaults to
            one that is trained now, on the same data.
        unseen: Another one, that no row is trained for. Defaults to one that
            is trained now.
        retriever_features: Dict of what the retrievers see of the images, by
            split, where that is not what the speaker sees, see
            `tfcap.data.CaptionBatches`. Defaults to `None`.
        verbose: 1 for progress bars, 0 for silence.

    Raises:
        ValueError: If the directory holds a study of other settings, data or
            seed.
    """

    def __init__(
        self,
        data,
        settings,
        directory,
        seed=0,
        split="test",
        metrics=(),
        retriever=None,
        unseen=None,
        retriever_features=None,
        verbose=1,
    ):
        super().__init__(data, settings, directory, seed, split, verbose)
        self.metrics = tuple(metrics)
        self.retriever_features = retriever_features or {}
        self._retrievers = {"retriever": retriever, "unseen": unseen}

    def result(self, row, alpha=None):
        """The record of a row, which is trained now if it was not.

        Args:
            row: String, key of `ROWS`, or one of `PRETRAINED`.
            alpha: Float, weight of similarity. Defaults to that of the
                settings.

        Returns:
            Dict of scores of the best captions of a beam search, as
            `tfcap.training.SpeakerReport.result()` names them; what the
            retriever that nobody trains for makes of them after `"unseen_"`.
        """
        name = row_name(row, alpha)
        path = self.path(name, "result.json")
        if not os.path.exists(path):
            speaker = self.trained(row, alpha)
            self.say(f"{name}: evaluating the {self.split} split")
            report = self._evaluate(speaker)
            report.save(self.path(name, "captions.json"))
            write_json(path, report.result())
        self._rescore(name)
        return read_json(path)

    def trained(self, row, alpha=None):
        """The speaker of a row, trained now if it was not."""
        if row in PRETRAINED:
            return self.networks("speaker_mle")["speaker"]
        name = row_name(row, alpha)
        keras.utils.set_random_seed(self.seed)

        def train():
            return self._train(row, name, alpha)

        return self.once(name, train)["speaker"]

    def report(self, row, alpha=None):
        """The captions of a row, as `SpeakerReport`."""
        path = self.path(row_name(row, alpha), "captions.json")
        return SpeakerReport.load(path)

    def retriever(self, name="retriever"):
        """A retriever, trained now if it was not.

        Args:
            name: `"retriever"`, or `"unseen"`.
        """
        if self._retrievers[name] is None:
            # Two that begin alike might err alike.
            seed = 2 * self.seed + (name == "unseen")
            self._retrievers[name] = train_retriever(
                self.data,
                getattr(self.settings, name),
                os.path.join(self.directory, name),
                seed,
                self.verbose,
            )
        return self._retrievers[name]

    def starting_speaker(self):
        """A fresh speaker, as it is before it learns for a reward."""
        speaker = self.networks("speaker_mle", fresh=True)["speaker"]
        if not self.settings.reward_dropout:
            without_dropout(speaker)
        return speaker

    def batches(self, split="train", batch_size=None, **options):
        seen = self.retriever_features.get(split)
        options["retriever_features"] = seen
        return super().batches(split, batch_size, **options)

    def reward_batches(self):
        """`tfcap.data.CaptionBatches` with neighbors of every image."""
        settings = self.settings
        options = {"batch_size": settings.reward_batch_size}
        if settings.neighbors:
            options["neighbors"] = mined_neighbors(
                self.retriever(),
                self.batches(shuffle=False),
                os.path.join(self.directory, "neighbors.npz"),
                settings.neighbors,
            )
            options["kept_neighbors"] = settings.kept_neighbors
        return self.batches(**options)

    def _train(self, row, name, alpha):
        settings = self.settings
        task, plan = self._plan(row, alpha)
        self.say(f"{name}: {ROWS[row].__doc__.splitlines()[0]}")
        rate = settings.reward_rate
        if settings.warm_up_steps:
            rate = keras.optimizers.schedules.CosineDecay(
                0.0,
                1,
                alpha=1.0,
                warmup_target=rate,
                warmup_steps=settings.warm_up_steps,
            )
        adam, clipnorm = keras.optimizers.Adam(rate), settings.clipnorm
        players = {
            "speaker": Player(task.speaker, plan.objective, adam, clipnorm)
        }
        if plan.discriminator is not None:
            judging = Judging(
                plan.discriminator,
                task.beam,
                mismatched=0.0,
                retriever=task.retriever,
                image=task.image,
            )
            adam = keras.optimizers.Adam(settings.discriminator_rate)
            judge = Player(plan.discriminator, judging, adam, clipnorm)
            players["discriminator"] = judge
        game = Game(task.speaker, players)
        game.compile()
        return self.fit(
            name,
            game,
            self.reward_batches(),
            settings.reward_epochs,
            speaker=task.speaker,
        )

    def _plan(self, row, alpha=None):
        """A fresh speaker, and what is to be done with it."""
        alpha = self.settings.alpha if alpha is None else alpha
        task = Task(self, self.starting_speaker(), alpha)
        return task, ROWS[row](task)

    def _evaluate(self, speaker):
        task = Task(self, speaker, self.settings.alpha)
        return SpeakerEvaluator(
            speaker,
            task.retriever,
            self.batches(self.split, shuffle=False),
            decoder=task.beam,
            metrics=self.metrics,
            other_listeners={"unseen": self.retriever("unseen")},
            batch_size=self.settings.evaluation_batch_size,
            verbose=self.verbose,
        )()

    def _rescore(self, name):
        """Adds scores that nobody asked for when a row was evaluated."""
        path = self.path(name, "result.json")
        found = read_json(path)
        lacking = [metric for metric in self.metrics if metric not in found]
        if lacking:
            self.say(f"{name}: {', '.join(lacking)}")
            kept = self.path(name, "captions.json")
            report = SpeakerReport.load(kept).rescored(lacking)
            report.save(kept)
            for absence in report.absent.values():
                self.say(str(absence))
            write_json(path, report.result())


def row_name(row, alpha=None):
    """The folder of a row, within the study's."""
    name = row if alpha is None else f"{row}_alpha_{alpha:g}"
    return os.path.join("rows", name)
