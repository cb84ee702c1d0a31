"""Rewards of a retriever of images and texts."""

import functools
from typing import Any

from keras import ops

from tfcap._ops import check_shape
from tfcap._ops.arguments import check_choice
from tfcap._ops.sequences import batch_entry
from tfcap._ops.sequences import mask_for
from tfcap._ops.sequences import with_known_sizes
from tfcap.losses.contrastive_loss import check_contrastive
from tfcap.losses.contrastive_loss import combined
from tfcap.losses.contrastive_loss import contrast_effects
from tfcap.losses.contrastive_loss import contrasts
from tfcap.losses.retrieval_loss import DIRECTIONS
from tfcap.losses.retrieval_loss import check_hinge
from tfcap.losses.retrieval_loss import hinge_effects
from tfcap.losses.retrieval_loss import hinges
from tfcap.metrics import clip_score
from tfcap.rewards.reward import Reward
from tfcap.rewards.reward import Scored
from tfcap.rewards.reward import check_methods
from tfcap.rewards.reward import check_vocabulary

CREDITS = ("batch", "own")
NAMES = {"image": "text_to_image", "text": "image_to_text"}


class Retrieval(Reward):
    """Rewards captions by which a listener retrieves their image.

    ```
    reward = -(hinge of the other images given the caption
               + hinge of the other captions given the image)
    ```

    with the hinges of `tfcap.losses.hinge_retrieval_loss()` over the captions
    of all images of the batch. At most 0.

    Speaker and listener may learn from it together: it is differentiable with
    respect to the words and the listener's weights, unless the attribute
    `differentiable` of the listener is `False`. The logged `collapse_ratio`,
    the loss over `2 * margin`, shows a collapse of both; see
    `tfcap.training.CollapseWarning`.

    Args:
        listener: Object with `embed_images(image, training)`, from `(B, P, D)`
            to `(B, D)`, and `embed_texts(words, mask, training)`, from tokens
            `(B, S, T)` or words `(B, S, T, V)` to `(B, S, D)`; such as
            `tfcap.models.RetrievalListener`. Its optional attribute
            `image_key` names the entry of the batch with its images. If its
            attribute `differentiable` is `False`, it reads tokens only.
        margin: Float. Defaults to `0.2`.
        negatives: `"hardest"`, `"sum"`, or a number or `keras.Variable` in
            between; see `tfcap.losses.hinge_retrieval_loss()`. Checkpoints do
            not hold a variable: the callback that changes it restores it, see
            `Reward`. Defaults to `"hardest"`.
        directions: Tuple of `"image"` and `"text"`. Defaults to both.
        learning: Boolean, whether the listener is itself being trained on this
            reward. If not, it runs in inference mode, and its images are
            constants; set its `trainable` to `False`, too. Defaults to `True`.
        distractors: String, the key in the batch of additional images
            `(N, P, D)` that no caption describes; or `None`.
        same: String, the key in the batch of integers `(B,)`, equal for rows
            that show the same image; or `None` if all differ.
        name: String. Defaults to `"retrieval"`.
        credit: `"batch"` or `"own"`, the weight of a caption's words in
            `ScoreFunction`, and of its endings in `ExpectedEnding`. `"batch"`:
            its reward plus its effect on the rewards of the others as their
            negative, an unbiased estimate of the gradient of the expected
            reward. `"own"`: its reward alone, as in the released code, which
            leaves out a part of that gradient. `Pathwise` always has the
            whole gradient. Defaults to `"batch"`.

    Example:

    >>> listener = tfcap.models.RetrievalListener(50, units=8)
    >>> sample = tfcap.decoding.Sample(
    ...     tfcap.layers.PartialSamplingST(rho=0.25), feedback="relaxed"
    ... )
    >>> objective = tfcap.objectives.Pathwise(
    ...     tfcap.rewards.Retrieval(listener), sample
    ... )

    Reference:

    - Vered et al., Joint Optimization for Cooperative Image Captioning, ICCV
      2019, section 3. The released code sums over the batch, while estimators
      take the mean: its weight of this term is B times as large. Its REINFORCE
      has `credit="own"`.
    - Liu et al., Show, Tell and Discriminate, ECCV 2018, for the distractors
    """

    terms = ("collapse_ratio",)
    #: Of all endings of a caption, others are compared with the drawn one.
    compares_drawn = True

    def __init__(
        self,
        listener,
        margin=0.2,
        negatives="hardest",
        directions=DIRECTIONS,
        learning=True,
        distractors=None,
        same=None,
        name="retrieval",
        credit="batch",
    ):
        check_hinge(margin, negatives, directions)
        check_choice(credit, "credit", CREDITS)
        check_embedder(listener, "listener")
        self.listener = listener
        self.margin = margin
        self.negatives = negatives
        self.directions = tuple(directions)
        self.learning = learning
        self.distractors = distractors
        self.same = same
        self.name = name
        self.credit = credit
        self.differentiable = is_differentiable(listener)
        # The texts of a batch are rivals: continuations would be, too.
        self.compares_samples = "text" in self.directions

    def call(self, rollout, episode):
        read = self._read(rollout, episode)
        losses, collapsed = hinges(directions=self.directions, **read)
        terms = {"collapse_ratio": ops.divide_no_nan(losses, collapsed)}
        if self.credit == "own" or not self.compares_samples:
            return Scored(-losses, terms)
        del read["distractors"]
        return Scored(
            -losses, terms, credit=lambda: -losses - hinge_effects(**read)
        )

    def _read(self, rollout, episode):
        """Embeddings and options, as arguments of `hinges()`."""
        check_vocabulary(self.listener, episode, "listener")
        training = self.learning and episode.training
        images = functools.partial(
            *(images_of, self.listener, episode),
            reader=self,
            learning=self.learning,
            ready=False,
        )
        distractors = None
        if self.distractors is not None:
            distractors = images(key=self.distractors)
        return {
            "images": images(key=image_key(self.listener)),
            "texts": embedded_texts(self.listener, rollout, training),
            "margin": self.margin,
            "negatives": self.negatives,
            "distractors": distractors,
            "same": numbers_of(episode, self.same, self),
            "mask": rollout.nonempty,
            "drawn": getattr(rollout.endings, "drawn", None),
        }


class BidirectionalContrastive(Reward):
    """Contrasts a caption and its image with others, in both directions.

    ```
    s(v, w) = dot(v, w) / temperature
    image_to_text = temperature * (s(v, w) - logsumexp of s(v, w')
                                             over other texts w')
    text_to_image = temperature * (s(v, w) - logsumexp of s(v', w)
                                             over other images v')
    reward = mean or sum of both
    ```

    At small temperatures it is the similarity of the pair minus that of its
    best rival: the contrast is a baseline, and an estimator needs no other.
    Rival texts are the other scored captions and those of `texts`, of all
    images of the batch, the caption's own included: if the greedy caption is
    among them, a caption must beat it. Rival images are those of the batch
    and their neighbors.

    `ScoreFunction(reward, GroundTruth())` is reward-weighted teacher forcing.
    Words that are searched or given are not samples: set `credit="own"` for
    them. If most rewards are negative, words are mostly unlearned; a constant
    raises the rewards, `reward + 0.0125 * ConstantReward()`.

    Args:
        retriever: Object with `embed_images(image, training)`, from
            `(B, P, D)` to `(B, D)`, and `embed_texts(words, mask, training)`,
            from tokens `(B, S, T)` or words `(B, S, T, V)` to `(B, S, D)`,
            unit vectors; such as `tfcap.models.RetrievalListener`. If its
            attribute `differentiable` is `False`, it reads tokens only. The
            batch holds the images, `(B, P, D)`, or their embeddings, unit
            vectors `(B, D)`, under the retriever's attribute `image_key` if it
            has one, else under `"image"`.
        texts: Iterable of decoders whose captions are rivals, such as the
            greedy or the human one. Pass the estimators' own decoder objects,
            so that a scored caption is not its own rival.
        neighbors: String, the key in the batch of M additional images for
            each row, `(B, M, P, D)`, or of their embeddings, `(B, M, D)`,
            which are rivals of all rows; or `None`.
        same: String, the key in the batch of integers `(B,)`, equal for rows
            that show the same image; or `None` if all differ.
        neighbor_same: String, the key in the batch of integers `(B, M)`,
            numbers of the neighbors as in `same`, so that an image of the
            batch that is another's neighbor is not its own rival; or `None`
            if no neighbor is in the batch.
        temperature: Float or `keras.Variable`. Defaults to `0.01`.
        directions: Tuple of `"image"` and `"text"`, the kind of the rivals.
            Defaults to both.
        combine: `"mean"` or `"sum"`, of both directions. Defaults to
            `"mean"`.
        siblings: Boolean, whether other texts of the same image are rivals.
            Defaults to `True`.
        learning: Boolean, whether the retriever is itself being trained on
            this reward. If not, it runs in inference mode, and its images are
            constants; set its `trainable` to `False`, too. Defaults to
            `False`.
        name: String. Defaults to `"bidirectional_contrastive"`.
        credit: `"batch"` or `"own"`, the weight of a caption's words in
            `ScoreFunction`. `"batch"`: its reward plus its effect on the
            rewards of the others as their rival, an unbiased estimate for
            sampled words. `"own"`: its reward alone, as in equation 3 of the
            paper, for words that are searched or given. `Pathwise` ignores
            it. Defaults to `"batch"`.

    Example:

    >>> retriever = tfcap.models.RetrievalListener(50, units=8)
    >>> beam = tfcap.decoding.BeamSearch(width=5, max_length=16)
    >>> human = tfcap.decoding.GroundTruth()
    >>> reward = tfcap.rewards.BidirectionalContrastive(
    ...     retriever,
    ...     texts=(beam, tfcap.decoding.Greedy(), human),
    ...     credit="own",
    ... )
    >>> objective = tfcap.objectives.ScoreFunction(
    ...     reward, beam, name="policy"
    ... ) + tfcap.objectives.ScoreFunction(reward, human, name="human")

    Reference:

    - Chaffin et al., Distinctive Image Captioning: Leveraging Ground Truth
      Captions in CLIP Guided Reinforcement Learning, 2024, section 3.4. The
      paper sums both directions, the released code takes their mean, and a
      neighbor that is an image of the batch is that image's own rival. The
      paper's rivals are sets. Here, as in the code, duplicates count: a greedy
      caption equal to the scored one is its rival, and n equal rivals lower a
      direction by up to `temperature * log(n)` more than one.
    """

    def __init__(
        self,
        retriever,
        texts=(),
        neighbors=None,
        same=None,
        neighbor_same=None,
        temperature=0.01,
        directions=DIRECTIONS,
        combine="mean",
        siblings=True,
        learning=False,
        name="bidirectional_contrastive",
        credit="batch",
    ):
        check_choice(credit, "credit", CREDITS)
        check_embedder(retriever, "retriever")
        check_contrastive(temperature, directions, combine)
        if neighbor_same is not None and None in (neighbors, same):
            raise ValueError(
                "`neighbor_same` must be given with `neighbors` and `same`. "
                f"Received: neighbors={neighbors!r}, same={same!r}."
            )
        self.retriever = retriever
        self.texts = self.decoders = tuple(texts)
        self.image = image_key(retriever)
        self.neighbors = neighbors
        self.same = same
        self.neighbor_same = neighbor_same
        self.temperature = temperature
        self.directions = tuple(directions)
        self.combine = combine
        self.siblings = siblings
        self.learning = learning
        self.name = name
        self.credit = credit
        self.differentiable = is_differentiable(retriever)
        self.compares_samples = "text" in self.directions
        self.terms = tuple(NAMES[key] for key in self.directions)

    def call(self, rollout, episode):
        read = self._read(rollout, episode)
        terms = {
            NAMES[key]: -ops.cast(self.temperature, contrast.dtype) * contrast
            for key, contrast in contrasts(
                directions=self.directions, **read
            ).items()
        }
        rewards = combined(terms, self.combine)
        if self.credit == "own" or not self.compares_samples:
            return Scored(rewards, terms)
        for name in ("distractors", "distractor_same", "distractor_mask"):
            read.pop(name, None)

        def credit():
            effects = contrast_effects(**read)
            if self.combine == "mean":
                effects = effects / len(self.directions)
            scale = ops.cast(self.temperature, effects.dtype)
            return rewards - scale * effects

        return Scored(rewards, terms, credit=credit)

    def _read(self, rollout, episode):
        """Embeddings and options, as arguments of `contrasts()`."""
        check_vocabulary(self.retriever, episode, "retriever")
        training = self.learning and episode.training
        images = images_of(
            self.retriever, episode, self.image, self, self.learning
        )
        texts = embedded_texts(self.retriever, rollout, training)
        check_one_space(images, texts, self.image)
        return {
            "images": images,
            "texts": texts,
            "temperature": self.temperature,
            "decoupled": True,
            "siblings": self.siblings,
            "mask": rollout.nonempty,
            **self._rivals(rollout, episode, training),
            **self._neighbors(episode, rollout, texts),
        }

    def _rivals(self, rollout, episode, training):
        """Other captions, as arguments of `contrasts()`."""
        rollouts = [episode.rollout(decoder) for decoder in self.texts]
        # Estimators hand on another rollout, of the same tokens.
        rollouts = [
            each for each in rollouts if each.tokens is not rollout.tokens
        ]
        if not rollouts:
            return {}
        embedded = [
            embedded_texts(self.retriever, each.stop_gradient(), training)
            for each in rollouts
        ]
        masks = [each.nonempty for each in rollouts]
        return {
            "rivals": ops.concatenate(embedded, axis=1),
            "rival_mask": ops.concatenate(masks, axis=1),
        }

    def _neighbors(self, episode, rollout, texts):
        """Images and their numbers, as arguments of `contrasts()`."""
        keys = {"same": self.same, "distractor_same": self.neighbor_same}
        neighbors = {
            name: numbers_of(episode, key, self) for name, key in keys.items()
        }
        if self.neighbors is not None:
            images = images_of(
                *(self.retriever, episode, self.neighbors, self, self.learning),
                several=True,
            )
            check_one_space(images, texts, self.neighbors)
            neighbors["distractors"] = images
            rows = ops.any(rollout.nonempty, axis=1)[:, None]
            shape = ops.shape(episode.inputs[self.neighbors])[:2]
            rows = ops.broadcast_to(rows, shape)
            neighbors["distractor_mask"] = ops.reshape(rows, (-1,))
        return neighbors


class CLIPScore(Reward):
    """CLIPScore of a caption, under any retriever.

    ```
    reward = weight * max(cos(image, caption), 0)
    ```

    with `tfcap.metrics.clip_score()`. It does not compare images: a caption
    need not distinguish its own.

    Args:
        retriever: As in `tfcap.rewards.BidirectionalContrastive`; runs in
            inference mode, and its images are constants.
        weight: Float. Defaults to `2.5`.
        name: String. Defaults to `"clip_score"`.

    Example:

    >>> retriever = tfcap.models.RetrievalListener(50, units=8)
    >>> reward = tfcap.rewards.CLIPScore(retriever)
    >>> greedy = tfcap.decoding.Greedy()
    >>> objective = tfcap.objectives.ScoreFunction(
    ...     reward,
    ...     tfcap.decoding.Sample(),
    ...     baseline=tfcap.objectives.DecoderBaseline(reward, greedy),
    ... )

    Reference:

    - Hessel et al., CLIPScore: A Reference-free Evaluation Metric for Image
      Captioning, EMNLP 2021, section 3
    - Cho et al., Fine-grained Image Captioning with CLIP Reward, NAACL
      Findings 2022, section 3.1
    """

    def __init__(self, retriever, weight=2.5, name="clip_score"):
        check_embedder(retriever, "retriever")
        self.retriever = retriever
        self.weight = weight
        self.image = image_key(retriever)
        self.name = name
        self.differentiable = is_differentiable(retriever)

    def call(self, rollout, episode):
        check_vocabulary(self.retriever, episode, "retriever")
        images = images_of(self.retriever, episode, self.image, self)
        texts = embedded_texts(self.retriever, rollout)
        check_one_space(images, texts, self.image)
        scores = clip_score(images[:, None], texts, self.weight)
        return ops.where(rollout.nonempty, scores, 0)


def check_embedder(embedder, argument: str):
    """Rejects an object that does not embed images and texts."""
    check_methods(embedder, argument, "embed_images", "embed_texts")


def images_of(
    embedder,
    episode,
    key: str,
    reader: Any,
    learning: bool = False,
    ready: bool = True,
    several: bool = False,
):
    """Embeds the images of a batch, `(B, D)`; constants unless it is learning.

    Args:
        reader: Reward or estimator that reads them.
        ready: Boolean, whether entries `(B, D)` of the batch are precomputed
            embeddings, as of `embed_images()`.
        several: Boolean, whether each row has M images, with embeddings
            `(B * M, D)`.
    """
    image = _entry(episode, key, reader)
    mask = episode.inputs.get(f"{key}_mask")
    if several:
        check_shape(image, "B M D" if len(image.shape) == 3 else "B M P D", key)
        image = ops.reshape(image, (-1, *ops.shape(image)[2:]))
        if mask is not None:
            mask = ops.reshape(mask, (-1, ops.shape(mask)[-1]))
    if not ready or len(image.shape) != 2:
        training = learning and episode.training
        masked = mask_for(embedder.embed_images, mask)
        image = embedder.embed_images(image, training=training, **masked)
    return image if learning else ops.stop_gradient(image)


def numbers_of(episode, key: str | None, reader: Any):
    """Returns flat integers of an entry of the batch; `None` without key."""
    if key is None:
        return None
    found = _entry(episode, key, reader)
    return ops.reshape(ops.cast(found, "int32"), (-1,))


def _entry(episode, key, reader):
    whose = f"which {type(reader).__name__} reads"
    return batch_entry(episode.inputs, key, whose)


def image_key(embedder):
    """Returns the key of images in a batch, which the embedder may name."""
    return getattr(embedder, "image_key", "image")


def check_one_space(images, texts, key: str):
    """Rejects embeddings of images and texts that differ in size.

    Args:
        images: Float tensor of shape `(..., D)`.
        texts: Float tensor of shape `(B, S, D)`.
    """
    sizes = images.shape[-1], texts.shape[-1]
    if None not in sizes and sizes[0] != sizes[1]:
        raise ValueError(
            f"`inputs[{key!r}]` must be images, or embeddings of "
            f"{texts.shape[-1]} numbers, as those of the texts. Received: "
            f"embeddings of {images.shape[-1]}. Embed both with one retriever."
        )


def embedded_texts(embedder, rollout, training=False):
    """Embeds the texts of a rollout, `(B, S, D)`.

    An embedder whose attribute `differentiable` is `False`, such as one that
    reads strings, gets tokens alone. All endings of a text are embedded by
    the embedder's `embed_endings()`, if it has one, which reads a word once.
    """
    words = (
        rollout.listener_inputs
        if is_differentiable(embedder)
        else rollout.tokens
    )
    endings = rollout.endings
    every = endings is not None and endings.drawn is not None
    if every and hasattr(embedder, "embed_endings"):
        texts = embedder.embed_endings(
            endings.words, rollout.mask, endings.eos, training=training
        )
    else:
        texts = embedder.embed_texts(words, rollout.mask, training=training)
    return with_known_sizes(texts, rollout.mask[..., 0])


def is_differentiable(embedder):
    """Returns whether an embedder is `differentiable`, true by default."""
    return getattr(embedder, "differentiable", True)
