"""Inputs of networks: entries of a batch, and the preparation of images."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import SeedGenerator
from tfcap._ops import check_shape
from tfcap._ops.arguments import checked_rate
from tfcap._ops.sequences import batch_entry

#: Images that something outside of the network has prepared.
OUTSIDE = "outside"


class ImageNetwork(keras.Model):
    """Base class of networks that preprocess their images.

    Args:
        image_preprocessing: Keras layer that every image goes through first:
            a convolutional network from pixels to `(B, P, D)`, or
            `tfcap.layers.ImageStandardization` of features. It is saved with
            the network, which then takes the layer's inputs as images. `None`
            if the network learns from features directly. `"outside"` if the
            caller preprocesses images in a way that the network does not know,
            as for networks of older files.
    """

    def __init__(self, image_preprocessing: Any = None, **kwargs):
        # Images are prepared before half precision rounds them.
        super().__init__(**{"autocast": False, **kwargs})
        if isinstance(image_preprocessing, dict):
            image_preprocessing = keras.saving.deserialize_keras_object(
                image_preprocessing
            )
        known = image_preprocessing in (None, OUTSIDE)
        if not known and not isinstance(
            image_preprocessing, keras.layers.Layer
        ):
            raise TypeError(
                "`image_preprocessing` must be a Keras layer, None or "
                f'"{OUTSIDE}". Received: image_preprocessing='
                f"{image_preprocessing!r}."
            )
        self.image_preprocessing = image_preprocessing

    def prepare(self, image: Any) -> Any:
        """Preprocesses images.

        Args:
            image: Float tensor of shape `(B, P, D)`, or as the preprocessing
                takes it.

        Returns:
            Float tensor of shape `(B, P, D)`, with `P = 1` if the
            preprocessing averages over positions.
        """
        if self._preprocesses():
            image = self.image_preprocessing(image)
        check_shape(image, "B P D", "image")
        return image

    def images(self, inputs: dict) -> Any:
        """Returns the images of a batch, or their shape, before `prepare()`."""
        if self._preprocesses():
            return batch_entry(inputs, "image", "that is preprocessed")
        return image_features(inputs)

    def prepared_shape(self, input_shape: dict) -> tuple:
        """Returns the shape `(B, P, D)` of prepared images."""
        shape = tuple(self.images(input_shape))
        if self._preprocesses():
            shape = self.image_preprocessing.compute_output_shape(shape)
        return tuple(shape)

    def _preprocesses(self):
        return self.image_preprocessing not in (None, OUTSIDE)

    def with_preprocessing(self, layer: Any) -> "ImageNetwork":
        """Copies the network, with a layer that preprocesses its images.

        It adds the standardization of the training features to a network that
        was saved without it.

        Args:
            layer: As `image_preprocessing`.

        Returns:
            A network of the same class and weights.

        Raises:
            ValueError: If the network is not built.
        """
        if not self.built:
            raise ValueError(
                "`with_preprocessing()` must be called on a built network. "
                f"Received: {type(self).__name__} without weights. Call it on "
                "a batch, or load it from its file."
            )
        config = {**self.get_config(), "image_preprocessing": layer}
        network = type(self).from_config(config)
        network.build_from_config(self.get_build_config())
        network.set_weights(self.get_weights())
        return network

    @classmethod
    def from_config(cls, config):
        return super().from_config({"image_preprocessing": OUTSIDE, **config})

    def get_config(self):
        layer = self.image_preprocessing
        if layer not in (None, OUTSIDE):
            layer = keras.saving.serialize_keras_object(layer)
        return {**super().get_config(), "image_preprocessing": layer}


class GuidedNetwork(keras.Model):
    """Base class of speakers that can be trained for guidance.

    In a share of the rows, the whole condition of a caption is replaced by
    zeros: beside `log p(w | x)` the speaker learns `log p(w)`, which decoders
    with `guidance` use.

    References:

    - Ho and Salimans, Classifier-Free Diffusion Guidance, 2022
    - Kornblith et al., Guiding Image Captioning Models Toward More Specific
      Captions, ICCV 2023
    """

    def drop_conditions(self, rate: float) -> None:
        """Sets the share of rows that are dropped in training."""
        self.condition_dropout = checked_rate(rate, "condition_dropout")
        # It has one if it may be guided, also when nothing is dropped any more.
        self.seed_generator = SeedGenerator() if rate else None

    def dropped(self, read: Any, training: bool) -> Any:
        """Replaces the condition by zeros in a share of rows."""
        leaves = keras.tree.flatten(read)
        if not (training and self.condition_dropout and leaves):
            return read
        rows = (ops.shape(leaves[0])[0],)
        drawn = keras.random.uniform(
            rows, dtype="float32", seed=self.seed_generator
        )
        shown = drawn >= self.condition_dropout

        def leaf(tensor):
            there = ops.reshape(shown, (-1, *(1,) * (len(tensor.shape) - 1)))
            return ops.where(there, tensor, ops.zeros_like(tensor))

        return keras.tree.map_structure(leaf, read)

    def check_guided(self) -> None:
        """Rejects guidance of a speaker trained without condition dropout.

        Raises:
            ValueError: If it was made without `condition_dropout`.
        """
        if self.seed_generator is None:
            raise ValueError(
                "`condition_dropout` must be positive for guidance, which "
                "needs a speaker trained without its inputs, too. Received: "
                "condition_dropout=0.0. Train it with "
                "`condition_dropout=0.1`, or decode with `guidance=1.0`."
            )

    def get_config(self):
        config = {
            **super().get_config(),
            "condition_dropout": self.condition_dropout,
        }
        # No argument: only `from_config()` knows it, which a subclass may have
        # of its own.
        guided = self.seed_generator is not None and not self.condition_dropout
        return {**config, "guided": True} if guided else config

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        guided = config.pop("guided", False)
        speaker = super().from_config(config)
        if guided and speaker.seed_generator is None:
            speaker.seed_generator = SeedGenerator()
        return speaker


def with_parts(config: dict, *names: str) -> dict:
    """Returns a config with some of its entries deserialized."""
    parts = {
        name: keras.saving.deserialize_keras_object(config[name])
        for name in names
    }
    return {**config, **parts}


def entry(inputs: dict, key: str, axes: str, pad: int = 0) -> Any:
    """Returns one entry of a batch, checked.

    Args:
        inputs: Dict of tensors, or of their shapes.
        key: String.
        axes: String, legend of the shape.
        pad: Integer, by which ragged ids are filled. Defaults to `0`.

    Returns:
        The tensor or shape.

    Raises:
        ValueError: If the batch has no such entry, or one of another shape.
    """
    shape = f"of shape ({', '.join(axes.split())})"
    value = batch_entry(inputs, key, shape, pad=pad)
    if hasattr(value, "dtype"):
        check_shape(value, axes, key)
    return value


def word_ids(inputs: dict, key: str, axes: str = "B R T", pad: int = 0) -> Any:
    """Returns word ids of a batch, checked, as int32.

    See `entry()` for the arguments.
    """
    # Keras averages a batch over replicas when it builds a model under a
    # strategy, which makes floats of integers.
    return ops.cast(entry(inputs, key, axes, pad), "int32")


def image_features(inputs: dict) -> Any:
    """Returns the image features `(B, P, D)` of a batch, checked."""
    return entry(inputs, "image", "B P D")


def image_mask(inputs: dict) -> Any:
    """Returns the mask `(B, P)` of image positions, checked, or `None`."""
    if "image_mask" not in inputs:
        return None
    return entry(inputs, "image_mask", "B P")


def encode_dialog(
    encoder: Any, embedding: Any, inputs: dict, training: bool
) -> Any:
    """Encodes questions, histories and images of a batch.

    Args:
        encoder: `DialogEncoder`, or a layer that is called alike.
        embedding: Layer that embeds words.
        inputs: Dict of a batch.
        training: Boolean.
    """
    mask = image_mask(inputs)
    return encoder(
        embedding(word_ids(inputs, "question")),
        embedding(word_ids(inputs, "history")),
        image_features(inputs),
        training=training,
        **({} if mask is None else {"image_mask": mask}),
    )


def check_positions(image: Any, mask: Any) -> None:
    """Rejects a mask of positions that a preprocessing has averaged.

    Args:
        image: Float tensor of shape `(B, P, D)`, prepared.
        mask: Tensor of shape `(B, P)`, or `None`.

    Raises:
        ValueError: If there is one position, and a mask of several.
    """
    if mask is not None and image.shape[1] == 1 != mask.shape[1]:
        raise ValueError(
            "`image_mask` must be left out if `image_preprocessing` averages "
            f"over positions. Received: image_mask.shape={tuple(mask.shape)}. "
            "Average over the unmasked positions, and pass the averages."
        )


def dialog_shapes(input_shape: dict) -> list[tuple]:
    """Returns the shapes of questions, histories and images of a batch."""
    axes = {"question": "B R T", "history": "B R T", "image": "B P D"}
    return [tuple(entry(input_shape, key, axes[key])) for key in axes]
