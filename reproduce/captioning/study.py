"""One data set, one seed: both players, alone and together."""

import functools
import os

import keras

from reproduce.captioning.methods import METHODS
from reproduce.captioning.methods import Task
from reproduce.captioning.phases import PHASES
from reproduce.captioning.speaker_study import SpeakerStudy
from reproduce.study import read_written
from reproduce.study import write_json
from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tfcap.decoding import BeamSearch
from tfcap.models import without_dropout
from tfcap.training import CollapseWarning
from tfcap.training import EvaluationCallback
from tfcap.training import Evaluator
from tfcap.training import SpeakerReport
from tfcap.training import is_chief
from tfcap.training.speaker_report import RETRIEVAL

#: Rows of tables whose captions are human: what is asked is how the listener
#: understands those. They need no training of their own.
HUMAN = ("listener_gt", "gt_on_psst_listener")


class CaptioningStudy(SpeakerStudy):
    """Pretrains a speaker and a listener, and trains them together.

    Under `directory`, each phase and each point of a curve has a folder with
    its networks, its scores (`result.json`), every caption of the split with
    the rank of its image (`captions.json`) and its TensorBoard logs. What is
    there is loaded; what was interrupted goes on where it stopped.

    Args:
        data: `CaptionData`.
        settings: `CaptioningSettings`.
        directory: String or path.
        seed: Integer, of initial weights, batches and samples.
        split: String, `"test"` or `"validation"`: what is evaluated. Defaults
            to `"test"`.
        evaluate_every: Integer, epochs of joint training between evaluations
            on the validation split; 0 for none. Defaults to `0`.
        metrics: Names of further scores, `"meteor"` or `"spice"`.
        verbose: As that of `reproduce.study.Study`.

    Raises:
        ValueError: If the directory holds a study of other settings, data or
            seed.
    """

    phases = PHASES
    measures = ("lm_log_prob", "beam_lm_log_prob")

    @functools.cached_property
    def decodings(self):
        settings = self.settings
        beam = BeamSearch(
            settings.beam_width,
            settings.max_length,
            suppress=self.unsaid,
            no_repeat_ngram=settings.no_repeat_ngram,
            num_samples=1,
        )
        return {"beam": beam}

    def networks(self, phase, fresh=False):
        return super().networks(self.kept(phase), fresh)

    def kept(self, name):
        # Without a phase of its own, it is the speaker before.
        none = name == "speaker_cider" and not self.settings.cider_epochs
        return "speaker_mle" if none else name

    def result(self, method, trade=None, rho=None, temperature=None):
        """The record of a point, which is trained now if it was not.

        Args:
            method: String, key of `METHODS`, or one of `HUMAN`,
                `"speaker_mle"` or `"speaker_cider"`, which are points before
                any joint training.
            trade: Float, the paper's lambda, for all but `"g_gan"`.
            rho: Float. Defaults to that of the settings.
            temperature: Float. Defaults to that of the settings.

        Returns:
            Dict of scores, as `SpeakerReport.result()` names them.
        """
        name = point_name(method, trade, rho, temperature)
        path = self.path(name, "result.json")
        point = method, trade, rho, temperature
        if not self.has(path):
            write_json(path, self._evaluate(name, *point))
        if method not in HUMAN:
            self.rescore(name, lambda **told: self._asked(*point)(**told))
            return read_written(path)
        found = read_written(path)
        if "lm_log_prob" not in found:
            kept = SpeakerReport.load(self.path(name, "captions.json"))
            told = kept.with_language(self.training_captions).result()
            found = _human(method, told) | _fixed(method, found) | found
            write_json(path, found)
        # What people say is not asked how natural it is, or how decoded.
        return dict.fromkeys([*self.metrics, *self.measures]) | found

    def trained(self, method, trade, rho=None, temperature=None):
        """Fresh networks of a point, trained now if they were not."""
        name = point_name(method, trade, rho, temperature)

        def train():
            return self._train(method, name, trade, rho, temperature)

        keras.utils.set_random_seed(self.seed)
        self.once(name, train)
        return self.load(name)

    def folder(self, method, trade=None, rho=None, temperature=None):
        """Where a point is kept."""
        return self.path(point_name(method, trade, rho, temperature))

    def _train(self, method, name, trade, rho, temperature):
        """Joint training."""
        settings = self.settings
        speaker = self.networks("speaker_cider", fresh=True)["speaker"]
        listener = self.networks("listener_gt", fresh=True)["listener"]
        if not settings.joint_dropout:
            speaker, listener = map(without_dropout, (speaker, listener))
        task = Task(
            self,
            speaker,
            listener,
            trade,
            settings.rho if rho is None else rho,
            settings.temperature if temperature is None else temperature,
        )
        self.say(f"{name}: {METHODS[method].__doc__.splitlines()[0]}")
        game, callbacks = METHODS[method](task)
        rates = {"speaker": settings.joint_rate}
        game.compile(
            {
                name: self.optimizer(
                    rates.get(name, settings.joint_listener_rate)
                )
                for name in game.players
            }
        )
        options = {}
        if method in ("sr_pl", "sr_pl_code"):
            options["distractors"] = settings.batch_size
            options["distractor_features"] = self.data.unlabeled_features
        batches = self.batches(**options)
        about = (method, trade, rho, temperature)
        watch = self._watch(game, task, about)
        callbacks = [*callbacks, CollapseWarning(), *watch]
        networks = {"speaker": game.speaker, "listener": task.listener}
        epochs = settings.joint_epochs * game.period
        return self.fit(name, game, batches, epochs, callbacks, **networks)

    def _watch(self, game, task, about):
        """A callback that evaluates held-out images, in a list, if wanted."""
        if not self.evaluate_every:
            return []
        evaluator = self._evaluator(
            game.speaker, task.listener, "validation", verbose=0
        )
        method, *values = about
        names = ("lambda", "rho", "temperature")
        writer = TradeoffWriter(
            self.path(point_name(*about), "tradeoff"),
            method,
            {k: v for k, v in zip(names, values) if v is not None},
            self.seed,
            split="validation",
        )
        return [
            EvaluationCallback(evaluator, self.evaluate_every, writer=writer)
        ]

    def _evaluate(self, name, method, *settings):
        evaluator = self._asked(method, *settings)
        self.say(f"{name}: evaluating the {self.split} split")
        report = evaluator()()
        if is_chief():
            report.save(self.path(name, "captions.json"))
        found = report.result()
        if method in HUMAN:
            # What people say has a recall, and nothing to be compared with.
            return _human(method, found)
        return found | self.all_decoded(name, evaluator)

    def _asked(self, method, *settings):
        """A function that makes evaluators of a point's networks."""
        fixed = self.networks("listener_gt")["listener"]
        if method in PHASES:
            speaker = self.networks(
                "speaker_mle" if method == "listener_gt" else method
            )["speaker"]
            listener = fixed
        else:
            of = "psst_multinomial" if method in HUMAN else method
            found = self.trained(of, *settings)
            speaker, listener = found["speaker"], found["listener"]
        return functools.partial(
            self._evaluator,
            speaker,
            listener,
            self.split,
            other_listeners={"fixed": fixed},
        )

    def _evaluator(self, speaker, listener, split, **options):
        return Evaluator(
            speaker,
            self.batches(split, shuffle=False),
            listener,
            metrics=self.metrics,
            training_captions=self.training_captions,
            batch_size=self.settings.evaluation_batch_size,
            **{"decoder": self.greedy, "verbose": self.bars, **options},
        )


def point_name(method, trade=None, rho=None, temperature=None):
    """The folder of a point, within the study's."""
    if method in PHASES:
        return method
    parts = [method]
    parts += [] if trade is None else [f"lambda_{trade:g}"]
    parts += [] if rho is None else [f"rho_{rho:g}"]
    parts += [] if temperature is None else [f"tau_{temperature:g}"]
    return os.path.join("points", "_".join(parts))


def _human(method, scores):
    """Scores of human captions, under the names of a speaker's."""
    prefix = "human_"
    found = {
        name.removeprefix(prefix): score
        for name, score in scores.items()
        if name.startswith(prefix)
    }
    return found | _fixed(method, found)


def _fixed(method, scores):
    """The listener that is trained on human captions is the fixed one."""
    if method != "listener_gt":
        return {}
    return {f"fixed_{k}": scores[k] for k in RETRIEVAL if k in scores}
