"""Architectures of the held-out listeners, and their hyperparameters."""

from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tfcap.losses import BidirectionalContrastiveLoss
from tfcap.losses import HingeRetrievalLoss
from tfcap.models import DualEncoder
from tfcap.models import RetrievalListener


class Make(NamedTuple):
    """The architecture of a listener, and its loss.

    Args:
        options: Dict of arguments of the network that set it apart.
        loss: String, a key of `LOSSES`.
        epochs: Integer, passes over all human captions.
    """

    network: Callable
    options: Mapping
    loss: str
    epochs: int


@dataclass(frozen=True)
class StrangerSettings:
    """Hyperparameters of a panel.

    Args:
        speaker: String, by which images are prepared: `"show_tell"` takes the
            mean over positions, and so does every listener of the panel.
        min_count: Integer, least occurrences of a word in the vocabulary.
        max_length: Integer, most words of a caption, its end token included.
        units: Integer, size of the common space.
        embedding_units: Integer, size of a word.
        margin: Float, of the hinge loss, whose negatives are summed.
        temperature: Float, of the contrastive loss.
        block_dropout: Float, in the blocks of transformers.
        epochs: Integer, passes over all human captions, for every
            architecture; or `None` for the number of each.
        rate: Float, learning rate, which falls to a twentieth along a cosine.
    """

    speaker: str = "show_tell"
    min_count: int = 3
    max_length: int = 16
    units: int = 128
    embedding_units: int = 64
    image_dropout: float = 0.4
    word_dropout: float = 0.2
    block_dropout: float = 0.0
    margin: float = 0.2
    temperature: float = 0.07
    batch_size: int = 128
    epochs: int | None = None
    rate: float = 2e-3


#: The listeners of a panel by name.
MAKES = {
    "recurrent": Make(RetrievalListener, {"pooling": "mean"}, "hinge", 5),
    "transformer": Make(DualEncoder, {"layers": 2}, "hinge", 3),
    "bag_of_words": Make(
        RetrievalListener,
        {"pooling": None, "bag_of_words": True},
        "contrastive",
        8,
    ),
    "dual_encoder": Make(DualEncoder, {"layers": 1}, "contrastive", 4),
}
#: Losses by their names.
LOSSES = {
    "hinge": lambda s: HingeRetrievalLoss(s.margin, "sum"),
    "contrastive": lambda s: BidirectionalContrastiveLoss(
        s.temperature, decoupled=False
    ),
}
_FLICKR8K = StrangerSettings()
_WORLD = StrangerSettings(max_length=20, image_dropout=0.1, word_dropout=0.1)
_LARGE = StrangerSettings(units=512, embedding_units=256, batch_size=256)
#: Settings by the name of the data.
STRANGER_SETTINGS = {
    "flickr8k": _FLICKR8K,
    "world": _WORLD,
    "clips": _WORLD,
    "coco": _LARGE,
    "published": _LARGE,
    "quick": StrangerSettings(
        min_count=1, units=8, embedding_units=8, batch_size=4, epochs=1
    ),
}
