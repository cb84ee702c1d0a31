import numpy as np
import pytest

from tfcap.layers.condition_dropout import ConditionDropout

FEATURES = np.random.default_rng(0).normal(size=(400, 2, 3)).astype("float32")


@pytest.mark.parametrize("dropped", ["zeros", "learned"])
def test_whole_rows_are_replaced_at_the_rate(dropped):
    layer = ConditionDropout(0.3, dropped, seed=0)
    layer.build(FEATURES.shape)
    if dropped == "learned":
        layer.vector.assign([1.0, 2.0, 3.0])
    found = layer(FEATURES, training=True).numpy()
    other = layer.dropped_rows(1).numpy()
    gone = (found == other).all(axis=(1, 2))
    kept = (found == FEATURES).all(axis=(1, 2))
    assert (gone ^ kept).all() and 0.2 < gone.mean() < 0.4
    np.testing.assert_array_equal(layer(FEATURES), FEATURES)


def test_arguments_are_refused():
    with pytest.raises(ValueError, match="`rate` must be in"):
        ConditionDropout(1.0)
    with pytest.raises(ValueError, match="`dropped` must be one of"):
        ConditionDropout(dropped="noise")
