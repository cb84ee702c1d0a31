"""From the text of captions to word ids, inside a model."""

import keras

from tfcap.data.tokenize_captions import tokenize_captions
from tfcap.text import Vocabulary


@keras.saving.register_keras_serializable(package="tfcap")
class CaptionEncoder(keras.layers.Layer):
    """Turns captions into word ids, padded with 0 on the right.

    Gives what `vocabulary.encode_batch()` gives for the words of
    `tfcap.text.caption_tokenize()`, as operations of TensorFlow: for `tf.data`
    pipelines, and for models that take text once they are exported. The
    vocabulary is part of the configuration and is saved with the model.

    Args:
        vocabulary: `tfcap.text.Vocabulary`.
        max_length: Integer. Words beyond it are cut off.
        eos: Boolean, whether to append EOS (after the cut). Defaults to
            `False`.

    Call arguments:
        texts: String tensor of shape `(B,)`.

    Returns:
        Integer tensor of shape `(B, max_length)`, or `(B, max_length + 1)`
        with `eos`, dtype int32.

    Raises:
        ImportError: If tensorflow-text is not installed:
            `pip install 'tfcap[text]'`.

    Example:

    >>> vocabulary = tfcap.text.Vocabulary(["a", "dog", "bed"])
    >>> encode = tfcap.data.CaptionEncoder(vocabulary, max_length=4, eos=True)
    >>> encode(["A dog.", "The dog's very big bed!"]).numpy()
    array([[4, 5, 2, 0, 0],
           [3, 5, 3, 3, 2]], dtype=int32)
    """

    def __init__(self, vocabulary, max_length, eos=False, **kwargs):
        super().__init__(**{"dtype": "int32", **kwargs})
        if not isinstance(vocabulary, Vocabulary):
            raise TypeError(
                "`vocabulary` must be a `tfcap.text.Vocabulary`. Received: "
                f"vocabulary={vocabulary!r} of type "
                f"{type(vocabulary).__name__}."
            )
        if max_length < 1:
            raise ValueError(
                "`max_length` must be positive. Received: "
                f"max_length={max_length}."
            )
        self.vocabulary = vocabulary
        self.max_length = max_length
        self.eos = eos
        self.supports_jit = False
        self._table = _lookup_table(vocabulary)

    def call(self, texts):
        import tensorflow as tf

        words = tokenize_captions(texts)[:, : self.max_length]
        ids = words.with_flat_values(self._table.lookup(words.flat_values))
        if self.eos:
            ends = tf.fill([ids.nrows(), 1], self.vocabulary.eos)
            ids = tf.concat([ids, ends], axis=1)
        width = self.max_length + bool(self.eos)
        return ids.to_tensor(self.vocabulary.pad, shape=[None, width])

    def compute_output_spec(self, texts):
        width = self.max_length + bool(self.eos)
        return keras.KerasTensor((*texts.shape, width), dtype="int32")

    def compute_output_shape(self, input_shape):
        return (*input_shape, self.max_length + bool(self.eos))

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary": self.vocabulary.get_config(),
            "max_length": self.max_length,
            "eos": self.eos,
        }

    @classmethod
    def from_config(cls, config):
        vocabulary = Vocabulary.from_config(config["vocabulary"])
        return cls(**{**config, "vocabulary": vocabulary})


def _lookup_table(vocabulary):
    import tensorflow as tf

    first = vocabulary.unk + 1
    return tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(
            tf.constant(vocabulary.words, tf.string, [len(vocabulary.words)]),
            tf.range(first, vocabulary.size),
        ),
        default_value=vocabulary.unk,
    )
