import numpy as np
import pytest

from tfcap.data.mapped_features import check_features
from tfcap.data.mapped_features import feature_rows

FEATURES = np.arange(24, dtype="float16").reshape(4, 2, 3)
ROWS = np.array([3, 0, 3])


def test_arrays_and_functions_give_the_same_rows():
    wanted = FEATURES[ROWS]
    for features in (FEATURES, lambda rows: FEATURES[rows]):
        found = feature_rows(features, ROWS)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, wanted)


def test_features_have_a_row_for_each_thing():
    check_features(FEATURES, 4, "captions")
    check_features(lambda rows: FEATURES[rows], 9, "captions")
    told = r"`features` must have shape \(5, P, D\).*captions.image_ids"
    with pytest.raises(ValueError, match=told):
        check_features(FEATURES, 5, "captions")
    with pytest.raises(ValueError, match=r"`x` must .* x.shape=\(4, 3\)"):
        check_features(FEATURES[:, 0], 4, "captions", name="x")
