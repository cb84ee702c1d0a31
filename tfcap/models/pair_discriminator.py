"""Discriminator of pairs of embeddings: human captions, or not."""

from typing import Any

import keras
from keras import ops

from tfcap.models.inputs import entry


@keras.saving.register_keras_serializable(package="tfcap")
class PairDiscriminator(keras.Model):
    """Tells from two embeddings whether a caption of an image is human.

    ```
    hidden = relu(W @ concatenate([image, text]) + b)
    logit = one more dense layer, ..., and one of a single unit
    ```

    A few dense layers on what a fixed retriever makes of image and caption:
    the retriever does the reading, and is not in this network. Trained by
    `tfcap.objectives.DiscriminatorLoss`, and a reward in
    `tfcap.rewards.MatchProbability`, both given the retriever, too.

    Args:
        units: Tuple of integers, sizes of the hidden layers. Defaults to
            `(512, 256)`.

    Call arguments:
        inputs: Dict of `image` `(B, D)` and `text` `(B, S, D)`, floats: the
            embeddings. The two may differ in D.

    Returns:
        Float32 tensor of shape `(B, S)`, logits of being human.

    Example:

    >>> discriminator = tfcap.models.PairDiscriminator(units=(8, 4))
    >>> images, texts = np.ones((3, 6)), np.ones((3, 2, 6))
    >>> discriminator({"image": images, "text": texts}).shape
    TensorShape([3, 2])

    Reference:

    - Chaffin et al., Distinctive Image Captioning: Leveraging Ground Truth
      Captions in CLIP Guided Reinforcement Learning, 2024, sections 3.2 and
      4.1: a "3-layer MLP". Sizes are those of the authors' code, which has a
      softmax of two units where one logit says the same.
    """

    def __init__(self, units: tuple[int, ...] = (512, 256), **kwargs):
        super().__init__(**kwargs)
        if not units or any(size < 1 for size in units):
            raise ValueError(
                "`units` must be positive sizes of one hidden layer or more. "
                f"Received: units={units}."
            )
        self.units = tuple(units)
        options = {"dtype": self.dtype_policy}
        # The first layer in two parts: images are read once for all texts.
        first, *others = self.units
        self.image = keras.layers.Dense(first, name="image", **options)
        self.text = keras.layers.Dense(
            first, use_bias=False, name="text", **options
        )
        self.hidden = [
            keras.layers.Dense(size, name=f"hidden_{i}", **options)
            for i, size in enumerate(others)
        ]
        self.score = keras.layers.Dense(1, name="score", dtype="float32")

    def build(self, input_shape):
        self.image.build(tuple(entry(input_shape, "image", "B D")))
        self.text.build(tuple(entry(input_shape, "text", "B S D")))
        for size, layer in zip(self.units, [*self.hidden, self.score]):
            layer.build((None, None, size))

    def call(self, inputs):
        images = entry(inputs, "image", "B D")
        return self.logits(images, entry(inputs, "text", "B S D"))

    def logits(self, images: Any, texts: Any) -> Any:
        """Computes logits of being human.

        Args:
            images: Float tensor of shape `(B, D)`.
            texts: Float tensor of shape `(B, S, D)`, those of each image, or
                `(N, D)`, to be judged with every image.

        Returns:
            Float32 tensor of shape `(B, S)` or `(B, N)`.
        """
        hidden = self.image(images)[:, None] + self.text(texts)
        for layer in self.hidden:
            hidden = layer(ops.relu(hidden))
        return ops.squeeze(self.score(ops.relu(hidden)), axis=-1)

    def get_config(self):
        return {**super().get_config(), "units": self.units}
