"""Whether an evaluator takes a caption for a human one, of its image."""

from keras import ops

from tfcap.rewards.reward import Reward


class MatchProbability(Reward):
    """The probability that a caption is human, and of its image.

    ```
    reward = sigmoid(logits(embed_images(image), embed_texts(caption)))
    ```

    An adversary: trained by `tfcap.objectives.Judging` to tell what the
    speaker says from what people say, of this image and of others.
    Differentiable by the words, too.

    Args:
        evaluator: Object with `logits(images, texts)`, from embeddings of
            images `(B, D)` and their texts `(B, S, D)` to `(B, S)`, and with
            the methods of a retriever if none is given, such as
            `tfcap.models.CaptionEvaluator`; or without them, such as
            `tfcap.models.PairDiscriminator`.
        retriever: Object that embeds for the evaluator and stays as it is,
            such as `tfcap.models.RetrievalListener`, with
            `embed_images(image, training)`, from `(B, P, D)` to `(B, D)`, and
            `embed_texts(words, mask, training)`, from tokens `(B, S, T)` or
            words `(B, S, T, V)` to `(B, S, D)`. Defaults to the evaluator.
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
    - Chaffin et al., Distinctive Image Captioning: Leveraging Ground Truth
      Captions in CLIP Guided Reinforcement Learning, 2024, section 3.2, with a
      retriever
    """

    differentiable = True

    def __init__(self, evaluator, retriever=None, name="match_probability"):
        check_evaluator(evaluator, retriever)
        self.evaluator = evaluator
        self.retriever = retriever
        self.name = name

    def call(self, rollout, episode):
        reader = self.evaluator if self.retriever is None else self.retriever
        images = reader.embed_images(image_of(episode, "MatchProbability"))
        texts = reader.embed_texts(rollout.heard, rollout.mask)
        logits = self.evaluator.logits(ops.stop_gradient(images), texts)
        said = ops.cast(ops.any(rollout.mask > 0, axis=-1), logits.dtype)
        return ops.sigmoid(logits) * said


def check_evaluator(evaluator, retriever):
    """Refuses what cannot judge captions."""
    reader, name = retriever, "retriever"
    if retriever is None:
        reader, name = evaluator, "evaluator"
    wanted = [
        (reader, name, "embed_images"),
        (reader, name, "embed_texts"),
        (evaluator, "evaluator", "logits"),
    ]
    for owner, name, method in wanted:
        if not hasattr(owner, method):
            raise TypeError(
                f"`{name}` must have the method `{method}()`. Received: "
                f"{name}={owner!r}."
            )


def image_of(episode, reader):
    """The images of a batch, `(B, P, D)`."""
    if "image" not in episode.inputs:
        raise ValueError(
            f"`inputs` must hold 'image', which {reader} reads. Received: "
            f"inputs with {', '.join(sorted(episode.inputs))}."
        )
    return episode.inputs["image"]
