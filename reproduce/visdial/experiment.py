"""One data set, one seed, and every row that was trained on it."""

import os
from dataclasses import asdict
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

import tfcap
from reproduce.study import Study
from reproduce.study import read_written
from reproduce.study import write_json
from reproduce.visdial.controls import answer_prior
from reproduce.visdial.controls import other_images
from reproduce.visdial.rows import ROWS
from reproduce.visdial.rows import needed
from reproduce.visdial.rows import train
from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tfcap._io import malformed
from tfcap._io import read_sealed
from tfcap.data import DialogBatches
from tfcap.decoding import Greedy
from tfcap.metrics import answer_statistics
from tfcap.text import Vocabulary
from tfcap.training import EvaluationCallback
from tfcap.training import from_chief
from tfcap.training import generate
from tfcap.training import is_chief
from tfcap.training import rank_candidates

_RANKINGS = {"generator": "generative", "discriminator": "discriminative"}


class DialogExperiment(Study):
    """Trains rows, keeps them, and ranks what they say.

    A row that is on disk is loaded; one that was interrupted goes on where it
    stopped. Under `directory`, each row has a folder with its networks
    (`generator.keras`, `discriminator.keras`), its figures (`result.json`),
    its greedy answers to the test split (`answers.json`) and its TensorBoard
    logs.

    Args:
        seed: Integer, of initial weights, batches and samples.
        verbose: 1 for progress bars, 0 for silence.
        validation_dialogs: Integer, at most how many dialogs are ranked after
            every epoch; 0 for none. Defaults to `100`.

    Raises:
        ValueError: If the directory holds an experiment with other settings,
            data or seed.
    """

    def __init__(
        self,
        data,
        settings,
        directory,
        seed=0,
        verbose=1,
        validation_dialogs=100,
    ):
        about = {
            "settings": asdict(settings),
            "seed": seed,
            "data": [data.name, len(data.train), len(data.test)],
            "digest": data.digest,
        }
        super().__init__(directory, about, seed, verbose)
        self.data = data
        self.settings = settings
        keep_inputs(data, directory)
        self.validation_dialogs = validation_dialogs
        self._kept = {}

    def networks(self, row: str, fresh=False):
        """The trained networks of a row by role, trained now if need be.

        Args:
            fresh: Boolean, whether to return copies that may be trained on.
        """
        if row not in ROWS:
            raise ValueError(
                f"`row` must be one of {', '.join(ROWS)}. Received: "
                f"row={row!r}."
            )
        if row not in self._kept:
            networks = self.load(row)
            if not networks:
                for other in needed(row, self.settings):
                    self.networks(other)
                self.say(f"{row}: {ROWS[row]['about']}")
                # Here, so that a row is the same after rows trained or loaded.
                keras.utils.set_random_seed(self.seed)
                networks = train(self, row)
            self._kept[row] = networks
        return self.load(row) if fresh else self._kept[row]

    def result(self, row):
        """The figures of a row on the test split.

        Returns:
            Dict with `generative` and `discriminative` metrics, as the row has
            them, and `answers`, statistics of its greedy answers. Metrics are
            those of a `RankingReport`, with `ndcg` where the split has dense
            annotations, and `mrr_other_images` and `ndcg_other_images`, the
            same where every dialog has the image of another one.
        """
        path = self.path(row, "result.json")
        if self.has(path):
            return read_written(path)
        networks = self.networks(row)
        self.say(f"{row}: ranking the test split")
        result = {}
        if "generator" in networks:
            generator = networks["generator"]
            result["generative"] = self._figures("generator", generator)
            answers = self._said(generator)
            result["answers"] = self._statistics(answers)
            write_json(self.path(row, "answers.json"), answers)
        if "discriminator" in networks:
            result["discriminative"] = self._figures(
                "discriminator", networks["discriminator"]
            )
        if is_chief():
            self._write(row, result)
        write_json(path, result)
        return result

    def report(self, rows):
        """The figures of several rows, with all that they depend on.

        Returns:
            Dict that JSON can hold: `data` and `dialogs`, what they were found
            on, `settings`, `seed`, `versions`, and `rows`, the `result()` of
            each after `answer_prior`, which asks no network.
        """
        train_split, test = self.data.train, self.data.test
        prior = answer_prior(train_split, test).result()
        modules = {"tfcap": tfcap, "keras": keras, "tensorflow": tf}
        return {
            "data": self.data.name,
            "dialogs": {"train": len(train_split), "test": len(test)},
            "settings": asdict(self.settings),
            "seed": self.seed,
            "versions": {
                name: module.__version__ for name, module in modules.items()
            },
            "rows": {
                "answer_prior": {"generative": prior, "discriminative": prior},
                **{row: self.result(row) for row in rows},
            },
        }

    def answers(
        self, row: str, decoder=None, limit: int | None = None
    ) -> list[str]:
        """Answers of a row's generator to the test split."""
        path = self.path(row, "answers.json")
        if decoder is None and os.path.exists(path):
            end = None if limit is None else limit * self.data.test.rounds
            return read_written(path)[:end]
        generator = self.networks(row)["generator"]
        return self._said(generator, decoder, limit)

    def fit(self, name, model, batches, epochs, callbacks=(), **networks):
        callbacks = [*callbacks, *self._validation(name, networks)]
        return super().fit(name, model, batches, epochs, callbacks, **networks)

    def _validation(self, name, networks):
        """A callback that ranks held-out candidates, in a list, if wanted."""
        if not self.validation_dialogs:
            return []
        role = next(role for role in _RANKINGS if role in networks)
        ranking = _RANKINGS[role]

        def evaluate():
            dialogs = self.data.validation
            features = self.data.validation_features
            if len(dialogs) > self.validation_dialogs:
                rows = np.arange(self.validation_dialogs)
                dialogs = dialogs.select(rows)
                features = features if callable(features) else features[rows]
            batches = self._batches(dialogs, features)
            size = self.settings.evaluation_batch_size
            return rank_candidates(networks[role], batches, size, verbose=0)

        writer = self._points(name, ranking, "validation")
        return [EvaluationCallback(evaluate, writer=writer)]

    def _points(self, row, ranking, split):
        """A writer of points for the Trade-off tab of TensorBoard."""
        folder = self.path(row, f"tradeoff_{split}_{ranking}")
        about = {"ranking": ranking}
        return TradeoffWriter(folder, row, about, self.seed, split=split)

    def _figures(self, role, network):
        """Metrics of a network on the test split, with its control."""
        test, features = self.data.test, self.data.test_features

        def ranked(features):
            batches = self._batches(test, features)
            size = self.settings.evaluation_batch_size
            how = {"batch_size": size, "verbose": self.bars}
            return rank_candidates(network, batches, **how).result()

        figures = ranked(features)
        if len(test) > 1:
            control = ranked(other_images(features, len(test), self.seed))
            for name in ("mrr", "ndcg"):
                if name in control:
                    figures[f"{name}_other_images"] = control[name]
        return figures

    def _batches(self, dialogs, features):
        size = min(len(dialogs), self.settings.evaluation_batch_size)
        return DialogBatches(dialogs, features, size, shuffle=False)

    def _said(self, generator, decoder=None, limit=None):
        length = self.data.train.answers.shape[1]
        tokens = generate(
            generator,
            decoder or Greedy(max_length=length),
            self._batches(self.data.test, self.data.test_features),
            batch_size=self.settings.evaluation_batch_size,
            limit=limit,
        )
        decode = self.data.train.vocabulary.decode
        return [decode(row) for row in tokens[:, 0]]

    def _statistics(self, answers):
        dialogs = self.data.train
        used = np.unique(dialogs.answer_index[dialogs.answer_index >= 0])
        corpus = {
            dialogs.vocabulary.decode(row) for row in dialogs.answers[used]
        }
        asked = self.data.test.question_index.reshape(-1) >= 0
        judge = self.data.judge
        return answer_statistics(
            [answer for answer, present in zip(answers, asked) if present],
            corpus,
        ) | (judge(answers) if judge else {})

    def _write(self, row, result):
        """Writes the test figures beside the training curves."""
        writer = tf.summary.create_file_writer(self.path(row, "test"))
        with writer.as_default(step=0):
            for group, values in result.items():
                for name, value in values.items():
                    tag = f"{group}/{name}".replace("@", "_")
                    tf.summary.scalar(tag, value)
        writer.close()
        for ranking in _RANKINGS.values():
            if ranking in result:
                metrics = dict(result[ranking])
                metrics.pop("count", None)
                if ranking == "generative":
                    metrics |= result.get("answers", {})
                with self._points(row, ranking, "test") as points:
                    points.point(0, metrics)


class Inputs(NamedTuple):
    """Words and image features as an experiment's networks know them.

    New images and dialogs must come to them alike, or ranks are wrong without
    a sign of it.

    Args:
        norm: Float, length that features were scaled to, or `None`.
        image: Pair of integers, positions P and width D of an image.
    """

    vocabulary: Vocabulary
    norm: float | None
    image: tuple


def keep_inputs(data, directory):
    """Writes the inputs of an experiment; refuses a folder of others.

    Raises:
        ValueError: If the folder's networks were given something else.
    """
    batches = DialogBatches(data.train, data.train_features, 1)
    image = batches.inputs(np.arange(1))["image"].shape[1:]
    inputs = Inputs(data.train.vocabulary, data.norm, tuple(image))
    path = os.path.join(str(directory), "inputs.json")
    # All workers write, or all compare.
    if not from_chief(os.path.exists(path)):
        words = list(inputs.vocabulary.words)
        content = {"norm": inputs.norm, "image": list(image), "words": words}
        write_json(path, content)
        return
    kept_inputs = load_inputs(directory)
    for name, known, given in zip(Inputs._fields, kept_inputs, inputs):
        if known != given:
            raise ValueError(
                f"`data` must have the `{name}` that the experiment in "
                f"{str(directory)!r} began with, {known!r}. Received: "
                f"{given!r}. Choose another folder, or the data of this one."
            )


def load_inputs(directory) -> Inputs:
    """Reads what `keep_inputs()` wrote.

    Raises:
        ValueError: If the file is absent or damaged.
    """
    path = os.path.join(str(directory), "inputs.json")
    hint = "Run the experiment's command again: it writes the file anew."
    if not os.path.exists(path):
        raise ValueError(
            "`directory` must be the folder of a visual dialog experiment. "
            f"Received: directory={str(directory)!r}, without inputs.json. "
            f"{hint}"
        )
    content = read_sealed(path, hint)
    try:
        norm = content["norm"]
        return Inputs(
            Vocabulary(content["words"]),
            None if norm is None else float(norm),
            tuple(int(size) for size in content["image"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        problem = f"there are no words, norm and image: {error!s:.80}"
        raise malformed(path, "", problem, hint) from error
