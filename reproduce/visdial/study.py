"""One data set, one seed, and every row that was trained on it."""

from dataclasses import asdict

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
from reproduce.visdial.study_inputs import keep_inputs
from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tfcap.data import DialogBatches
from tfcap.decoding import Greedy
from tfcap.io import is_there
from tfcap.metrics import answer_statistics
from tfcap.training import EvaluationCallback
from tfcap.training import discriminative_ranking
from tfcap.training import generate
from tfcap.training import generative_ranking
from tfcap.training import is_chief


class DialogStudy(Study):
    """Trains rows, keeps them, and ranks what they say.

    A row that is on disk is loaded; one that was interrupted goes on where it
    stopped. Under `directory`, each row has a folder with its networks
    (`generator.keras`, `discriminator.keras`), its figures (`result.json`),
    its greedy answers to the test split (`answers.json`) and its TensorBoard
    logs.

    Args:
        data: `DialogData`.
        settings: `reproduce.DialogSettings`.
        directory: String or path.
        seed: Integer, of initial weights, batches and samples.
        verbose: 1 for progress bars, 0 for silence.
        validation_dialogs: Integer, at most how many dialogs are ranked after
            every epoch; 0 for none. Defaults to `100`.

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

    def networks(self, row, fresh=False):
        """The trained networks of a row by role, trained now if need be.

        Args:
            row: String, key of `reproduce.ROWS`.
            fresh: Boolean, whether to return copies that may be trained on.
        """
        if row not in ROWS:
            raise ValueError(
                f"`row` must be one of {', '.join(ROWS)}. Received: "
                f"row={row!r}."
            )
        if row not in self._kept:
            found = self.load(row)
            if not found:
                for other in needed(row, self.settings):
                    self.networks(other)
                self.say(f"{row}: {ROWS[row]['about']}")
                # Here, so that a row is the same after rows trained or loaded.
                keras.utils.set_random_seed(self.seed)
                found = train(self, row)
            self._kept[row] = found
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
            result["generative"] = self._figures(generative_ranking, generator)
            said = self._said(generator)
            result["answers"] = self._statistics(said)
            write_json(self.path(row, "answers.json"), said)
        if "discriminator" in networks:
            result["discriminative"] = self._figures(
                discriminative_ranking, networks["discriminator"]
            )
        if is_chief():
            self._write(row, result)
        write_json(path, result)
        return result

    def report(self, rows):
        """The figures of several rows, with all that they depend on.

        Args:
            rows: Iterable of strings.

        Returns:
            Dict that JSON can hold: `data` and `dialogs`, what they were found
            on, `settings`, `seed`, `versions`, and `rows`, the `result()` of
            each after `answer_prior`, which asks no network.
        """
        modules = {"tfcap": tfcap, "keras": keras, "tensorflow": tf}
        return {
            "data": self.data.name,
            "dialogs": {
                "train": len(self.data.train),
                "test": len(self.data.test),
            },
            "settings": asdict(self.settings),
            "seed": self.seed,
            "versions": {
                name: module.__version__ for name, module in modules.items()
            },
            "rows": {
                "answer_prior": self._prior(),
                **{row: self.result(row) for row in rows},
            },
        }

    def answers(self, row, decoder=None, limit=None):
        """What a row's generator answers on the test split.

        Args:
            row: String.
            decoder: `tfcap.decoding.Decoder`. Defaults to `Greedy`.
            limit: Integer or `None`, number of dialogs.

        Returns:
            List of strings, a question each, for the first sample.
        """
        path = self.path(row, "answers.json")
        if decoder is None and is_there(path):
            end = None if limit is None else limit * self.data.test.rounds
            return read_written(path)[:end]
        generator = self.networks(row)["generator"]
        return self._said(generator, decoder, limit)

    def fit(self, name, model, batches, epochs, callbacks=(), **networks):
        callbacks = [*callbacks, *self._validation(name, networks)]
        return super().fit(name, model, batches, epochs, callbacks, **networks)

    def _prior(self):
        found = answer_prior(self.data.train, self.data.test).result()
        return {"generative": found, "discriminative": found}

    def _validation(self, name, networks):
        """A callback that ranks held-out candidates, in a list, if wanted."""
        if not self.validation_dialogs:
            return []
        rank, role = generative_ranking, "generator"
        if role not in networks:
            rank, role = discriminative_ranking, "discriminator"

        def evaluate():
            size = self.settings.evaluation_batch_size
            batches = self._split("validation")
            return rank(networks[role], batches, size, verbose=0)

        ranking = "generative" if role == "generator" else "discriminative"
        writer = self._points(name, ranking, "validation")
        return [EvaluationCallback(evaluate, writer=writer)]

    def _points(self, row, ranking, split):
        """Writes points for the Trade-off tab of TensorBoard."""
        return TradeoffWriter(
            self.path(row, f"tradeoff_{split}_{ranking}"),
            row,
            {"ranking": ranking},
            self.seed,
            split=split,
        )

    def _figures(self, rank, network):
        """Metrics of a network on the test split, with its control."""
        figures = self._rank(rank, network, self._split("test"))
        test = self.data.test
        if len(test) < 2:
            return figures
        others = other_images(self.data.test_features, len(test), self.seed)
        control = self._rank(rank, network, self._dialog_batches(test, others))
        for name in ("mrr", "ndcg"):
            if name in control:
                figures[f"{name}_other_images"] = control[name]
        return figures

    def _rank(self, rank, network, batches):
        size = self.settings.evaluation_batch_size
        return rank(network, batches, size, verbose=self.bars).result()

    def _split(self, split):
        dialogs = getattr(self.data, split)
        features = getattr(self.data, f"{split}_features")
        if split == "validation" and len(dialogs) > self.validation_dialogs:
            rows = np.arange(self.validation_dialogs)
            dialogs = dialogs.select(rows)
            features = features if callable(features) else features[rows]
        return self._dialog_batches(dialogs, features)

    def _dialog_batches(self, dialogs, features):
        size = min(len(dialogs), self.settings.evaluation_batch_size)
        return DialogBatches(dialogs, features, size, shuffle=False)

    def _said(self, generator, decoder=None, limit=None):
        length = self.data.train.answers.shape[1]
        tokens = generate(
            generator,
            decoder or Greedy(max_length=length),
            self._split("test"),
            batch_size=self.settings.evaluation_batch_size,
            limit=limit,
        )
        decode = self.data.train.vocabulary.decode
        return [decode(row) for row in tokens[:, 0]]

    def _statistics(self, said):
        train = self.data.train
        used = np.unique(train.answer_index[train.answer_index >= 0])
        corpus = {train.vocabulary.decode(row) for row in train.answers[used]}
        asked = self.data.test.question_index.reshape(-1) >= 0
        said = [answer for answer, there in zip(said, asked) if there]
        return answer_statistics(said, corpus)

    def _write(self, row, result):
        """Writes the test figures beside the training curves."""
        writer = tf.summary.create_file_writer(self.path(row, "test"))
        with writer.as_default(step=0):
            for group, values in result.items():
                for name, value in values.items():
                    tag = f"{group}/{name}".replace("@", "_")
                    tf.summary.scalar(tag, value)
        writer.close()
        for ranking in ("generative", "discriminative"):
            if ranking in result:
                metrics = dict(result[ranking])
                metrics.pop("count", None)
                if ranking == "generative":
                    metrics |= result.get("answers", {})
                with self._points(row, ranking, "test") as points:
                    points.point(0, metrics)
