"""Batches of images and captions, functions of seed and step."""

import functools

import numpy as np
from numpy.typing import NDArray

from tfcap.data.mapped_features import check_features
from tfcap.data.mapped_features import image_entries
from tfcap.data.step_pipeline import RowBatches
from tfcap.data.step_pipeline import check_batch_size

_EPOCHS = ("images", "captions")


class CaptionBatches(RowBatches):
    """Feeds images with their captions to a model, resumable at any step.

    The batch of global step `s` depends on `(seed, s)` alone: the order on
    the seed and the epoch, drawn captions and distractors on the seed and the
    step. A run that is resumed at step `s` with `dataset(start_step=s)` gets
    the batches of the uninterrupted one.

    A batch is a dict with `row` `(B,)`, int32, the images' numbers in
    `captions`; `image` `(B, P, D)`, float32; a drawn caption, `caption`
    `(B, 1, T)`, and all captions of the image, `references` `(B, N, T)`, int32,
    words, then EOS, then 0; with distractors, `distractor_image`
    `(distractors, P, D)`; with neighbors, `neighbor_row` `(B, K)`, int32, and
    `neighbor_image` `(B, K, P, D)`; with features of a retriever,
    `retriever_image` `(B, P, D)`, which neighbors then have, too. If images
    differ in their number of positions, there are masks such as `image_mask`
    `(B, P)`. `evaluation()` has the first caption of each image, without
    distractors and neighbors.

    No batch of a shuffled epoch holds an image twice: its other caption would
    be a wrong negative in a loss over the batch.

    Args:
        captions: `EncodedCaptions` of M images.
        features: Image features in the order of the captions: an array of
            shape `(M, P, D)`, an object that returns one when indexed with an
            array of rows, such as `load_features(lazy=True)`, or a function
            of such an array. P is 1 for pooled features.
        batch_size: Integer, images in a batch, B.
        seed: Integer. Defaults to `0`.
        shuffle: Boolean, whether each epoch has another order. If false, it is
            that of `captions`, with the captions of an image side by side if
            `epoch="captions"`. Defaults to `True`.
        epoch: String, what an epoch has once: `"images"`, each with a drawn
            caption, as the papers train speakers; or `"captions"`, as
            retrieval models are trained, at most one of an image in a batch.
            Defaults to `"images"`.
        distractors: Integer, number of additional images in each batch,
            without captions. Under a distribution strategy each replica gets a
            part of them: use a multiple of the number of replicas. Defaults to
            `0`.
        distractor_features: Features of the images that the distractors are
            drawn from, as `features`, but not a function.
        neighbors: Integer array of shape `(M, K)`, rows of similar images, as
            from `nearest_neighbors()`; the nearest ones may be too similar.
            Defaults to `None`.
        retriever_features: Features of the same M images for a retriever that
            does not read `features`, such as their embeddings, `(M, 1, D)`.
            Defaults to `None`.

    Example:

    >>> split = tfcap.data.CaptionSplit(
    ...     [7, 9], [["A cat."], ["A dog!", "a dog"]], ["", ""], ["", ""]
    ... )
    >>> vocabulary = tfcap.data.build_vocabulary(split, min_count=1)
    >>> captions = tfcap.data.EncodedCaptions.from_split(split, vocabulary, 4)
    >>> batches = tfcap.data.CaptionBatches(captions, np.ones((2, 1, 3)), 2)
    >>> for name, array in batches.batch(0).items():
    ...     print(name, array.shape)
    row (2,)
    image (2, 1, 3)
    caption (2, 1, 4)
    references (2, 2, 4)

    Reference:

    - Vered et al., Joint Optimization for Cooperative Image Captioning, ICCV
      2019: one caption of each image, B = 128
    - Liu et al., Show, Tell and Discriminate, ECCV 2018, whose reward also
      ranks an image among unlabeled ones
    - Chaffin et al., Distinctive Image Captioning, 2024, whose reward ranks it
      among similar ones; the released code keeps neighbors 3 and 4 of 5
    """

    def __init__(
        self,
        captions,
        features,
        batch_size: int,
        seed: int = 0,
        shuffle: bool = True,
        epoch: str = "images",
        distractors: int = 0,
        distractor_features=None,
        neighbors: NDArray | None = None,
        retriever_features=None,
    ):
        self.captions = captions
        self.features = features
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.epoch = epoch
        self.distractors = distractors
        self.distractor_features = distractor_features
        self.neighbors = neighbors
        self.retriever_features = retriever_features
        self._check()
        total, of = len(captions), "images"
        if epoch == "captions":
            total, of = int(self._counts.sum()), epoch
        super().__init__(total, batch_size, seed, shuffle, of)

    def __len__(self):
        return len(self.captions)

    def batch(self, step):
        """Returns the training batch of a global step, as NumPy arrays."""
        rows = self.rows(step)
        if self.epoch == "captions":
            numbers = self._number_of[rows][:, None]
            rows = self._image_of[rows]
        else:
            numbers = self._draw_caption(rows, self.rng(1, step))
        inputs = self.inputs(rows, numbers)
        if self.distractors:
            inputs.update(self._draw_distractors(self.rng(2, step)))
        return inputs if self.neighbors is None else self._mined(inputs, rows)

    def inputs(self, rows: NDArray, numbers: NDArray | None = None) -> dict:
        """Returns the inputs of some images, as NumPy arrays.

        Args:
            rows: Integer array of shape `(B,)`.
            numbers: Integer array of shape `(B, 1)`, which caption of each.
                Defaults to the first.

        Returns:
            Dict of arrays, see `dataset()`.
        """
        if numbers is None:
            numbers = np.zeros((len(rows), 1), int)
        references = self.captions.references[rows]
        inputs = {
            "row": np.asarray(rows, "int32"),
            **image_entries("image", self.features, rows),
            "caption": np.take_along_axis(references, numbers[..., None], 1),
            "references": references,
        }
        if self.retriever_features is not None:
            features = self.retriever_features
            inputs.update(image_entries("retriever_image", features, rows))
        return inputs

    @functools.cached_property
    def _counts(self):
        """Captions of each image in an epoch, one a batch at most."""
        counts = self.captions.counts
        if not self.shuffle:
            return counts
        most = int(counts.max())
        while np.minimum(counts, most).sum() < most * self.batch_size:
            most -= 1
        return np.minimum(counts, most)

    @functools.cached_property
    def _image_of(self):
        """Row of each caption, when captions are numbered through."""
        counts = self.captions.counts
        return np.repeat(np.arange(len(counts)), counts)

    @functools.cached_property
    def _number_of(self):
        """Number of each caption among those of its image."""
        counts = self.captions.counts
        first = np.cumsum(counts) - counts
        return np.arange(len(self._image_of)) - first[self._image_of]

    def draw_order(self, epoch):
        """Order of the images or captions of an epoch."""
        if self.epoch == "images" or not self.shuffle:
            return super().draw_order(epoch)
        rng = self.rng(0, epoch)
        order = spread_captions(self._counts, self.batch_size, rng).reshape(-1)
        return self._drawn_captions(rng)[order]

    def _drawn_captions(self, rng):
        """Numbers of the captions that an epoch has, image after image."""
        total = len(self._image_of)
        if self.total == total:
            return np.arange(total)
        mixed = np.lexsort((rng.random(total), self._image_of))
        return mixed[self._number_of < self._counts[self._image_of]]

    def _draw_caption(self, rows, rng):
        """Number of a caption of each of some images, `(B, 1)`."""
        counts = self.captions.counts[rows]
        keys = rng.random((len(rows), self.captions.references.shape[1]))
        keys[np.arange(keys.shape[1]) >= counts[:, None]] = 2.0
        return np.argmin(keys, axis=1)[:, None]

    def _draw_distractors(self, rng):
        features = self.distractor_features
        rows = rng.choice(
            features.shape[0], self.distractors, replace=False, shuffle=False
        )
        return image_entries("distractor_image", features, rows)

    def _mined(self, inputs, rows):
        """The same batch with the neighbours of its images."""
        near = np.asarray(self.neighbors)[rows]
        features = self.retriever_features
        features = self.features if features is None else features
        images = image_entries("neighbor_image", features, near.ravel())
        return {
            **inputs,
            "neighbor_row": near.astype("int32"),
            **{
                key: values.reshape(*near.shape, *values.shape[1:])
                for key, values in images.items()
            },
        }

    def _check(self):
        if self.epoch not in _EPOCHS:
            raise ValueError(
                f"`epoch` must be one of {_EPOCHS}. Received: "
                f"epoch={self.epoch!r}."
            )
        if self.epoch == "captions" and self.shuffle:
            check_batch_size(self.batch_size, len(self.captions), "images")
        for name in ("features", "retriever_features"):
            check_features(getattr(self, name), len(self), "captions", name)
        near = self.neighbors
        if near is not None and np.shape(near)[:-1] != (len(self),):
            raise ValueError(
                f"`neighbors` must hold rows of the {len(self)} images, "
                f"integers of shape ({len(self)}, K). Received: neighbors of "
                f"shape {np.shape(near)}. Find them with `nearest_neighbors()`."
            )
        far, number = self.distractor_features, self.distractors
        shape = getattr(far, "shape", ())
        possible = len(shape) == 3 and 0 < number <= shape[0]
        if not possible and (number or far is not None):
            raise ValueError(
                "`distractors` must be in 1..number of images in "
                "`distractor_features`, of shape (M, P, D). Received: "
                f"distractors={number}, distractor_features.shape="
                f"{tuple(shape)}. Give both or neither; an array, or "
                "`load_features(path, lazy=True)`."
            )


def spread_captions(
    counts: NDArray, batch_size: int, rng: np.random.Generator
) -> NDArray:
    """Puts captions into batches, with at most one of an image in each.

    In a loss over the batch, a second caption of an image would be a negative
    of the first. In a plain shuffle of Flickr8k each batch of 128 has about
    one such pair, which is the hardest negative, since it is true.

    Captions are dealt like cards, image after image in a random order, so
    that those of an image, which follow one another, go to as many batches.
    In each round of dealing every batch gets one caption; which batch gets
    which is drawn anew, so that two images that meet once need not meet
    again.

    Args:
        counts: Integer array of shape `(M,)`, captions of each image, each at
            most the number of batches.

    Returns:
        Integer array of shape `(sum(counts) // B, B)`: each row a batch of
        caption numbers. Captions are numbered image after image; those of
        the images that come last in the dealing are left over, up to B - 1.

    Example:

    >>> from tfcap.data.caption_batches import spread_captions
    >>> rng = np.random.default_rng(0)
    >>> batches = spread_captions(np.array([2, 2, 2]), 3, rng)
    >>> np.sort(batches // 2)  # the images
    array([[0, 1, 2],
           [0, 1, 2]])
    """
    counts = np.asarray(counts)
    batches = int(counts.sum()) // batch_size
    image = np.repeat(np.arange(len(counts)), counts)
    # Images in a random order, and the captions of each, too.
    turn = rng.permutation(len(counts))[image]
    number = np.lexsort((rng.random(len(image)), turn))
    image = image[number]
    order = np.empty((batches, batch_size), np.int64)
    last, taken = -1, np.zeros(0, np.int64)
    for place in range(batch_size):
        part = slice(place * batches, (place + 1) * batches)
        # The image that the last round broke off in keeps to other batches.
        rest = np.count_nonzero(image[part] == last)
        free = rng.permutation(np.setdiff1d(np.arange(batches), taken))
        others = rng.permutation(np.concatenate([free[rest:], taken]))
        dealt_to = np.concatenate([free[:rest], others])
        order[dealt_to, place] = number[part]
        last = image[part][-1]
        taken = dealt_to[image[part] == last]
    return order
