"""Training of discriminators of human and generated words."""

from keras import ops

from tfcap._ops import gather_across_replicas
from tfcap._ops import masked_mean
from tfcap._ops import reference_mask
from tfcap._ops import without_start
from tfcap._ops import words_only
from tfcap._ops.sequences import batch_entry
from tfcap.losses.masked_loss import n_pair_loss
from tfcap.losses.retrieval_loss import other_images
from tfcap.objectives.estimator import Estimator
from tfcap.objectives.estimator import check_decoder
from tfcap.rewards.critics import check_evaluator
from tfcap.rewards.retrieval import embedded_texts
from tfcap.rewards.retrieval import image_key
from tfcap.rewards.retrieval import images_of
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

    over all other images of the batch. The speaker has no gradient.
    `tfcap.rewards.MatchProbability` is the reward by this discriminator. A
    kind of captions with weight 0 is neither scored nor logged.

    Args:
        evaluator: As in `tfcap.rewards.MatchProbability`.
        decoder: `tfcap.decoding.Decoder` of the generated captions.
        generated: Float, weight of these. Defaults to `1.0`.
        mismatched: Float, weight of the captions of other images. Defaults to
            `1.0`.
        retriever: As in `tfcap.rewards.MatchProbability`. It runs in inference
            mode, without gradient.
        name: String, under which the loss is logged, and with `_human`,
            `_generated` and `_mismatched` the mean probabilities of the three
            kinds of captions. Defaults to `"discriminator"`.

    Example:

    >>> evaluator = tfcap.models.CaptionEvaluator(50, units=8)
    >>> sample = tfcap.decoding.Sample()
    >>> objective = tfcap.objectives.DiscriminatorLoss(evaluator, sample)
    >>> objective.log_names()[:3]
    ('discriminator', 'discriminator/human', 'discriminator/human_std')

    Reference:

    - Dai et al., Towards Diverse and Natural Image Descriptions via a
      Conditional GAN, ICCV 2017, section 3.2, where a caption of one other
      image is drawn. The weights, alpha and beta there, are 1 in the authors'
      code.
    - Chaffin et al., Distinctive Image Captioning: Leveraging Ground Truth
      Captions in CLIP Guided Reinforcement Learning, 2024, section 4.1: human
      captions against beam search, with a retriever, and `mismatched=0.0`
    """

    def __init__(
        self,
        evaluator,
        decoder,
        generated=1.0,
        mismatched=1.0,
        retriever=None,
        name="discriminator",
    ):
        check_evaluator(evaluator, retriever)
        check_decoder(decoder)
        weights = {"generated": generated, "mismatched": mismatched}
        kinds = [kind for kind, weight in weights.items() if weight != 0]
        super().__init__(name, ("human", *kinds), (decoder,))
        self.weights = {"human": 1.0, **weights}
        self.evaluator = evaluator
        self.decoder = decoder
        self.retriever = retriever
        self.reader = evaluator if retriever is None else retriever
        self.image = image_key(self.reader)

    def per_sample_loss(self, episode):
        learns = self.retriever is None
        training = learns and episode.training
        name = "evaluator" if learns else "retriever"
        check_vocabulary(self.reader, episode, name)
        images = images_of(self.reader, episode, self.image, self, learns)

        def read(rollout):
            texts = embedded_texts(self.reader, rollout, training)
            texts = texts if learns else ops.stop_gradient(texts)
            return texts, rollout.nonempty

        texts = {"human": read(episode.references)}
        if "generated" in self.parts:
            said = episode.rollout(self.decoder).stop_gradient()
            texts["generated"] = read(said)
        if "mismatched" in self.parts:
            texts["mismatched"] = _of_others(*texts["human"])
        loss, logs = 0.0, {}
        for kind, (embedded, there) in texts.items():
            logits = self.evaluator.logits(images, embedded)
            wrong = -logits if kind == "human" else logits
            surprise = masked_mean(ops.softplus(wrong), there, axis=-1)
            loss = loss + self.weights[kind] * surprise[:, None]
            chance = masked_mean(ops.sigmoid(logits), there, axis=-1)
            logs[kind] = chance[:, None]
        return loss, loss, logs


def _of_others(texts, there):
    """Returns the texts of the global batch, and which show another image.

    Args:
        texts: Float tensor of shape `(B, S, D)`.
        there: Boolean tensor of shape `(B, S)`.

    Returns:
        Float tensor of shape `(n, D)`, and a boolean tensor `(B, n)`.
    """
    _, samples, units = ops.shape(texts)
    apart = ops.repeat(other_images(texts[:, 0]), samples, axis=1)
    texts = gather_across_replicas(texts)
    there = ops.reshape(gather_across_replicas(there), (1, -1))
    return ops.reshape(texts, (-1, units)), ops.logical_and(apart, there)


def rank_with_fakes(discriminator, samples, options="options"):
    """Ranks a human answer above wrong ones and a speaker's samples.

    For `SupervisedLoss`. A sample that equals the human answer is left out.

    Args:
        discriminator: Object that scores answers, such as
            `tfcap.models.DialogDiscriminator`, with `encode()` and `embed()`
            as `tfcap.rewards.DialogScore` calls them,
            `score(anchor, options, training)`, returning scores `(B, N)` and
            embeddings `(B, N, D)`, and `penalty(anchor, answers, options)`,
            a scalar that is added to the loss.
        samples: `tfcap.decoding.Sample` of the speaker's answers.
        options: String, key in a batch of candidate answers `(..., N, T)`,
            the human answer first. Defaults to `"options"`.

    Returns:
        Callable from an `Episode` to losses `(B, 1)`; it raises a `ValueError`
        if `pad` of speaker and discriminator, 0 by default, differ.

    Example:

    >>> from tfcap.objectives.discriminator_loss import rank_with_fakes
    >>> from tfcap.objectives.score_function import SupervisedLoss
    >>> sample = tfcap.decoding.Sample(tfcap.layers.GumbelSoftmaxST())
    >>> loss = rank_with_fakes(None, sample)
    >>> term = SupervisedLoss(loss, "n_pair", (sample,))

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, section 5.2
    """

    def losses(episode):
        pad = getattr(episode.speaker, "pad", 0)
        _check_pad(discriminator, pad)
        candidates = batch_entry(
            episode.inputs, options, "candidate answers", pad=pad
        )
        candidates = without_start(candidates, episode.speaker)
        training = episode.training
        anchor = discriminator.encode(episode.inputs, training=training)
        scores, answers = discriminator.score(
            anchor, candidates, training=training
        )
        fakes = episode.rollout(samples).stop_gradient()
        embedded = discriminator.embed(
            fakes.tokens, fakes.mask, training=training
        )
        # As the discriminator scores: not in half precision.
        anchors, embedded = (
            ops.cast(x, scores.dtype) for x in (anchor[:, None], embedded)
        )
        fake_scores = ops.sum(anchors * embedded, axis=-1)
        scores = ops.concatenate([scores, fake_scores], axis=-1)
        there = reference_mask(candidates, episode.speaker.eos, pad)
        labels = _labels(
            words_only(candidates, there), words_only(fakes.tokens, fakes.mask)
        )
        losses, _ = n_pair_loss(labels, scores)
        return losses[:, None] + discriminator.penalty(
            anchor, answers, candidates
        )

    return losses


def _check_pad(discriminator, pad):
    """Rejects a network that would read padding as words."""
    own = getattr(discriminator, "pad", 0)
    if own != pad:
        raise ValueError(
            "`discriminator` must have the padding of the speaker. Received: "
            f"a speaker with pad={pad}, and a discriminator with pad={own}, 0 "
            "by default. Use one vocabulary for both."
        )


def _labels(options, fakes):
    """Labels: 1 the human answer, 0 wrong, -1 absent or equal to it.

    Args:
        options: Integer tensor of shape `(..., N, T)`, -1 for no word.
        fakes: Integer tensor of shape `(B, S, T)`, likewise.
    """
    *_, count, length = ops.shape(options)
    options = ops.reshape(options, (-1, count, length))
    # Each by the other's length, which may not be known yet.
    rows = ops.concatenate(
        [_padded(options, ops.shape(fakes)[-1]), _padded(fakes, length)],
        axis=1,
    )
    same = ops.all(ops.equal(rows, rows[:, :1]), axis=-1)
    absent = ops.logical_not(ops.any(rows >= 0, axis=-1))
    labels = ops.where(ops.logical_or(same, absent), -1.0, 0.0)
    truth = ops.where(absent[:, :1], -1.0, 1.0)
    return ops.concatenate([truth, labels[:, 1:]], axis=1)


def _padded(tokens, by):
    """Tokens `(B, S, T)` with -1 after them, `by` times."""
    after = ops.full((*ops.shape(tokens)[:2], by), -1, tokens.dtype)
    return ops.concatenate([tokens, after], axis=-1)
