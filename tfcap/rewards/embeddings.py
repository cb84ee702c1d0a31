"""Images and texts in one space, as rewards ask networks for them."""

from tfcap._ops.arguments import batch_entry
from tfcap._ops.arguments import mask_for
from tfcap._ops.sequences import with_known_sizes


def check_embedder(embedder, argument: str):
    """Refuses what does not embed images and texts.

    Args:
        embedder: Object with `embed_images(image, training)`, from
            `(B, P, D)` to `(B, D)`, and `embed_texts(words, mask, training)`,
            from tokens `(B, S, T)` or words `(B, S, T, V)` to `(B, S, D)`.
    """
    for method in ("embed_images", "embed_texts"):
        if not hasattr(embedder, method):
            raise TypeError(
                f"`{argument}` must have the method `{method}()`. "
                f"Received: {argument}={embedder!r}."
            )


def check_vocabulary(network, episode, argument: str):
    """Refuses a network that reads the words of another vocabulary.

    Raises:
        ValueError: If the sizes differ.
    """
    known = getattr(network, "vocabulary_size", None)
    size = getattr(episode.speaker, "vocabulary_size", None)
    if None not in (known, size) and known != size:
        raise ValueError(
            f"`{argument}` must read the speaker's vocabulary. Received: "
            f"{argument}.vocabulary_size={known} for a speaker with "
            f"vocabulary_size={size}. Train both on one "
            "`tfcap.text.Vocabulary`."
        )


def entry(episode, key, reader):
    """Returns an entry of a batch, or raises an error that names its reader."""
    return batch_entry(episode.inputs, key, f"which {reader} reads")


def image_key(embedder, image=None):
    """The key of images: the one given, or the one that the embedder names."""
    return image or getattr(embedder, "image_key", "image")


def check_one_space(images, texts, key: str):
    """Refuses embeddings of images that are no match for those of texts.

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


def position_mask(episode, key: str):
    """Mask of the positions of a batch's images, or `None`."""
    return episode.inputs.get(f"{key}_mask")


def embedded_images(embedder, image, training: bool = False, mask=None):
    """Embeddings `(B, D)` of images.

    Args:
        image: Float tensor of shape `(B, P, D)`, or as the embedder reads
            images; or `(B, D)`, which holds the embeddings, computed once and
            for all, as `embed_images()` would give them.
        mask: Tensor of shape `(B, P)`, nonzero where there is a position, for
            an embedder that takes it; or `None`.
    """
    if len(image.shape) == 2:
        return image
    masked = mask_for(embedder.embed_images, mask)
    return embedder.embed_images(image, training=training, **masked)


def embedded_texts(embedder, rollout, training=False):
    """Embeddings `(B, S, D)` of what is said.

    An embedder that says of itself that it is not `differentiable` is given
    tokens alone, as one that reads strings with a tokenizer of its own must
    be. All endings of a text are given to `embed_endings()`, where there is
    that method, by which a word is read once.
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
    """Returns true unless an embedder says that no gradient passes it."""
    return getattr(embedder, "differentiable", True)
