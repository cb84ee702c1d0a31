import numpy as np
import pytest

from tensorboard_plugin_tfcap.summary import Sample
from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tensorboard_plugin_tfcap.thumbnails import thumbnail


@pytest.mark.parametrize(
    "about, error, cure",
    [
        ({"method": ""}, ValueError, "`method` must not be empty"),
        ({"split": 1}, TypeError, "`split` must be a string"),
        ({"split": ""}, ValueError, "`split` must not be empty"),
        ({"params": {1: 2}}, TypeError, "`params` must be a string"),
        (
            {"params": {f"p{i}": i for i in range(401)}},
            ValueError,
            "at most 400 entries",
        ),
        (
            {"metrics": [{"name": "a", "beter": "lower"}]},
            ValueError,
            "must be dicts with `name`.*beter",
        ),
        ({"metrics": [{"title": "A"}]}, ValueError, "dicts with `name`"),
    ],
)
def test_what_a_reader_would_pass_over_is_refused(tmp_path, about, error, cure):
    with pytest.raises(error, match=cure):
        TradeoffWriter(tmp_path, **{"method": "mine", **about})


@pytest.mark.parametrize(
    "metrics, error, cure",
    [
        ({f"m{i}": i for i in range(401)}, ValueError, "at most 400"),
        ({"a": np.array([1.0, 2.0])}, TypeError, "must hold numbers.*a="),
        ({1: 1.0}, TypeError, "`metrics` must be a string"),
        ({"m" * 300_000: 1.0}, ValueError, "at most 262144 bytes"),
    ],
)
def test_points_that_nobody_reads_are_refused(tmp_path, metrics, error, cure):
    with TradeoffWriter(tmp_path, "mine") as writer:
        with pytest.raises(error, match=cure):
            writer.point(0, metrics)


@pytest.mark.parametrize("name", ["human", "missing"])
def test_a_string_is_no_list_of_strings(name):
    with pytest.raises(TypeError, match=f"`{name}` must be a list.*in a list"):
        Sample(1, "a cat", **{name: "a dog"}).content()
    with pytest.raises(TypeError, match=f"`{name}` must be a string"):
        Sample(1, "a cat", **{name: [3]}).content()


def test_pictures_of_other_shapes_are_refused():
    gray = np.zeros((28, 28, 1), "uint8")
    assert thumbnail(gray) == thumbnail(gray[..., 0])
    for shape in ((3, 224, 224), (4,), (2, 8, 8, 3)):
        with pytest.raises(ValueError, match="Move channels last"):
            thumbnail(np.zeros(shape, "uint8"))
    with pytest.raises(ValueError, match="floats up to 255"):
        thumbnail(np.full((4, 4, 3), 255.0))
