import keras
import numpy as np
import pytest

from tfcap.layers import ImageStandardization
from tfcap.models import Att2inSpeaker
from tfcap.models import CaptionEvaluator
from tfcap.models import DualEncoder
from tfcap.models import RetrievalListener
from tfcap.models import ShowTellSpeaker
from tfcap.models import TransformerSpeaker
from tfcap.models import UpDownSpeaker

RNG = np.random.default_rng(0)
IMAGES = (RNG.normal(size=(2, 4, 3)) * [1, 30, 0.1] + [0, 90, 2]).astype("f4")
BATCH = {"image": IMAGES, "caption": np.array([[[5, 6, 2]], [[7, 2, 0]]])}
MEAN, DEVIATION = IMAGES.mean((0, 1)), IMAGES.std((0, 1))
NETWORKS = {
    Att2inSpeaker: {},
    ShowTellSpeaker: {},
    TransformerSpeaker: {"layers": 1, "heads": 2, "max_length": 4},
    UpDownSpeaker: {},
    CaptionEvaluator: {},
    DualEncoder: {"embedding_units": 4, "layers": 1, "heads": 2},
    RetrievalListener: {"embedding_units": 4},
}


@pytest.mark.parametrize("kind", NETWORKS, ids=lambda kind: kind.__name__)
def test_what_a_network_prepares_itself_is_what_others_prepared(kind, tmp_path):
    def make(**options):
        return kind(9, units=4, **NETWORKS[kind], **options)

    outside = make()
    ready = {**BATCH, "image": (IMAGES - MEAN) / DEVIATION}
    wanted = outside(ready)
    layer = ImageStandardization(MEAN, DEVIATION, positions=4)
    inside = make(image_preprocessing=layer)
    inside(BATCH)
    inside.set_weights(outside.get_weights())
    np.testing.assert_allclose(inside(BATCH), wanted, atol=1e-5)
    inside.save(tmp_path / "network.keras")
    again = keras.saving.load_model(tmp_path / "network.keras")
    np.testing.assert_array_equal(again(BATCH), inside(BATCH))
    # An older network is given the numbers afterwards, from its file.
    outside.save(tmp_path / "older.keras")
    older = keras.saving.load_model(tmp_path / "older.keras")
    given = older.with_preprocessing(layer)
    np.testing.assert_array_equal(given(BATCH), inside(BATCH))
    with pytest.raises(ValueError, match="must have 4 positions"):
        again({**BATCH, "image": IMAGES.mean(1, keepdims=True)})


@pytest.mark.parametrize("kind", NETWORKS, ids=lambda kind: kind.__name__)
def test_half_precision_rounds_no_image_before_it_is_prepared(kind):
    """Features that are large beside their deviation would all be alike."""
    images = 1000 + RNG.normal(size=(2, 4, 3)).astype("f4")
    layer = ImageStandardization(images.mean((0, 1)), images.std((0, 1)))
    options = {"dtype": "mixed_bfloat16", **NETWORKS[kind]}
    network = kind(9, units=4, image_preprocessing=layer, **options)
    batch = {**BATCH, "image": images}
    found = network(batch)
    network.image_preprocessing = None
    prepared = network({**BATCH, "image": layer(images)})
    np.testing.assert_allclose(*map(np.float32, (found, prepared)), atol=0.02)
    network.image_preprocessing = layer
    if hasattr(network, "embed_images"):
        alone = network.embed_images(images)
        np.testing.assert_array_equal(np.float32(found)[:, 0], alone)
    else:
        logits = network.logits(network.begin(batch), batch["caption"])
        np.testing.assert_array_equal(*map(np.float32, (logits, found)))


def test_a_network_of_an_older_file_leaves_its_images_to_others():
    config = ShowTellSpeaker(9, units=4).get_config()
    assert ShowTellSpeaker.from_config(config).image_preprocessing is None
    del config["image_preprocessing"]
    again = ShowTellSpeaker.from_config(config)
    assert again.image_preprocessing == "outside"
    kept = ShowTellSpeaker.from_config(again.get_config())
    assert kept.image_preprocessing == "outside"
    np.testing.assert_array_equal(kept.prepare(IMAGES), IMAGES)


def test_a_preparation_is_a_layer():
    with pytest.raises(ValueError, match="must be called on a built network"):
        ShowTellSpeaker(9, units=4).with_preprocessing(None)
    with pytest.raises(TypeError, match="must be a Keras layer, None or"):
        ShowTellSpeaker(9, units=4, image_preprocessing="standardize")


def test_a_mask_of_positions_is_refused_where_they_are_averaged_before():
    layer = ImageStandardization(MEAN, DEVIATION, pooled=True)
    for kind in (ShowTellSpeaker, RetrievalListener):
        network = kind(9, units=4, image_preprocessing=layer)
        with pytest.raises(ValueError, match="`image_mask` must be left out"):
            network({**BATCH, "image_mask": np.ones((2, 4))})


@pytest.mark.parametrize("kind", NETWORKS, ids=lambda kind: kind.__name__)
def test_a_masked_position_is_as_none(kind):
    network = kind(9, units=4, **NETWORKS[kind])
    mask = np.array([[1, 1, 0, 1], [0, 1, 0, 1]])
    masked = {**BATCH, "image_mask": mask}
    wanted = network(masked)
    image = np.where(mask[..., None] > 0, IMAGES, 7.0)
    found = network({**masked, "image": image})
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    some = {"image": IMAGES[1:, 1::2], "caption": BATCH["caption"][1:]}
    np.testing.assert_allclose(network(some), wanted[1:], atol=1e-5)
    assert np.abs(network(BATCH) - wanted).max() > 1e-3


def test_a_listener_that_encodes_images_without_a_mask_goes_on_working():
    class Greatest(RetrievalListener):
        def encode_image(self, image, training=False):
            return self.project(np.max(image, axis=1))

    network = Greatest(9, units=4, embedding_units=4)
    masked = {**BATCH, "image_mask": np.ones((2, 4))}
    np.testing.assert_array_equal(network(masked), network(BATCH))


def test_whole_rows_are_dropped_at_the_rate():
    speaker = ShowTellSpeaker(9, units=4, condition_dropout=0.3)
    image = np.ones((400, 2, 3), "float32")
    found = speaker.dropped(image, training=True).numpy()
    kept = found.mean(axis=(1, 2))
    assert {*kept} == {0.0, 1.0} and 0.6 < kept.mean() < 0.8
    assert speaker.dropped(image, training=False) is image
    with pytest.raises(ValueError, match="`condition_dropout` must be in"):
        ShowTellSpeaker(9, units=4, condition_dropout=1.0)


@pytest.mark.parametrize("kind", NETWORKS, ids=lambda kind: kind.__name__)
def test_pixels_become_features_in_the_network(kind, tmp_path):
    cnn = keras.Sequential(
        [
            keras.Input((8, 8, 3)),
            keras.layers.Conv2D(5, 4, 4),
            keras.layers.Reshape((4, 5)),
        ]
    )
    pixels = np.random.default_rng(0).random((2, 8, 8, 3), "float32")
    captions = np.array([[[5, 2]], [[6, 2]]])
    batch = {"image": pixels, "caption": captions}
    options = NETWORKS[kind]
    inside = kind(9, units=4, image_preprocessing=cnn, **options)
    outside = kind(9, units=4, **options)
    outputs = inside(batch)
    features = {**batch, "image": cnn(pixels)}
    outside(features)
    of_cnn = {weight.path for weight in cnn.weights}
    rest = [w for w in inside.weights if w.path not in of_cnn]
    outside.set_weights([keras.ops.convert_to_numpy(w) for w in rest])
    np.testing.assert_allclose(outputs, outside(features), atol=1e-6)
    inside.save(tmp_path / "network.keras")
    again = keras.saving.load_model(tmp_path / "network.keras")
    np.testing.assert_allclose(again(batch), outputs, atol=1e-6)
