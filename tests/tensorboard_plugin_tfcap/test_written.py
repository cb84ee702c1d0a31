import numpy as np
import pytest

from tensorboard_plugin_tfcap.summary import Sample
from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tensorboard_plugin_tfcap.summary import write_comparison
from tensorboard_plugin_tfcap.summary import write_references
from tensorboard_plugin_tfcap.thumbnails import thumbnail


@pytest.mark.parametrize(
    "about, error, cure",
    [
        ({"method": 3}, TypeError, "`method` must be"),
        ({"params": {"lambda": None}}, TypeError, "must be"),
        ({"seed": [1]}, TypeError, "`seed` must be"),
        ({"best_by": "novelty"}, ValueError, "a known direction"),
        (
            {"metrics": [{"name": "b", "better": "more"}]},
            ValueError,
            "`better` must be",
        ),
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
        ({"x": None, "y": True}, ValueError, "must contain a number"),
        ({1: 1.0}, TypeError, "`metrics` must be a string"),
        ({"m" * 300_000: 1.0}, ValueError, "at most 262144 bytes"),
    ],
)
def test_points_that_nobody_reads_are_refused(tmp_path, metrics, error, cure):
    with TradeoffWriter(tmp_path, "mine") as writer:
        with pytest.raises(error, match=cure):
            writer.point(0, metrics)


@pytest.mark.parametrize(
    "lacking, cure",
    [
        ({"title": ""}, "must have a `title` and `metrics`"),
        ({"metrics": {}}, "must have a `title` and `metrics`"),
        ({"metrics": {"r@10": float("nan")}}, "must have finite numbers"),
        ({"metrics": {"r@10": None}}, "must have finite numbers"),
    ],
)
@pytest.mark.parametrize("write", [write_references, write_comparison])
def test_wrong_references_leave_no_file(tmp_path, write, lacking, cure):
    good = {"title": "SR-PL", "metrics": {"r@10": 80.1}}
    with pytest.raises(ValueError, match=f"`references` {cure}"):
        write(tmp_path / "log", references=[good, {**good, **lacking}])
    assert not (tmp_path / "log").exists()


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
