"""All rows on one data set with one seed."""

import os
from dataclasses import asdict

import keras
import numpy as np

from reproduce.study import Study
from reproduce.study import read_written
from reproduce.study import write_json
from reproduce.visdial.measures import answer_statistics
from reproduce.visdial.measures import other_images
from reproduce.visdial.rows import needed
from reproduce.visdial.rows import train
from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tfcap.data import DialogBatches
from tfcap.decoding import Greedy
from tfcap.metrics import answer_prior
from tfcap.training import EvaluationCallback
from tfcap.training import generate
from tfcap.training import is_chief
from tfcap.training import rank_candidates

_RANKINGS = {"generator": "generative", "discriminator": "discriminative"}


class DialogExperiment(Study):
    """Trains rows, saves them, and ranks candidate answers by them.

    A saved row is loaded; an interrupted one resumes. Under `directory`, each
    row has a folder with its networks (`generator.keras`,
    `discriminator.keras`), its scores (`result.json`), its greedy answers to
    the test split (`answers.json`) and its TensorBoard logs.

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
        self.validation_dialogs = validation_dialogs
        self._kept = {}

    def networks(self, row: str, fresh=False):
        """The networks of a row by role, trained first if necessary.

        Args:
            fresh: Boolean, whether to return copies that may be trained on.
        """
        if row not in self._kept:
            self._kept[row] = self.once(row, lambda: self._train(row))
        return self.load(row) if fresh else self._kept[row]

    def result(self, row):
        """The scores of a row on the test split.

        Returns:
            Dict with `generative` and `discriminative` metrics, if the row has
            them, and `answers`, statistics of its greedy answers. Metrics are
            those of a `RankingReport`, with `ndcg` if the split has dense
            annotations, and `mrr_other_images` and `ndcg_other_images`, for
            which every dialog has the image of another one.
        """
        path = self.path(row, "result.json")
        if self.has(path):
            return read_written(path)
        networks = self.networks(row)
        self.say(f"{row}: ranking the test split")
        result = {
            _RANKINGS[role]: self._figures(network)
            for role, network in networks.items()
        }
        if "generator" in networks:
            answers = self.answers(row)
            result["answers"] = self._statistics(answers)
            write_json(self.path(row, "answers.json"), answers)
        if is_chief():
            self._log(row, result)
        write_json(path, result)
        return result

    def report(self, rows):
        """The scores of several rows, with the settings, seed and data.

        Returns:
            Dict that JSON can hold: the settings, seed and data of the study,
            and `rows`, the `result()` of each, after `answer_prior`, which
            needs no network.
        """
        prior = answer_prior(self.data.train, self.data.test).result()
        figures = {
            "answer_prior": {"generative": prior, "discriminative": prior},
            **{row: self.result(row) for row in rows},
        }
        return {**self.about, "rows": figures}

    def answers(
        self, row: str, decoder=None, limit: int | None = None
    ) -> list[str]:
        """Answers of a row's generator to the test split.

        Args:
            decoder: Decoder of `tfcap.decoding`. Defaults to `None`, greedy.
            limit: Integer, at most how many dialogs. Defaults to `None`, all.
        """
        path = self.path(row, "answers.json")
        if decoder is None and os.path.exists(path):
            end = None if limit is None else limit * self.data.test.rounds
            return read_written(path)[:end]
        tokens = generate(
            self.networks(row)["generator"],
            decoder or Greedy(max_length=self.data.train.answers.shape[1]),
            self._batches(self.data.test, self.data.test_features),
            batch_size=self.settings.evaluation_batch_size,
            limit=limit,
        )
        decode = self.data.train.vocabulary.decode
        return [decode(words) for words in tokens[:, 0]]

    def fit(self, name, model, batches, epochs, **networks):
        validation = self._validation(name, networks)
        return super().fit(name, model, batches, epochs, validation, **networks)

    def _train(self, row):
        for other in needed(row, self.settings):
            self.networks(other)
        self.say(f"{row}: training")
        # Here, so that a row is the same after rows trained or loaded.
        keras.utils.set_random_seed(self.seed)
        return train(self, row)

    def _validation(self, name, networks):
        """A list with the callback that ranks validation dialogs, if wanted."""
        if not self.validation_dialogs:
            return []
        role, network = next(iter(networks.items()))

        def evaluate():
            dialogs = self.data.validation
            features = self.data.validation_features
            if len(dialogs) > self.validation_dialogs:
                rows = np.arange(self.validation_dialogs)
                dialogs = dialogs.select(rows)
                features = features if callable(features) else features[rows]
            return self._ranked(network, dialogs, features, verbose=0)

        writer = self._points(name, _RANKINGS[role], "validation")
        return [EvaluationCallback(evaluate, writer=writer)]

    def _figures(self, network):
        """Metrics of a network on the test split, with other images as well."""
        test, features = self.data.test, self.data.test_features
        figures = self._ranked(network, test, features, self.bars).result()
        if len(test) > 1:
            others = other_images(features, len(test), self.seed)
            control = self._ranked(network, test, others, self.bars).result()
            for name in ("mrr", "ndcg"):
                if name in control:
                    figures[f"{name}_other_images"] = control[name]
        return figures

    def _ranked(self, network, dialogs, features, verbose):
        batches = self._batches(dialogs, features)
        size = self.settings.evaluation_batch_size
        return rank_candidates(network, batches, size, verbose=verbose)

    def _batches(self, dialogs, features):
        size = min(len(dialogs), self.settings.evaluation_batch_size)
        return DialogBatches(dialogs, features, size, shuffle=False)

    def _statistics(self, answers):
        """Diversity of answers, and their truth if it is known."""
        dialogs = self.data.train
        used = np.unique(dialogs.answer_index[dialogs.answer_index >= 0])
        corpus = map(dialogs.vocabulary.decode, dialogs.answers[used])
        asked = self.data.test.question_index.reshape(-1) >= 0
        said = [answer for answer, present in zip(answers, asked) if present]
        judge = self.data.judge
        truth = judge(answers) if judge else {}
        return answer_statistics(said, corpus) | truth

    def _log(self, row, result):
        """Writes the test scores beside the training curves."""
        for ranking in result.keys() - {"answers"}:
            metrics = dict(result[ranking])
            metrics.pop("count", None)
            if ranking == "generative":
                metrics |= result["answers"]
            with self._points(row, ranking, "test") as points:
                points.point(0, metrics)

    def _points(self, row, ranking, split):
        """A writer of points for the Trade-off tab of TensorBoard."""
        folder = self.path(row, f"tradeoff_{split}_{ranking}")
        about = {"ranking": ranking}
        return TradeoffWriter(folder, row, about, self.seed, split=split)
