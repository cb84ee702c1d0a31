"""A small dual encoder, trained on human captions."""

import os
from dataclasses import asdict
from dataclasses import dataclass

import keras
import numpy as np

from reproduce.captioning.caption_data import about_data
from reproduce.study import Study
from tfcap._io import load_arrays
from tfcap._io import save_arrays
from tfcap.data import CaptionBatches
from tfcap.data import nearest_neighbors
from tfcap.losses import BidirectionalContrastiveLoss
from tfcap.models import DualEncoder
from tfcap.models import RetrievalListener
from tfcap.training import from_chief
from tfcap.training import is_chief

NETWORKS = {"dual_encoder": DualEncoder, "listener": RetrievalListener}


@dataclass(frozen=True)
class RetrieverSettings:
    """Hyperparameters of a retriever's training.

    Args:
        units: Integer, size of the common space.
        temperature: Float, of the contrastive loss.
        batch_size: Integer, images in a batch.
        epochs: Integer, passes over all human captions.
        rate: Float, learning rate, which falls to a twentieth along a cosine.
    """

    network: str = "dual_encoder"
    units: int = 256
    embedding_units: int = 128
    image_dropout: float = 0.2
    word_dropout: float = 0.2
    temperature: float = 0.07
    batch_size: int = 128
    epochs: int = 8
    rate: float = 1e-3


#: Settings by the name of the data.
RETRIEVER_SETTINGS = {
    "world": RetrieverSettings(),
    "flickr8k": RetrieverSettings(),
    "quick": RetrieverSettings(
        units=32, embedding_units=32, batch_size=8, epochs=1
    ),
}


def train_retriever(
    data, settings: RetrieverSettings, directory, seed: int = 0, verbose=1
):
    """A retriever of a data set, trained if necessary.

    Raises:
        ValueError: If the directory holds another retriever.
    """
    about = {"settings": asdict(settings), "seed": seed, **about_data(data)}
    study = Study(directory, about, seed, verbose)
    path = os.path.join(study.directory, "vocabulary.json")
    if is_chief():
        data.vocabulary.save(path)
    batches = _batches(data, "train", settings, seed)

    def train():
        keras.utils.set_random_seed(seed)
        ready = data.image_preprocessing()
        network = _network(settings, batches, seed, ready)
        rate = keras.optimizers.schedules.CosineDecay(
            settings.rate, settings.epochs * batches.steps_per_epoch, alpha=0.05
        )
        network.compile(
            keras.optimizers.Adam(rate),
            BidirectionalContrastiveLoss(settings.temperature, decoupled=False),
        )
        return study.fit(
            "retriever", network, batches, settings.epochs, retriever=network
        )

    return study.once("retriever", train)["retriever"]


def retriever(experiment, name="retriever"):
    """A retriever of the experiment, trained if necessary.

    Args:
        name: `"retriever"`, which rewards, or `"unseen"`, which rewards no
            row.
    """
    given = experiment.given
    if given.get(name) is None:
        # Networks with the same initial weights might make the same errors.
        given[name] = train_retriever(
            experiment.data,
            getattr(experiment.settings, name),
            os.path.join(experiment.directory, name),
            2 * experiment.seed + (name == "unseen"),
            experiment.verbose,
        )
    return given[name]


def neighbors(experiment):
    """Options of batches with images that are similar to each one."""
    settings = experiment.settings
    if not settings.neighbors:
        return {}
    # A small set has fewer others.
    count = min(settings.neighbors, len(experiment.data.train) - 1)
    rows = mined_neighbors(
        retriever(experiment),
        experiment.batches(shuffle=False),
        os.path.join(experiment.directory, "neighbors.npz"),
        count,
    )
    kept = settings.kept_neighbors
    if kept is not None:
        rows = rows[:, sorted({min(nearest, count - 1) for nearest in kept})]
    return {"neighbors": rows}


def mined_neighbors(retriever, batches, path, k: int = 5):
    """The k nearest neighbors of each image, computed if necessary.

    Returns:
        Int32 array of shape `(M, k)`, for the `neighbors` of
        `tfcap.data.CaptionBatches`.

    Raises:
        ValueError: If the file is of another split, or has fewer neighbors.
    """
    image_ids = np.array(np.asarray(batches.captions.image_ids).tolist())
    if from_chief(os.path.exists(path)):
        kept = load_arrays(path, ("image_ids", "rows"))
        rows = kept["rows"]
        same = np.array_equal(kept["image_ids"], image_ids)
        if not same or rows.shape[1] < k:
            raise ValueError(
                f"`path` must hold {k} neighbors of each image of the split. "
                f"Received: path={str(path)!r}, which holds {rows.shape[1]} of "
                f"{len(rows)} images{'' if same else ', other ones'}. Use "
                "another path."
            )
        return rows[:, :k]
    images = [
        np.asarray(retriever.embed_images(inputs["image"], training=False))
        for inputs, _ in batches.evaluation()
    ]
    rows = from_chief(nearest_neighbors(np.concatenate(images), k))
    if is_chief():
        save_arrays(path, {"image_ids": image_ids, "rows": rows})
    return rows


def _batches(data, split, settings, seed):
    captions = getattr(data, split)
    return CaptionBatches(
        captions,
        getattr(data, f"{split}_features"),
        min(settings.batch_size, len(captions)),
        seed=seed,
        epoch="captions",
    )


def _network(settings, batches, seed, image_preprocessing=None):
    """A built network."""
    options = {}
    if settings.network == "dual_encoder":
        options["max_length"] = batches.captions.references.shape[-1]
    network = NETWORKS[settings.network](
        batches.captions.vocabulary.size,
        units=settings.units,
        embedding_units=settings.embedding_units,
        image_dropout=settings.image_dropout,
        word_dropout=settings.word_dropout,
        seed=seed,
        image_preprocessing=image_preprocessing,
        **options,
    )
    network(batches.inputs(np.arange(1)))
    return network
