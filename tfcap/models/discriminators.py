"""Classifiers of captions: human or not, well formed or not."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import check_shape
from tfcap._ops import reference_mask
from tfcap._ops import without_start
from tfcap._ops.arguments import config_of
from tfcap.layers import SoftEmbedding
from tfcap.layers.sequence_encoder import SequenceEncoder
from tfcap.models.inputs import entry
from tfcap.models.inputs import word_ids


@keras.saving.register_keras_serializable(package="tfcap")
class PairDiscriminator(keras.Model):
    """Discriminates human captions of an image, by two embeddings.

    ```
    hidden = relu(W @ concatenate([image, text]) + b)
    logit = one more dense layer, ..., and one of a single unit
    ```

    A few dense layers on a fixed retriever's embeddings of image and caption;
    the retriever is not part of this network. It is trained by
    `tfcap.objectives.DiscriminatorLoss`, and is a reward in
    `tfcap.rewards.MatchProbability`; both take the retriever, too.

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
      4.1: a "3-layer MLP". Sizes are those of the authors' code, which has an
      equivalent softmax of two units.
    """

    def __init__(self, units: tuple[int, ...] = (512, 256), **kwargs):
        super().__init__(**kwargs)
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


@keras.saving.register_keras_serializable(package="tfcap")
class GrammarClassifier(keras.Model):
    """Classifies captions as well formed or not, by their words alone.

    ```
    state = last state of an LSTM over the words
    logit = w @ relu(W @ state + b) + c
    ```

    It learns from captions and corrupted ones, with labels 1 and 0, under
    `compile(loss=keras.losses.BinaryCrossentropy(from_logits=True))`, and is
    then a reward, `tfcap.rewards.Grammar`.

    Args:
        vocabulary_size: Integer `V`, special tokens included.
        units: Integer, size of the state and of the hidden layer. Defaults to
            `512`.
        embedding_units: Integer, size of a word's embedding. Defaults to
            `512`.
        eos: Integer, id of the end token. Defaults to `2`.
        pad: Integer, id of padding in captions, as in the speaker. Defaults to
            `0`.
        bos: Integer, id of the start token, which is left out at the
            beginning of captions. Optional.

    Call arguments:
        inputs: Dict of `caption` `(B, S, T)`, integers padded with `pad`.

    Returns:
        Float32 tensor of shape `(B, S)`, logits of being well formed.

    Example:

    >>> classifier = tfcap.models.GrammarClassifier(50, 8, 8)
    >>> classifier({"caption": np.array([[[5, 6, 2], [6, 6, 2]]])}).shape
    TensorShape([1, 2])

    Reference:

    - Cho et al., Fine-grained Image Captioning with CLIP Reward, Findings of
      NAACL 2022, section 3.2, where the classifier shares the text encoder of
      the retriever; here it has its own
    """

    def __init__(
        self,
        vocabulary_size: int,
        units: int = 512,
        embedding_units: int = 512,
        eos: int = 2,
        pad: int = 0,
        bos: int | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        # Packed shapes of the LSTM depend on the data, which XLA does not take.
        self.supports_jit = keras.backend.backend() != "tensorflow"
        self.vocabulary_size = vocabulary_size
        self.units = units
        self.embedding_units = embedding_units
        self.bos, self.eos, self.pad = bos, eos, pad
        options = {"dtype": self.dtype_policy}
        self.embedding = SoftEmbedding(
            vocabulary_size, embedding_units, name="embedding", **options
        )
        self.read = SequenceEncoder(units, name="text", **options)
        self.hidden = keras.layers.Dense(
            units, activation="relu", name="hidden", **options
        )
        self.score = keras.layers.Dense(1, name="score", dtype="float32")

    def build(self, input_shape):
        self.embedding.build((None, None))
        self.read.build((None, None, self.embedding_units))
        self.hidden.build((None, None, self.units))
        self.score.build((None, None, self.units))

    def call(self, inputs):
        tokens = word_ids(inputs, "caption", "B S T", self.pad)
        tokens = without_start(tokens, self)
        return self.logits(tokens, reference_mask(tokens, self.eos, self.pad))

    def logits(self, words: Any, mask: Any) -> Any:
        """Computes logits of being well formed.

        Args:
            words: Integer tensor of shape `(B, S, T)`, or distributions over
                words of shape `(B, S, T, V)`.
            mask: Tensor of shape `(B, S, T)`, nonzero where there is a word,
                the end token included.

        Returns:
            Float32 tensor of shape `(B, S)`.
        """
        check_shape(mask, "B S T", "mask")
        vectors = self.embedding(words)
        state = self.read(vectors, mask=ops.cast(mask, "bool"))
        return ops.squeeze(self.score(self.hidden(state)), axis=-1)

    def get_config(self):
        names = "vocabulary_size units embedding_units bos eos pad"
        return {**super().get_config(), **config_of(self, names)}
