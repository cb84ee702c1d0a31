"""Rewards by networks that distinguish human from generated words."""

from typing import Any

from keras import ops

from tfcap._ops import masked_mean
from tfcap._ops.arguments import checked_number
from tfcap.losses.masked_loss import one_pair_loss
from tfcap.rewards.retrieval import check_embedder
from tfcap.rewards.retrieval import embedded_texts
from tfcap.rewards.retrieval import image_key
from tfcap.rewards.retrieval import images_of
from tfcap.rewards.retrieval import is_differentiable
from tfcap.rewards.reward import Reward
from tfcap.rewards.reward import check_methods
from tfcap.rewards.reward import check_vocabulary


class MatchProbability(Reward):
    """The probability that a caption is human and of its image.

    ```
    reward = sigmoid(logits(embed_images(image), embed_texts(caption)))
    ```

    An adversary: `tfcap.objectives.DiscriminatorLoss` trains it to distinguish
    the speaker's captions from human ones, of this image and of others. It is
    differentiable with respect to the words if the retriever is.

    Args:
        evaluator: Object with `logits(images, texts)`, from embeddings of
            images `(B, D)` and their texts `(B, S, D)` to `(B, S)`. It may
            embed them itself, as `tfcap.models.CaptionEvaluator` does, or
            take a retriever's embeddings, as `tfcap.models.PairDiscriminator`.
        retriever: Fixed retriever that embeds for the evaluator, as in
            `tfcap.rewards.BidirectionalContrastive`. Defaults to the
            evaluator.
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
        name="match_probability",
    ):
        check_evaluator(evaluator, retriever)
        self.evaluator = evaluator
        self.retriever = retriever
        self.reader = evaluator if retriever is None else retriever
        self.image = image_key(self.reader)
        self.name = name
        self.differentiable = is_differentiable(self.reader)

    def call(self, rollout, episode):
        check_vocabulary(self.reader, episode, "evaluator")
        images = images_of(self.reader, episode, self.image, self)
        texts = embedded_texts(self.reader, rollout)
        logits = self.evaluator.logits(images, texts)
        nonempty = ops.cast(rollout.nonempty, logits.dtype)
        return ops.sigmoid(logits) * nonempty


def check_evaluator(evaluator, retriever):
    """Rejects an evaluator that cannot score pairs."""
    if retriever is None:
        check_embedder(evaluator, "evaluator")
    else:
        check_embedder(retriever, "retriever")
    check_methods(evaluator, "evaluator", "logits")


class DialogScore(Reward):
    """Similarity of a generated answer to the human one, by a discriminator.

    ```
    reward = -tau * log(1 + exp((e . f(truth) - e . f(answer)) / tau))
    ```

    with `e` the discriminator's encoding of the question and `f` that of an
    answer. Of several human answers, the mean over the present ones.

    Args:
        discriminator: Object with `encode(inputs, training)`, returning `e` of
            shape `(B, D)`, and `embed(answers, mask, training)`, returning
            `(B, S, D)` from tokens `(B, S, T)` or words `(B, S, T, V)`; such
            as `tfcap.models.DialogDiscriminator`.
        learning: Boolean, whether the discriminator is itself being trained
            on this reward, so that gradients reach all of its inputs.
            Defaults to `False`: it runs in inference mode, and `e` and
            `f(truth)` are constants.
        temperature: Float, tau. At a low one, an answer gains little once it
            scores above the human one; in the limit of 0 the reward is a
            hinge. Defaults to `1.0`, as in the paper.

    Example:

    >>> discriminator = tfcap.models.DialogDiscriminator(
    ...     50, tfcap.layers.HCIAEEncoder(8), tfcap.layers.AnswerEncoder(8)
    ... )
    >>> sample = tfcap.decoding.Sample(tfcap.layers.GumbelSoftmaxST())
    >>> objective = tfcap.objectives.Pathwise(
    ...     tfcap.rewards.DialogScore(discriminator), sample
    ... )

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, equation 5. The released code
      keeps the discriminator's dropout on and adds its norm penalty; here the
      discriminator is fixed and runs in inference mode.
    """

    differentiable = True
    name = "dialog_score"

    def __init__(
        self,
        discriminator: Any,
        learning: bool = False,
        temperature: float = 1.0,
    ):
        self.discriminator = discriminator
        self.learning = learning
        self.temperature = checked_number(
            temperature, "temperature", "positive", lambda x: x > 0
        )

    def call(self, rollout, episode):
        check_vocabulary(self.discriminator, episode, "discriminator")
        critic = self.discriminator
        training = self.learning and episode.training
        anchor = critic.encode(episode.inputs, training=training)
        human = episode.references
        truth = critic.embed(human.tokens, human.mask, training=training)
        if not self.learning:
            anchor = ops.stop_gradient(anchor)
            truth = ops.stop_gradient(truth)
        answer = critic.embed(
            rollout.listener_inputs, rollout.mask, training=training
        )
        # Every answer beside every human one: `(B, S, N, D)`.
        read = anchor[:, None, None], truth[:, None], answer[:, :, None]
        rows, samples = ops.shape(answer)[:2]
        shape = rows, samples, *ops.shape(truth)[1:]
        read = [ops.broadcast_to(x, shape) for x in read]
        losses = one_pair_loss(read[0] / self.temperature, *read[1:])
        mean = masked_mean(losses, human.nonempty[:, None], axis=-1)
        return -self.temperature * mean


class Grammar(Reward):
    """The probability that a caption is well formed.

    ```
    reward = sigmoid(logits(caption))
    ```

    The classifier is trained once, on corrupted captions: it knows their
    mistakes, while an adversary such as `tfcap.rewards.MatchProbability` also
    learns those of the speaker. It is differentiable with respect to the
    words.

    Args:
        classifier: Object with `logits(words, mask)`, from tokens `(B, S, T)`
            or words `(B, S, T, V)` to `(B, S)`, such as
            `tfcap.models.GrammarClassifier`; of the speaker's vocabulary.
        name: String. Defaults to `"grammar"`.

    Example:

    >>> classifier = tfcap.models.GrammarClassifier(50, units=8)
    >>> reward = 2.0 * tfcap.rewards.BLEU(4) + tfcap.rewards.Grammar(classifier)
    >>> reward.terms
    ('bleu_4', 'grammar')

    Reference:

    - Cho et al., Fine-grained Image Captioning with CLIP Reward, Findings of
      NAACL 2022, section 3.2
    """

    differentiable = True

    def __init__(self, classifier, name="grammar"):
        check_methods(classifier, "classifier", "logits")
        self.classifier = classifier
        self.name = name

    def call(self, rollout, episode):
        check_vocabulary(self.classifier, episode, "classifier")
        logits = self.classifier.logits(rollout.listener_inputs, rollout.mask)
        nonempty = ops.cast(rollout.nonempty, logits.dtype)
        return ops.sigmoid(logits) * nonempty
