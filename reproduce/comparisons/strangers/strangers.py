"""Recall by listeners that never met the speaker whose captions they hear."""

import functools

import numpy as np

from reproduce.comparisons.strangers.settings import MAKES
from tfcap.data import CaptionBatches
from tfcap.metrics import clip_score
from tfcap.metrics import evaluate_retrieval
from tfcap.models import clip_retriever

#: How commands ask for them; in records, how many listeners there were.
STRANGERS = "strangers"
#: Where CLIP listens beside them: it stays out of their mean, which could not
#: be compared with that of a panel without it.
CLIP = "clip"
#: Of strangers, mean, spread and single recalls; own recall less the mean.
MEAN = "strangers_r@10"
SPREAD = "strangers_spread"
PRIVATE = "private_language"
#: How near a caption is to its image, whatever the others are.
FIT = "clip_score"
_RECALLS = ("r@1", "r@5", "r@10")


class Strangers:
    """A panel of listeners, and the images that captions are to find.

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
        clip: String or path, a preset of KerasHub's CLIP that is on this
            machine, which then listens, too: it sees the pictures themselves.
            Defaults to `None`.

    Raises:
        ValueError: If the panel has learned from an image of the split, or
            there is a picture that CLIP cannot see.
    """

    def __init__(self, panel, data, split="test", clip=None):
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
                "`--strangers-split` must name images other than those that "
                f"are to be found. Received: {len(both):,} images of the "
                f"{split} split among what strangers learned from. Name "
                "another split, and a folder of its own."
            )
        #: How many images both a stranger and the speakers learned from.
        self.shared = len(ids & set(data.train.image_ids.tolist()))
        #: Names of scores by which a record tells that it has been heard.
        self.wanted = (
            *(STRANGERS, f"{STRANGERS}_{FIT}"),
            *([f"{CLIP}_r@10"] if clip else []),
        )
        self._clip = clip and _clip(clip, panel, data, split)
        self._images = {}

    def scores(self, captions, own=None) -> dict:
        """Recall by captions.

        Args:
            captions: List of strings, one of each image of the split.
            own: Float, recall@10 of the listener that learned with the
                speaker, or `None`.
        """
        found = self._found(list(captions))
        if own is not None:
            found[PRIVATE] = own - found[MEAN]
        return found | self.human_scores()

    def human_scores(self) -> dict:
        """Recall by human captions, each of which is heard once."""
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
        found = {STRANGERS: len(by_make), **means, SPREAD: spread, **tens}
        if self._clip:
            images, embed = self._clip
            heard = _heard(images, embed(captions), owners)
            found |= {f"{CLIP}_{k}": heard[k] for k in _RECALLS}
        return found

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


def _clip(preset, panel, data, split):
    """Embeddings of the images, and a function that embeds strings."""
    captions = getattr(data, split)
    pictures = [data.test_images(row) for row in range(len(captions))]
    if split != "test" or any(picture is None for picture in pictures):
        raise ValueError(
            "`--clip` must come with pictures of the test split. Received: "
            f"--clip {preset} for the {split} split of {data.name}, whose "
            "pictures are not at hand. Give their folder, --images."
        )
    retriever = clip_retriever(preset, panel.learned.vocabulary)
    images = retriever.embed_pixels(pictures)[:, 0]  # (M, D)
    size = retriever.batch_size

    def embed(texts):
        parts = [texts[i : i + size] for i in range(0, len(texts), size)]
        vectors = [np.asarray(retriever.embed_strings(part)) for part in parts]
        return np.concatenate(vectors)

    return images, embed
