"""The probability that a caption is human, as a reward."""

from keras import ops

from tfcap.rewards.embeddings import check_embedder
from tfcap.rewards.embeddings import check_vocabulary
from tfcap.rewards.embeddings import embedded_images
from tfcap.rewards.embeddings import embedded_texts
from tfcap.rewards.embeddings import entry
from tfcap.rewards.embeddings import image_key
from tfcap.rewards.embeddings import is_differentiable
from tfcap.rewards.embeddings import position_mask
from tfcap.rewards.reward import Reward


class MatchProbability(Reward):
    """The probability that a caption is human, and of its image.

    ```
    reward = sigmoid(logits(embed_images(image), embed_texts(caption)))
    ```

    An adversary: `tfcap.objectives.DiscriminatorLoss` trains it to tell
    captions of the speaker from human ones, of this image and of others.
    Differentiable by the words, too, where the retriever is.

    Args:
        evaluator: Object with `logits(images, texts)`, from embeddings of
            images `(B, D)` and their texts `(B, S, D)` to `(B, S)`, and with
            the methods of a retriever if none is given, such as
            `tfcap.models.CaptionEvaluator`; or without them, such as
            `tfcap.models.PairDiscriminator`.
        retriever: Object that embeds for the evaluator and stays as it is,
            as that of `tfcap.rewards.BidirectionalContrastive`. Defaults to
            the evaluator.
        image: String, the key in the batch of the images, `(B, P, D)`, or of
            their embeddings, `(B, D)`. Defaults to the retriever's
            `image_key` if it has one, else to `"image"`.
        name: String. Defaults to `"match_probability"`.

    Example:

    >>> evaluator = tfcap.models.CaptionEvaluator(50, units=8)
    >>> sample = tfcap.decoding.Sample()
    >>> objective = tfcap.objectives.ScoreFunction(
    ...     tfcap.rewards.MatchProbability(evaluator), sample
    ... )
    >>> adversary = tfcap.objectives.DiscriminatorLoss(evaluator, sample)

    Reference:

    - Dai et al., Towards Diverse and Natural Image Descriptions via a
      Conditional GAN, ICCV 2017, section 3.1
    - Chaffin et al., Distinctive Image Captioning: Leveraging Ground Truth
      Captions in CLIP Guided Reinforcement Learning, 2024, section 3.2, with a
      retriever
    """

    def __init__(
        self,
        evaluator,
        retriever=None,
        image=None,
        name="match_probability",
    ):
        check_evaluator(evaluator, retriever)
        self.evaluator = evaluator
        self.retriever = retriever
        self.image = image_key(self._reader, image)
        self.name = name
        self.differentiable = is_differentiable(self._reader)

    @property
    def _reader(self):
        return self.evaluator if self.retriever is None else self.retriever

    def call(self, rollout, episode):
        check_vocabulary(self._reader, episode, "evaluator")
        image = entry(episode, self.image, "MatchProbability")
        mask = position_mask(episode, self.image)
        images = embedded_images(self._reader, image, mask=mask)
        images = ops.stop_gradient(images)
        texts = embedded_texts(self._reader, rollout)
        logits = self.evaluator.logits(images, texts)
        nonempty = ops.cast(rollout.nonempty, logits.dtype)
        return ops.sigmoid(logits) * nonempty


def check_evaluator(evaluator, retriever):
    """Refuses what cannot judge captions, or read them."""
    if retriever is None:
        check_embedder(evaluator, "evaluator")
    else:
        check_embedder(retriever, "retriever")
    if not hasattr(evaluator, "logits"):
        raise TypeError(
            "`evaluator` must have the method `logits()`. Received: "
            f"evaluator={evaluator!r}."
        )
