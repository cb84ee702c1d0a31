"""Contrast of a caption and its image with others, as a reward."""

from keras import ops

from tfcap._ops import check_shape
from tfcap.losses.contrastive_loss import check_contrastive
from tfcap.losses.contrastive_loss import combined
from tfcap.losses.contrastive_loss import contrast_effects
from tfcap.losses.contrastive_loss import contrasts
from tfcap.losses.retrieval_loss import DIRECTIONS
from tfcap.rewards.embeddings import check_embedder
from tfcap.rewards.embeddings import check_one_space
from tfcap.rewards.embeddings import check_vocabulary
from tfcap.rewards.embeddings import embedded_images
from tfcap.rewards.embeddings import embedded_texts
from tfcap.rewards.embeddings import entry
from tfcap.rewards.embeddings import image_key
from tfcap.rewards.embeddings import is_differentiable
from tfcap.rewards.embeddings import position_mask
from tfcap.rewards.reward import Reward
from tfcap.rewards.reward import check_credit

NAMES = {"image": "text_to_image", "text": "image_to_text"}


class BidirectionalContrastive(Reward):
    """Contrast of a caption and its image with others, in both directions.

    ```
    s(v, w) = dot(v, w) / temperature
    image_to_text = temperature * (s(v, w) - logsumexp of s(v, w')
                                             over other texts w')
    text_to_image = temperature * (s(v, w) - logsumexp of s(v', w)
                                             over other images v')
    reward = mean or sum of both
    ```

    At small temperatures the similarity of the pair less that of its best
    rival: the contrast is the baseline, and an estimator needs no other. Other
    texts are the rest of what is scored and what `texts` say, of all images
    of the batch, the caption's own included: where the greedy caption is
    among them, a caption must beat it. Other images are those of the batch
    and their neighbors.

    `ScoreFunction(reward, GroundTruth())` is reward-weighted teacher forcing.
    Of words that are searched or given there is no expectation over samples:
    set `credit="own"`. Where most rewards are negative, words are mostly
    unlearned; a constant lifts them, `reward + 0.0125 * ConstantReward()`.

    Args:
        retriever: Object with `embed_images(image, training)`, from
            `(B, P, D)` to `(B, D)`, and `embed_texts(words, mask, training)`,
            from tokens `(B, S, T)` or words `(B, S, T, V)` to `(B, S, D)`,
            unit vectors; such as `tfcap.models.RetrievalListener`. Where its
            attribute `differentiable` is `False`, it is given tokens only.
        texts: Iterable of decoders, what others say: the greedy caption, the
            human one. Give those of the estimators themselves, the same
            objects: what is scored is then left out of its own rivals.
        image: String, the key in the batch of the images, `(B, P, D)`, or of
            their embeddings, `(B, D)`, unit vectors, too. Defaults to the
            retriever's `image_key` if it has one, else to `"image"`.
        neighbors: String, the key in the batch of M more images for each,
            `(B, M, P, D)`, or of their embeddings, `(B, M, D)`, which are
            rivals of all; or `None`.
        same: String, the key in the batch of integers `(B,)` by which rows
            that show the same image are known; or `None` where all differ.
        neighbor_same: String, the key in the batch of integers `(B, M)`,
            numbers of the neighbors as in `same`, by which an image of the
            batch that is another's neighbor is not its own rival; or `None`
            where no neighbor is of the batch.
        temperature: Float or `keras.Variable`. Defaults to `0.01`.
        directions: Tuple of `"image"` and `"text"`, what rivals are looked
            for among. Defaults to both.
        combine: `"mean"` or `"sum"`, of both directions. Defaults to
            `"mean"`.
        decoupled: Boolean, whether the pair itself is left out of the sum of
            exponentials. Otherwise no reward is above 0. Defaults to `True`.
        siblings: Boolean, whether other texts of the same image are rivals.
            Defaults to `True`.
        learning: Boolean, whether the retriever is itself being trained on
            this reward. If not it runs in inference mode, and its images are
            constants; set its `trainable` to `False`, too. Defaults to
            `False`.
        name: String. Defaults to `"bidirectional_contrastive"`.
        credit: `"batch"` or `"own"`, what `ScoreFunction` weighs the words of
            a caption with. `"batch"`: its reward plus what it adds to the
            rewards of the others as a rival of theirs, an unbiased estimate
            for sampled words. `"own"`: its reward alone, as in equation 3 of
            the paper, for words that are searched or given. `Pathwise` does
            not read it. Defaults to `"batch"`.

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
      paper sums both directions, the released code takes their mean. There,
      a neighbor that is an image of the batch is that image's own rival. The
      paper's rivals are sets. Here, as in the code, all that is there counts:
      a greedy caption that reads like the one scored is its rival, and n equal
      rivals lower a direction by up to `temperature * log(n)` more than one.
    """

    def __init__(
        self,
        retriever,
        texts=(),
        image=None,
        neighbors=None,
        same=None,
        neighbor_same=None,
        temperature=0.01,
        directions=DIRECTIONS,
        combine="mean",
        decoupled=True,
        siblings=True,
        learning=False,
        name="bidirectional_contrastive",
        credit="batch",
    ):
        check_credit(credit)
        check_embedder(retriever, "retriever")
        check_contrastive(temperature, directions, combine)
        if neighbor_same is not None and None in (neighbors, same):
            raise ValueError(
                "`neighbor_same` must come with `neighbors` and `same`. "
                f"Received: neighbors={neighbors!r}, same={same!r}."
            )
        self.retriever = retriever
        self.texts = self.decoders = tuple(texts)
        self.image = image_key(retriever, image)
        self.neighbors = neighbors
        self.same = same
        self.neighbor_same = neighbor_same
        self.temperature = temperature
        self.directions = tuple(directions)
        self.combine = combine
        self.decoupled = decoupled
        self.siblings = siblings
        self.learning = learning
        self.name = name
        self.credit = credit
        self.differentiable = is_differentiable(retriever)
        self.compares_samples = "text" in self.directions
        self.terms = tuple(NAMES[key] for key in self.directions)

    def call(self, rollout, episode):
        return self.measure(rollout, episode)[0]

    def measure(self, rollout, episode):
        return self._rewards(**self._read(rollout, episode))

    def credited(self, rollout, episode):
        read = self._read(rollout, episode)
        rewards, terms = self._rewards(**read)
        if self.credit == "own" or not self.compares_samples:
            return rewards, rewards, terms
        for name in ("distractors", "distractor_same", "distractor_mask"):
            read.pop(name, None)
        effects = contrast_effects(**read)
        if self.combine == "mean":
            effects = effects / len(self.directions)
        scale = ops.cast(self.temperature, effects.dtype)
        return rewards - scale * effects, rewards, terms

    def _rewards(self, **read):
        parts = contrasts(directions=self.directions, **read)
        rewards = {
            NAMES[key]: -ops.cast(self.temperature, contrast.dtype) * contrast
            for key, contrast in parts.items()
        }
        return combined(rewards, self.combine), rewards

    def _read(self, rollout, episode):
        """Embeddings and options, as arguments of `contrasts()`."""
        check_vocabulary(self.retriever, episode, "retriever")
        training = self.learning and episode.training
        images = self._images(episode, self.image, training)
        texts = embedded_texts(self.retriever, rollout, training)
        check_one_space(images, texts, self.image)
        return {
            "images": images,
            "texts": texts,
            "temperature": self.temperature,
            "decoupled": self.decoupled,
            "siblings": self.siblings,
            "mask": rollout.nonempty,
            **self._rivals(rollout, episode, training),
            **self._neighbors(episode, rollout, texts, training),
        }

    def _images(self, episode, key, training):
        image, mask = self._entry(episode, key), position_mask(episode, key)
        if key == self.neighbors:
            ready = len(image.shape) == 3
            check_shape(image, "B M D" if ready else "B M P D", key)
            image = ops.reshape(image, (-1, *ops.shape(image)[2:]))
            if mask is not None:
                mask = ops.reshape(mask, (-1, ops.shape(mask)[-1]))
        images = embedded_images(self.retriever, image, training, mask)
        return images if self.learning else ops.stop_gradient(images)

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

    def _neighbors(self, episode, rollout, texts, training):
        """Images and their numbers, as arguments of `contrasts()`."""
        neighbors = {}
        if self.same is not None:
            neighbors["same"] = self._numbers(episode, self.same)
        if self.neighbors is not None:
            images = self._images(episode, self.neighbors, training)
            check_one_space(images, texts, self.neighbors)
            neighbors["distractors"] = images
            rows = ops.any(rollout.nonempty, axis=1)[:, None]
            shape = ops.shape(self._entry(episode, self.neighbors))[:2]
            rows = ops.broadcast_to(rows, shape)
            neighbors["distractor_mask"] = ops.reshape(rows, (-1,))
        if self.neighbor_same is not None:
            neighbors["distractor_same"] = self._numbers(
                episode, self.neighbor_same
            )
        return neighbors

    def _numbers(self, episode, key):
        numbers = ops.cast(self._entry(episode, key), "int32")
        return ops.reshape(numbers, (-1,))

    def _entry(self, episode, key):
        return entry(episode, key, "BidirectionalContrastive")
