"""Recall by held-out listeners."""

import functools

import numpy as np

from reproduce.comparisons.strangers.settings import MAKES
from tfcap.data import CaptionBatches
from tfcap.metrics import clip_score
from tfcap.metrics import evaluate_retrieval

#: The metric on the command line; in records, the number of listeners.
STRANGERS = "strangers"
#: Mean recall, spread over listeners, and own recall minus the mean.
MEAN = "strangers_r@10"
SPREAD = "strangers_spread"
PRIVATE = "private_language"
#: Similarity of a caption and its image, regardless of other images.
FIT = "clip_score"
_RECALLS = ("r@1", "r@5", "r@10")


class Strangers:
    """A panel of held-out listeners, and the images to retrieve.

    ```
    strangers_r@10 = mean over listeners (recall@10)
    strangers_spread = standard deviation over listeners (recall@10)
    private_language = recall@10 of the own listener - strangers_r@10
    strangers_clip_score = mean over listeners and captions of
                           tfcap.metrics.clip_score(image, caption)
    ```

    Recall is in percent; CLIPScore, on the listeners' own embeddings, is
    between 0 and 2.5, and compares captions under one panel alone. Recall of
    each listener is under its name, such as `strangers_r@10_recurrent`; scores
    of human captions are under the same names after `human_`.

    Args:
        panel: `reproduce.comparisons.strangers.StrangerPanel`.
        data: `reproduce.captioning.CaptionData` of the speakers.
        split: `"test"` or `"validation"`, the images to find. Defaults to
            `"test"`.

    Raises:
        ValueError: If the panel was trained on an image of the split.
    """

    def __init__(self, panel, data, split="test"):
        self.panel = panel
        captions = getattr(data, split)
        self._texts = captions.texts
        self._batches = CaptionBatches(
            captions, getattr(data, f"{split}_features"), batch_size=1
        )
        learned = panel.learned
        same = learned.name == data.name
        ids = set(learned.train.image_ids.tolist()) if same else set()
        both = ids & set(captions.image_ids.tolist())
        if both:
            raise ValueError(
                "`--strangers-split` must name images other than those to "
                f"retrieve. Received: {len(both):,} images of the {split} "
                "split among the training images of the held-out listeners. "
                "Use another split, and a new folder."
            )
        #: Number of images that both listeners and speakers are trained on.
        self.shared = len(ids & set(data.train.image_ids.tolist()))
        #: Names of scores that an evaluated record has.
        self.wanted = STRANGERS, f"{STRANGERS}_{FIT}"
        self._images = {}

    def scores(self, captions, own=None) -> dict:
        """Recall by captions.

        Args:
            captions: List of strings, one of each image of the split.
            own: Float, recall@10 of the listener that was trained with the
                speaker, or `None`.
        """
        found = self._found(list(captions))
        if own is not None:
            found[PRIVATE] = own - found[MEAN]
        return found | self.human_scores()

    def human_scores(self) -> dict:
        """Recall by human captions, each used once."""
        return dict(self._human)

    @functools.cached_property
    def _human(self):
        counts = [len(texts) for texts in self._texts]
        owners = np.repeat(np.arange(len(counts)), counts)
        texts = [text for texts in self._texts for text in texts]
        found = self._found(texts, owners)
        return {f"human_{name}": value for name, value in found.items()}

    def _found(self, captions, owners=None):
        by_make = {}
        for make in MAKES:
            vectors = self.panel.embed_captions(make, captions)
            images = self._embedded(make)
            by_make[make] = _heard(images, vectors, owners)
        means = {
            f"{STRANGERS}_{k}": float(np.mean([r[k] for r in by_make.values()]))
            for k in (*_RECALLS, FIT)
        }
        tens = {f"{MEAN}_{make}": r["r@10"] for make, r in by_make.items()}
        spread = float(np.std([*tens.values()], ddof=1))
        return {STRANGERS: len(by_make), **means, SPREAD: spread, **tens}

    def _embedded(self, make):
        """Embeddings of the images, made once."""
        if make not in self._images:
            vectors = self.panel.embed_images(make, self._batches)
            self._images[make] = vectors
        return self._images[make]


def _heard(images, texts, owners):
    """Shares of captions, in percent, that find their image; and their fit."""
    rows = evaluate_retrieval(images, texts, owners).rows()["text_to_image"]
    own = images if owners is None else np.take(images, owners, axis=0)
    fit = np.mean(clip_score(own, texts))
    return {name: float(rows[name]) for name in _RECALLS} | {FIT: float(fit)}
