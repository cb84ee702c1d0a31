"""Images and texts in one space, as rewards ask networks for them."""

from tfcap.ops import check_shape


def check_embedder(embedder, argument):
    """Refuses what does not embed images and texts.

    Args:
        embedder: Object with `embed_images(image, training)`, from
            `(B, P, D)` to `(B, D)`, and `embed_texts(words, mask, training)`,
            from tokens `(B, S, T)` or words `(B, S, T, V)` to `(B, S, D)`.
        argument: String, what it is called in the message.
    """
    for method in ("embed_images", "embed_texts"):
        if not hasattr(embedder, method):
            raise TypeError(
                f"`{argument}` must have the method `{method}()`. "
                f"Received: {argument}={embedder!r}."
            )


def entry(episode, key, reader):
    """What a batch holds under a key, or an error that names its reader."""
    if key not in episode.inputs:
        raise ValueError(
            f"`inputs` must hold {key!r}, which {reader} reads. Received: "
            f"inputs with {', '.join(sorted(episode.inputs))}."
        )
    return episode.inputs[key]


def embedded_images(embedder, image, training=False):
    """Embeddings `(B, D)` of images.

    Args:
        embedder: As in `check_embedder()`.
        image: Float tensor of shape `(B, P, D)`, or `(B, D)`, which holds the
            embeddings, computed once and for all.
        training: Boolean.
    """
    if len(image.shape) == 2:
        return image
    check_shape(image, "B P D", "image")
    return embedder.embed_images(image, training=training)


def embedded_texts(embedder, rollout, training=False):
    """Embeddings `(B, S, D)` of what is said.

    An embedder that says of itself that it is not `differentiable` is given
    tokens alone, as one that reads strings with a tokenizer of its own must
    be.
    """
    words = rollout.heard if is_differentiable(embedder) else rollout.tokens
    return embedder.embed_texts(words, rollout.mask, training=training)


def is_differentiable(embedder):
    """Whether gradients pass an embedder: unless it says that they do not."""
    return getattr(embedder, "differentiable", True)
