"""CLIPScore, PAC-S and their forms with references, on embeddings."""

from keras import ops

from tfcap._ops import check_shape
from tfcap._ops.sequences import at_least_float32


def clip_score(image, candidate, weight=2.5):
    """CLIPScore or, with `weight` 2, PAC-S.

    ```
    weight * max(cos(image, candidate), 0)
    ```

    Embeddings may come from any model with one space for images and texts.
    Papers report CLIP ViT-B/32 with "A photo depicts " before each caption, and
    `weight` 2.5. PAC-S is the same score with CLIP fine-tuned on generated
    images and captions. CLIPScore of torchmetrics is `100 * cos`, without a
    prefix.

    Args:
        image: Float tensor of shape `(..., D)`, embeddings of images, not
            necessarily normalized.
        candidate: Float tensor of shape `(..., D)`, embeddings of captions.
            The leading axes broadcast: `(B, 1, D)` with `(B, S, D)` scores
            samples.
        weight: Float. Defaults to `2.5`.

    Returns:
        Float tensor of shape `(...)`, at least float32, in `[0, weight]`.

    Example:

    >>> image = np.array([[3.0, 4.0], [3.0, 4.0]])
    >>> candidate = np.array([[1.0, 0.0], [-1.0, 0.0]])
    >>> print(np.array(tfcap.metrics.clip_score(image, candidate)).round(4))
    [1.5 0. ]

    Reference:

    - Hessel et al., CLIPScore: A Reference-free Evaluation Metric for Image
      Captioning, EMNLP 2021, section 3. Their code embeds in half precision
      on a GPU, and its normalization depends on the version of NumPy; here
      everything is at least float32.
    - Sarto et al., Positive-Augmented Contrastive Learning for Image and
      Video Captioning Evaluation, CVPR 2023
    """
    return weight * ops.maximum(_cosine(image, candidate, "candidate"), 0)


def ref_clip_score(
    image, candidate, references, reference_mask=None, weight=2.5
):
    """RefCLIPScore or, with `weight` 2, RefPAC-S.

    ```
    harmonic_mean(clip_score(image, candidate),
                  max(max_r cos(candidate, references[r]), 0))
    ```

    `weight` applies to the image term only. If either term is 0, so is the
    score.

    Args:
        image: Float tensor of shape `(..., D)`.
        candidate: Float tensor of shape `(..., D)`.
        references: Float tensor of shape `(..., N, D)`.
        reference_mask: Tensor of shape `(..., N)`, 0 for an absent reference,
            optional.
        weight: Float. Defaults to `2.5`.

    Returns:
        Float tensor of shape `(...)`, at least float32.

    Example:

    >>> image, candidate = np.array([[3.0, 4.0]]), np.array([[1.0, 0.0]])
    >>> references = np.array([[[0.0, 2.0], [2.0, 0.0]]])
    >>> score = tfcap.metrics.ref_clip_score(image, candidate, references)
    >>> print(np.array(score).round(4))
    [1.2]

    Reference:

    - Hessel et al., EMNLP 2021, section 3. As in the paper, the cosine to the
      references is clipped at 0; the authors' code does not clip it, and may
      return a negative score.
    """
    nearest = _nearest(candidate, references, reference_mask)
    return _harmonic_mean(clip_score(image, candidate, weight), nearest)


def _nearest(candidate, references, mask):
    """Computes the largest cosine to a present reference, at least 0."""
    check_shape(references, "... N D", "references")
    references = ops.convert_to_tensor(references)
    if references.shape[-2] == 0:
        raise ValueError(
            "`references` must hold at least one reference per image. "
            f"Received: references.shape={tuple(references.shape)}. Use "
            "`clip_score()` where there are none."
        )
    if mask is not None:
        # Absent references have a cosine of 0 and no gradient.
        there = ops.cast(mask, "bool")[..., None]
        references = ops.where(there, references, 0)
    candidate = ops.expand_dims(ops.convert_to_tensor(candidate), -2)
    cosines = _cosine(candidate, references, "references")
    return ops.maximum(ops.max(cosines, axis=-1), 0)


def _cosine(left, right, name):
    left, right = _unit(left), _unit(right)
    sizes = left.shape[-1], right.shape[-1]
    if None not in sizes and sizes[0] != sizes[1]:
        raise ValueError(
            f"`{name}` must have as many features as the other embeddings. "
            f"Received: {left.shape[-1]} and {right.shape[-1]} features. Use "
            "embeddings of one model."
        )
    return ops.sum(ops.multiply(left, right), axis=-1)


def _unit(embedding):
    """Normalizes to length 1; zero vectors stay 0, without gradient."""
    embedding = at_least_float32(ops.convert_to_tensor(embedding))
    square = ops.sum(embedding * embedding, axis=-1, keepdims=True)
    long = square > 0
    return embedding * ops.where(long, ops.rsqrt(ops.where(long, square, 1)), 0)


def _harmonic_mean(left, right):
    total = left + right
    some = total > 0
    return ops.where(some, 2 * left * right / ops.where(some, total, 1), 0)
