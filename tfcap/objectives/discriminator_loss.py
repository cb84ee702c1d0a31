"""Training of a discriminator of human and generated captions."""

from keras import ops

from tfcap._ops import gather_across_replicas
from tfcap._ops import masked_mean
from tfcap.losses.retrieval_loss import other_images
from tfcap.objectives.estimator import Estimator
from tfcap.objectives.estimator import check_decoder
from tfcap.rewards.critics import check_evaluator
from tfcap.rewards.retrieval import embedded_images
from tfcap.rewards.retrieval import embedded_texts
from tfcap.rewards.retrieval import image_key
from tfcap.rewards.retrieval import image_of
from tfcap.rewards.retrieval import numbers_of
from tfcap.rewards.reward import check_vocabulary


class DiscriminatorLoss(Estimator):
    """Binary cross-entropy of a discriminator of captions.

    With `r(image, caption)` its probability that the caption is human and of
    that image,

    ```
    loss = -(mean of log r(image, human caption)
             + generated * mean of log(1 - r(image, what the decoder says))
             + mismatched * mean of log(1 - r(image, human caption of another)))
    ```

    over all other images of the batch. Words are read as they are: the speaker
    has no gradient. What it learns is what
    `tfcap.rewards.MatchProbability` rewards. A kind of captions of weight 0 is
    neither judged nor logged.

    Args:
        evaluator: As that of `tfcap.rewards.MatchProbability`.
        decoder: `tfcap.decoding.Decoder` of the captions that are not human.
        generated: Float, weight of these. Defaults to `1.0`.
        mismatched: Float, weight of the captions of other images. Defaults to
            `1.0`.
        retriever: As that of `tfcap.rewards.MatchProbability`. It is read in
            inference mode, and has no gradient.
        image: As that of `tfcap.rewards.MatchProbability`.
        name: String, under which the loss is logged, and the mean
            probabilities of the three kinds of captions with `_human`,
            `_generated` and `_mismatched` behind it. Defaults to
            `"discriminator"`.
        same: String, the key in the batch of integers `(B,)` by which rows
            that show the same image are known; or `None` where all differ.

    Example:

    >>> evaluator = tfcap.models.CaptionEvaluator(50, units=8)
    >>> sample = tfcap.decoding.Sample()
    >>> objective = tfcap.objectives.DiscriminatorLoss(evaluator, sample)
    >>> objective.log_names()[:3]
    ('discriminator', 'discriminator_human', 'discriminator_human_std')

    Reference:

    - Dai et al., Towards Diverse and Natural Image Descriptions via a
      Conditional GAN, ICCV 2017, section 3.2, where a caption of one other
      image is drawn. The weights, alpha and beta there, are 1 in the authors'
      code.
    - Chaffin et al., Distinctive Image Captioning: Leveraging Ground Truth
      Captions in CLIP Guided Reinforcement Learning, 2024, section 4.1: beam
      search is told from people, with a retriever, and `mismatched=0.0`
    """

    def __init__(
        self,
        evaluator,
        decoder,
        generated=1.0,
        mismatched=1.0,
        retriever=None,
        image=None,
        name="discriminator",
        same=None,
    ):
        check_evaluator(evaluator, retriever)
        check_decoder(decoder)
        weights = {"generated": generated, "mismatched": mismatched}
        kinds = [kind for kind, weight in weights.items() if weight != 0]
        super().__init__(name, ("human", *kinds), (decoder,))
        self.evaluator = evaluator
        self.decoder = decoder
        self.generated = generated
        self.mismatched = mismatched
        self.retriever = retriever
        self.image = image_key(
            evaluator if retriever is None else retriever, image
        )
        self.same = same

    def per_sample_loss(self, episode):
        if self.retriever is None:
            check_vocabulary(self.evaluator, episode, "evaluator")
        else:
            check_vocabulary(self.retriever, episode, "retriever")
        judge, images = self.evaluator, self._images(episode)
        human, there = self._texts(episode.references, episode)
        logits = {"human": (judge.logits(images, human), there)}
        if "generated" in self.parts:
            said = episode.rollout(self.decoder).stop_gradient()
            texts, spoken = self._texts(said, episode)
            logits["generated"] = judge.logits(images, texts), spoken
        if "mismatched" in self.parts:
            others, apart = _of_others(human, there, self._numbers(episode))
            logits["mismatched"] = judge.logits(images, others), apart
        return self._loss(logits)

    def _images(self, episode):
        """Embeddings of the images, `(B, D)`."""
        image, mask = image_of(episode, self.image, "DiscriminatorLoss")
        if self.retriever is None:
            training = episode.training
            return embedded_images(self.evaluator, image, training, mask)
        images = embedded_images(self.retriever, image, mask=mask)
        return ops.stop_gradient(images)

    def _numbers(self, episode):
        """Numbers `(B,)` by which rows of one image are known, or `None`."""
        if self.same is None:
            return None
        return numbers_of(episode, self.same, "DiscriminatorLoss")

    def _texts(self, rollout, episode):
        """Embeddings `(B, S, D)`, and which are of some words, `(B, S)`."""
        if self.retriever is None:
            texts = embedded_texts(self.evaluator, rollout, episode.training)
        else:
            texts = embedded_texts(self.retriever, rollout)
            texts = ops.stop_gradient(texts)
        return texts, ops.any(rollout.mask > 0, axis=-1)

    def _loss(self, logits):
        """Loss and logs of logits and masks `(B, n)`, by kind of caption."""
        kinds = {
            "human": (1.0, -1.0),
            "generated": (self.generated, 1.0),
            "mismatched": (self.mismatched, 1.0),
        }
        loss, logs = 0.0, {}
        for kind, (values, there) in logits.items():
            weight, sign = kinds[kind]
            surprise = masked_mean(ops.softplus(sign * values), there, axis=-1)
            loss = loss + weight * surprise[:, None]
            chance = masked_mean(ops.sigmoid(values), there, axis=-1)
            logs[kind] = chance[:, None]
        return loss, loss, logs


def _of_others(texts, there, same):
    """Texts of the global batch, and which of them are of another image.

    Args:
        texts: Float tensor of shape `(B, S, D)`.
        there: Boolean tensor of shape `(B, S)`.
        same: Integer tensor of shape `(B,)`, or `None`.

    Returns:
        Float tensor of shape `(n, D)`, and a boolean tensor `(B, n)`.
    """
    _, samples, units = ops.shape(texts)
    apart = ops.repeat(other_images(texts[:, 0], same), samples, axis=1)
    texts = gather_across_replicas(texts)
    there = ops.reshape(gather_across_replicas(there), (1, -1))
    return ops.reshape(texts, (-1, units)), ops.logical_and(apart, there)
