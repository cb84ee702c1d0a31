"""Retrieval of the image by its caption, as a reward."""

from keras import ops

from tfcap._ops.arguments import mask_for
from tfcap.losses.retrieval_loss import DIRECTIONS
from tfcap.losses.retrieval_loss import check_hinge
from tfcap.losses.retrieval_loss import hinge_effects
from tfcap.losses.retrieval_loss import hinges
from tfcap.rewards.embeddings import check_embedder
from tfcap.rewards.embeddings import check_vocabulary
from tfcap.rewards.embeddings import embedded_texts
from tfcap.rewards.embeddings import entry
from tfcap.rewards.embeddings import image_key
from tfcap.rewards.embeddings import is_differentiable
from tfcap.rewards.embeddings import position_mask
from tfcap.rewards.reward import Reward
from tfcap.rewards.reward import check_credit


class Retrieval(Reward):
    """Certainty of a listener that tells an image from others by its caption.

    ```
    reward = -(hinge of the other images given the caption
               + hinge of the other captions given the image)
    ```

    with the hinges of `tfcap.losses.hinge_retrieval_loss()`, over what is said
    of all images of the batch. At most 0.

    Speaker and listener may learn from it together: it is differentiable by
    the words and by everything that the listener reads them with, unless the
    listener says of itself that it is not `differentiable`. A speaker
    and a listener that have given up show in the `collapse_ratio` that is
    logged, the loss over `2 * margin`; see `tfcap.training.CollapseWarning`.

    Args:
        listener: Object with `embed_images(image, training)`, from `(B, P, D)`
            to `(B, D)`, and `embed_texts(words, mask, training)`, from tokens
            `(B, S, T)` or words `(B, S, T, V)` to `(B, S, D)`; such as
            `tfcap.models.RetrievalListener`. Its attribute `image_key`, if it
            has one, names the entry of the batch that it sees images in.
            Where its attribute `differentiable` is `False`, it is given
            tokens only.
        margin: Float. Defaults to `0.2`.
        negatives: `"hardest"`, `"sum"`, or a number or `keras.Variable` in
            between; see `tfcap.losses.hinge_retrieval_loss()`. A variable,
            as one that weighs this reward, is in no checkpoint: the callback
            that changes it restores it, see `Reward`. Defaults to `"hardest"`.
        directions: Tuple of `"image"` and `"text"`. Defaults to both.
        learning: Boolean, whether the listener is itself being trained on this
            reward. If not it runs in inference mode, and its images are
            constants; set its `trainable` to `False`, too. Defaults to `True`.
        distractors: String, the key in the batch of more images, `(N, P, D)`,
            that no caption describes; or `None`.
        same: String, the key in the batch of integers `(B,)` by which rows
            that show the same image are known; or `None` where all differ.
        name: String. Defaults to `"retrieval"`.
        credit: `"batch"` or `"own"`, what `ScoreFunction` weighs the words of
            a caption with, and `ExpectedEnding` its endings. `"batch"`: its
            reward plus what it adds to the rewards of the others as a negative
            of theirs, an unbiased estimate of the gradient of the expected
            reward. `"own"`: its reward alone, as in the released code, which
            leaves a part of that gradient out. Through words `Pathwise` always
            has all of it. Defaults to `"batch"`.

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
      2019, section 3. The released code sums over the batch where estimators
      take the mean: the weight of its term is B times as large. Its
      REINFORCE gives a caption its own reward: `credit="own"`.
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
        check_credit(credit)
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
        return self.measure(rollout, episode)[0]

    def measure(self, rollout, episode):
        return self._rewards(**self._read(rollout, episode))

    def credited(self, rollout, episode):
        read = self._read(rollout, episode)
        rewards, terms = self._rewards(**read)
        if self.credit == "own" or not self.compares_samples:
            return rewards, rewards, terms
        del read["distractors"]
        effects = hinge_effects(**read)
        return rewards - effects, rewards, terms

    def _rewards(self, **read):
        losses, collapsed = hinges(directions=self.directions, **read)
        ratio = ops.divide_no_nan(losses, collapsed)
        return -losses, {"collapse_ratio": ratio}

    def _read(self, rollout, episode):
        """Embeddings and options, as arguments of `hinges()`."""
        check_vocabulary(self.listener, episode, "listener")
        training = self.learning and episode.training
        distractors = None
        if self.distractors is not None:
            distractors = self._images(episode, self.distractors, training)
        same = None
        if self.same is not None:
            same = ops.cast(entry(episode, self.same, "Retrieval"), "int32")
        return {
            "images": self._images(episode, image_key(self.listener), training),
            "texts": embedded_texts(self.listener, rollout, training),
            "margin": self.margin,
            "negatives": self.negatives,
            "distractors": distractors,
            "same": same,
            "mask": rollout.nonempty,
            "drawn": getattr(rollout.endings, "drawn", None),
        }

    def _images(self, episode, key, training):
        image = entry(episode, key, "Retrieval")
        masked = mask_for(
            self.listener.embed_images, position_mask(episode, key)
        )
        images = self.listener.embed_images(image, training=training, **masked)
        return images if self.learning else ops.stop_gradient(images)
