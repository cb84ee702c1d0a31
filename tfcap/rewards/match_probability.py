"""Whether an evaluator takes a caption for a human one, of its image."""

from keras import ops

from tfcap.rewards.reward import Reward


class MatchProbability(Reward):
    """The probability that a caption is human, and of its image.

    ```
    reward = sigmoid(logits(embed_images(image) . embed_texts(caption)))
    ```

    An adversary: trained by `tfcap.objectives.Judging` to tell what the
    speaker says from what people say, of this image and of others.
    Differentiable by the words, too.

    Args:
        evaluator: Object with `embed_images(image, training)`, from
            `(B, P, D)` to `(B, D)`, `embed_texts(words, mask, training)`, from
            tokens `(B, S, T)` or words `(B, S, T, V)` to `(B, S, D)`, and
            `logits(scores)`; such as `tfcap.models.CaptionEvaluator`.
        name: String. Defaults to `"match_probability"`.

    Example:

    >>> evaluator = tfcap.models.CaptionEvaluator(50, units=8)
    >>> sample = tfcap.decoding.Sample()
    >>> objective = tfcap.objectives.ScoreFunction(
    ...     tfcap.rewards.MatchProbability(evaluator), sample
    ... )
    >>> adversary = tfcap.objectives.Judging(evaluator, sample)

    Reference:

    - Dai et al., Towards Diverse and Natural Image Descriptions via a
      Conditional GAN, ICCV 2017, section 3.1
    """

    differentiable = True

    def __init__(self, evaluator, name="match_probability"):
        check_evaluator(evaluator)
        self.evaluator = evaluator
        self.name = name

    def call(self, rollout, episode):
        judge = self.evaluator
        images = judge.embed_images(image_of(episode, "MatchProbability"))
        texts = judge.embed_texts(rollout.heard, rollout.mask)
        images = ops.stop_gradient(images)
        scores = ops.sum(images[:, None] * texts, axis=-1)
        said = ops.cast(ops.any(rollout.mask > 0, axis=-1), scores.dtype)
        return ops.sigmoid(judge.logits(scores)) * said


def check_evaluator(evaluator):
    """Refuses what cannot judge captions."""
    for method in ("embed_images", "embed_texts", "logits"):
        if not hasattr(evaluator, method):
            raise TypeError(
                f"`evaluator` must have the method `{method}()`. Received: "
                f"evaluator={evaluator!r}."
            )


def image_of(episode, reader):
    """The images of a batch, `(B, P, D)`."""
    if "image" not in episode.inputs:
        raise ValueError(
            f"`inputs` must hold 'image', which {reader} reads. Received: "
            f"inputs with {', '.join(sorted(episode.inputs))}."
        )
    return episode.inputs["image"]
