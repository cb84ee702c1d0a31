"""Makes of the listeners of a panel, and numbers of their training."""

from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tfcap.losses import BidirectionalContrastiveLoss
from tfcap.losses import HingeRetrievalLoss
from tfcap.models import DualEncoder
from tfcap.models import RetrievalListener


class Make(NamedTuple):
    """A listener as it is before it learns.

    Args:
        options: Dict of arguments of the network that set it apart.
        loss: String, a key of `LOSSES`.
    """

    network: Callable
    options: Mapping
    loss: str


@dataclass(frozen=True)
class StrangerSettings:
    """Hyper-parameters of a panel.

    Args:
        speaker: String, for whom images are prepared: `"show_tell"` sees the
            mean over positions, and so does every listener of the panel.
        min_count: Integer, least occurrences of a word that is known.
        max_length: Integer, most words of a caption, its end token included.
        units: Integer, size of the common space.
        embedding_units: Integer, size of a word.
        margin: Float, of the hinge loss, whose negatives are summed.
        temperature: Float, of the contrastive loss.
        epochs: Integer, passes over all human captions.
        rate: Float, learning rate, which falls to a twentieth along a cosine.
    """

    speaker: str = "show_tell"
    min_count: int = 3
    max_length: int = 20
    units: int = 192
    embedding_units: int = 96
    image_dropout: float = 0.4
    word_dropout: float = 0.2
    margin: float = 0.2
    temperature: float = 0.07
    batch_size: int = 128
    epochs: int = 6
    rate: float = 1.5e-3


#: What a panel consists of, by the names of its listeners.
MAKES = {
    "recurrent": Make(RetrievalListener, {"pooling": "mean"}, "hinge"),
    "transformer": Make(DualEncoder, {"layers": 2}, "hinge"),
    "bag_of_words": Make(
        RetrievalListener,
        {"pooling": None, "bag_of_words": True},
        "contrastive",
    ),
    "dual_encoder": Make(DualEncoder, {"layers": 1}, "contrastive"),
}
#: Losses by their names.
LOSSES = {
    "hinge": lambda s: HingeRetrievalLoss(s.margin, "sum"),
    "contrastive": lambda s: BidirectionalContrastiveLoss(
        s.temperature, decoupled=False
    ),
}
_FLICKR8K = StrangerSettings()
_WORLD = StrangerSettings(image_dropout=0.1, word_dropout=0.1)
#: Settings by the name of the data.
STRANGER_SETTINGS = {
    "flickr8k": _FLICKR8K,
    "world": _WORLD,
    "clips": _WORLD,
    "coco": StrangerSettings(units=512, embedding_units=256),
    "published": StrangerSettings(units=512, embedding_units=256),
    "quick": StrangerSettings(
        min_count=1, units=8, embedding_units=8, batch_size=4, epochs=1
    ),
}
