"""Evaluator of captions: human and of the image, or not."""

import math
from typing import Any

import keras
from keras import ops

from tfcap.models.retrieval_listener import RetrievalListener


@keras.saving.register_keras_serializable(package="tfcap")
class CaptionEvaluator(RetrievalListener):
    """Listener with a probability that image and text belong together.

    ```
    probability = sigmoid(exp(log_scale) * v . w + bias)
    ```

    with the unit vectors of `tfcap.models.RetrievalListener`. Cosines are too
    narrow for a probability, so their scale is learned; and so is the bias,
    since the pairs that do not belong together are more.

    Args:
        vocabulary_size: Integer `V`, special tokens included.
        units: As those of `tfcap.models.RetrievalListener`.
        embedding_units: As that of `tfcap.models.RetrievalListener`.
        scale: Float, the scale to start from. Defaults to `10.0`.
        **kwargs: Those of `tfcap.models.RetrievalListener`.

    Call arguments, Returns:
        As of `tfcap.models.RetrievalListener`.

    Example:

    >>> evaluator = tfcap.models.CaptionEvaluator(50, units=8)
    >>> batch = {
    ...     "image": np.random.normal(size=(3, 1, 5)),
    ...     "caption": np.array([[[5, 6, 2]], [[7, 2, 0]], [[8, 9, 2]]]),
    ... }
    >>> vectors = evaluator(batch)
    >>> logits = evaluator.logits(vectors[:, 0], vectors[:, 1:])
    >>> keras.ops.sigmoid(logits).shape
    TensorShape([3, 1])

    Reference:

    - Dai et al., Towards Diverse and Natural Image Descriptions via a
      Conditional GAN, ICCV 2017, section 3.1, where embeddings are not
      normalized, and nothing is learned of the logit
    """

    def __init__(
        self,
        vocabulary_size: int,
        units: int = 1024,
        embedding_units: int = 512,
        scale: float = 10.0,
        **kwargs,
    ):
        super().__init__(vocabulary_size, units, embedding_units, **kwargs)
        if not scale > 0:
            raise ValueError(
                f"`scale` must be positive. Received: scale={scale}."
            )
        self.scale = scale

    def build(self, input_shape):
        super().build(input_shape)
        options = {"shape": (), "dtype": "float32", "autocast": False}
        self.log_scale = self.add_weight(
            initializer=keras.initializers.Constant(math.log(self.scale)),
            name="log_scale",
            **options,
        )
        self.bias = self.add_weight(initializer="zeros", name="bias", **options)

    def logits(self, images: Any, texts: Any) -> Any:
        """Computes logits of the probability that they belong together.

        Args:
            images: Float tensor of shape `(B, D)`, from `embed_images()`.
            texts: Float tensor of shape `(B, S, D)`, those of each image, or
                `(N, D)`, to be judged with every image.

        Returns:
            Float32 tensor of shape `(B, S)` or `(B, N)`.
        """
        if len(texts.shape) == 2:
            scores = ops.matmul(images, ops.transpose(texts))
        else:
            scores = ops.sum(images[:, None] * texts, axis=-1)
        scores = ops.cast(scores, "float32")
        return ops.exp(self.log_scale) * scores + self.bias

    def get_config(self):
        return {**super().get_config(), "scale": self.scale}
