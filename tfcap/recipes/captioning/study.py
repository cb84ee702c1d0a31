"""One data set, one seed: both players, alone and together."""

import os

import keras

from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tfcap.recipes.captioning.methods import METHODS
from tfcap.recipes.captioning.methods import Task
from tfcap.recipes.captioning.networks import without_dropout
from tfcap.recipes.captioning.phases import PHASES
from tfcap.recipes.captioning.speaker_study import SpeakerStudy
from tfcap.recipes.study import write_json
from tfcap.text.json_file import read_json
from tfcap.training import CollapseWarning
from tfcap.training import SpeakerEvaluation
from tfcap.training import SpeakerEvaluator
from tfcap.training import is_chief

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
        verbose: 1 for progress bars, 0 for silence.

    Raises:
        ValueError: If the directory holds a study of other settings, data or
            seed.
    """

    phases = PHASES

    def networks(self, phase, fresh=False):
        if phase == "speaker_cider" and not self.settings.cider_epochs:
            phase = "speaker_mle"
        return super().networks(phase, fresh)

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
        if not self.has(path):
            found = self._evaluate(method, name, trade, rho, temperature)
            write_json(path, found)
        if method not in HUMAN:
            self.rescore(name)
            return read_json(path)
        # What people say is not asked how natural it is.
        return dict.fromkeys(self.metrics) | read_json(path)

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
        game.compile()
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
            SpeakerEvaluation(evaluator, self.evaluate_every, writer=writer)
        ]

    def _evaluate(self, method, name, trade, rho, temperature):
        fixed = self.networks("listener_gt")["listener"]
        if method in PHASES:
            speaker = self.networks(
                "speaker_mle" if method == "listener_gt" else method
            )["speaker"]
            listener = fixed
        else:
            of = "psst_multinomial" if method in HUMAN else method
            found = self.trained(of, trade, rho, temperature)
            speaker, listener = found["speaker"], found["listener"]
        self.say(f"{name}: evaluating the {self.split} split")
        evaluator = self._evaluator(
            speaker, listener, self.split, other_listeners={"fixed": fixed}
        )
        report = evaluator()
        if is_chief():
            report.save(self.path(name, "captions.json"))
        found = report.result()
        if method in HUMAN:
            # What people say has a recall, and nothing to be compared with.
            human = {k: v for k, v in found.items() if k.startswith("human_")}
            found = {k.removeprefix("human_"): v for k, v in human.items()}
        return found

    def _evaluator(self, speaker, listener, split, **options):
        return SpeakerEvaluator(
            speaker,
            listener,
            self.batches(split, shuffle=False),
            decoder=self.greedy,
            metrics=self.metrics,
            batch_size=self.settings.evaluation_batch_size,
            **{"verbose": self.verbose, **options},
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
