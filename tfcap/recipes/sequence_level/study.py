"""One data set, one seed: a speaker, and what rewards make of it."""

import os

import keras

from tfcap.decoding import BeamSearch
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.recipes.captioning.networks import without_dropout
from tfcap.recipes.captioning.speaker_study import SpeakerStudy
from tfcap.recipes.sequence_level.exploration import EXPLORATION
from tfcap.recipes.sequence_level.plan import Task
from tfcap.recipes.sequence_level.policy_gradient import POLICY_GRADIENT
from tfcap.recipes.study import read_json
from tfcap.recipes.study import write_json
from tfcap.text import evaluate_captions
from tfcap.training import FallingScoreWarning
from tfcap.training import Game
from tfcap.training import Player
from tfcap.training import SpeakerEvaluation
from tfcap.training import SpeakerEvaluator
from tfcap.training import SpeakerReport
from tfcap.training import evaluate_diversity
from tfcap.training.speaker_evaluator import NATURALNESS

#: Rows before any reward: the two papers' names of maximum likelihood.
PRETRAINED = ("xe", "mle")
#: Every row that is trained for a reward, by its name in records.
ROWS = {**EXPLORATION, **POLICY_GRADIENT}
#: Rows that an alpha moves.
WITH_ALPHA = ("sll_sle",)


class SequenceLevelStudy(SpeakerStudy):
    """Pretrains a speaker, and trains it on for rewards.

    Under `directory`, each row has a folder with its speaker, its scores
    (`result.json`), its greedy captions (`captions.json`), the several
    captions of every image (`several.json`) and its TensorBoard logs. What is
    there is loaded; what was interrupted goes on where it stopped.

    Args:
        data: `tfcap.recipes.captioning.CaptionData`.
        settings: `SequenceLevelSettings`.
        directory: String or path.
        seed: Integer, of initial weights, batches and samples.
        split: String, `"test"` or `"validation"`: what is evaluated. Defaults
            to `"test"`.
        evaluate_every: Integer, epochs between evaluations of the greedy
            captions of the validation split; 0 for none. A score that keeps
            falling is warned of. Defaults to `0`.
        metrics: Names of further scores, such as `"meteor"` and `"bcmr"`.
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
        evaluate_every=0,
        metrics=(),
        verbose=1,
    ):
        super().__init__(data, settings, directory, seed, split, verbose)
        self.evaluate_every = evaluate_every
        self.metrics = tuple(metrics)

    def result(self, row, alpha=None, rate=None):
        """The record of a row, which is trained now if it was not.

        Args:
            row: String, key of `ROWS`, or one of `PRETRAINED`.
            alpha: Float, for `"sll_sle"`. Defaults to that of the settings.
            rate: Float, learning rate of the speaker. Defaults to that of the
                settings.

        Returns:
            Dict of scores: of greedy captions, as `SpeakerReport.result()`
            names them; after `"beam_"`, of the best captions of a beam
            search; after `"rs_"` and `"bs_"`, of several captions of an
            image, drawn and found by beam search, as `DiversityReport` names
            them.
        """
        name = row_name(row, alpha, rate)
        path = self.path(name, "result.json")
        if not os.path.exists(path):
            speaker = self.trained(row, alpha, rate)
            self.say(f"{name}: evaluating the {self.split} split")
            write_json(path, self._evaluate(name, speaker))
        self._rescore(name)
        return read_json(path)

    def trained(self, row, alpha=None, rate=None):
        """The speaker of a row, trained now if it was not."""
        if row in PRETRAINED:
            return self.networks("speaker_mle")["speaker"]
        name = row_name(row, alpha, rate)
        keras.utils.set_random_seed(self.seed)

        def train():
            return self._train(row, name, alpha, rate)

        return self.once(name, train)["speaker"]

    def reward_batches(self):
        """`tfcap.data.CaptionBatches` to learn for a reward from."""
        return self.batches(batch_size=self.settings.reward_batch_size)

    def report(self, row, alpha=None, rate=None):
        """The greedy captions of a row, as `SpeakerReport`."""
        path = self.path(row_name(row, alpha, rate), "captions.json")
        return SpeakerReport.load(path)

    def _train(self, row, name, alpha, rate):
        task, plan = self._plan(row, alpha)
        self.say(f"{name}: learning for a reward")
        settings = self.settings
        rate = settings.reward_rate if rate is None else rate
        players = {"speaker": self._player(task.speaker, plan, rate)}
        if plan.baseline is not None:
            network = plan.baseline.network
            if plan.fit_first:
                network.set_weights(self._fitted_baseline(row, alpha))
            rate = settings.baseline_rate
            players["baseline"] = self._player(network, plan, rate)
        game = Game(task.speaker, players)
        game.compile()
        callbacks = [*plan.callbacks, *self._watch(task.speaker)]
        return self.fit(
            name,
            game,
            self.reward_batches(),
            settings.reward_epochs,
            callbacks,
            speaker=task.speaker,
        )

    def _plan(self, row, alpha):
        """A fresh speaker, and what is to be done with it."""
        speaker = self.networks("speaker_mle", fresh=True)["speaker"]
        if not self.settings.reward_dropout:
            without_dropout(speaker)
        alpha = self.settings.alpha if alpha is None else alpha
        task = Task(self, speaker, alpha)
        return task, ROWS[row](task)

    def _fitted_baseline(self, row, alpha):
        """Weights of the baseline, fitted while the speaker stays."""
        name = os.path.join("baselines", row)

        def fit():
            self.say(f"{name}: what the speaker is worth as it is")
            # Another plan than that of the speaker: a run that finds the
            # baseline on disk draws the same samples as one that fits it.
            task, plan = self._plan(row, alpha)
            network, rate = plan.baseline.network, self.settings.baseline_rate
            player = self._player(network, plan, rate)
            game = Game(task.speaker, {"baseline": player})
            game.compile()
            epochs = self.settings.baseline_epochs
            batches = self.reward_batches()
            return self.fit(name, game, batches, epochs, baseline=network)

        return self.once(name, fit)["baseline"].get_weights()

    def _player(self, network, plan, rate):
        warm_up = self.settings.warm_up_steps
        if warm_up:
            rate = keras.optimizers.schedules.CosineDecay(
                0.0, 1, alpha=1.0, warmup_target=rate, warmup_steps=warm_up
            )
        optimizer = keras.optimizers.Adam(rate)
        clipnorm = self.settings.clipnorm
        return Player(network, plan.objective, optimizer, clipnorm)

    def _watch(self, speaker):
        """Evaluation of held-out images, and a word where it gets worse."""
        if not self.evaluate_every:
            return []
        evaluator = self._evaluator(speaker, "validation", verbose=0)
        return [
            SpeakerEvaluation(evaluator, self.evaluate_every),
            FallingScoreWarning(),
        ]

    def _evaluate(self, name, speaker):
        settings = self.settings
        report = self._evaluator(speaker, self.split)()
        report.save(self.path(name, "captions.json"))
        decoders = {
            "rs": Sample(
                Categorical(seed=self.seed),
                settings.diversity_samples,
                settings.max_length,
                suppress=self.unsaid,
            ),
            "bs": BeamSearch(
                settings.beam_width, settings.max_length, suppress=self.unsaid
            ),
        }
        batches = self.batches(self.split, shuffle=False)
        size = settings.evaluation_batch_size
        found, several = report.result(), {}
        if self.data.judge is not None and self.split == "test":
            found |= self.data.judge(report.captions)
        for key, decoder in decoders.items():
            told = evaluate_diversity(
                speaker, batches, decoder, batch_size=size
            )
            found |= {f"{key}_{k}": v for k, v in told.scores.items()}
            several[key] = told.captions
        write_json(self.path(name, "several.json"), several)
        return found | self._beam_scores(name, report, NATURALNESS)

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
            found |= report.result() | self._beam_scores(name, report, lacking)
            write_json(path, found)

    def _beam_scores(self, name, report, metrics):
        """Scores of the best captions of the beams."""
        beams = read_json(self.path(name, "several.json"))["bs"]
        best = [captions[0] for captions in beams]
        told = evaluate_captions(best, report.references, metrics)
        return {f"beam_{k}": float(s.corpus) for k, s in told.scores.items()}

    def _evaluator(self, speaker, split, **options):
        """What scores the greedy captions; nobody listens."""
        return SpeakerEvaluator(
            speaker,
            None,
            self.batches(split, shuffle=False),
            decoder=self.greedy,
            batch_size=self.settings.evaluation_batch_size,
            **{"verbose": self.verbose, **options},
        )


def row_name(row, alpha=None, rate=None):
    """The folder of a row, within the study's."""
    parts = [row]
    parts += [] if alpha is None else [f"alpha_{alpha:g}"]
    parts += [] if rate is None else [f"rate_{rate:g}"]
    return os.path.join("rows", "_".join(parts))
