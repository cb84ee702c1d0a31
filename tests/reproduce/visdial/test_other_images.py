import numpy as np
import pytest

from reproduce.visdial.other_images import other_images

FEATURES = np.random.default_rng(0).normal(size=(7, 2, 3)).astype("float32")


@pytest.mark.parametrize("dialogs", [2, 3, 7])
@pytest.mark.parametrize("seed", range(5))
def test_every_image_is_some_other_dialogs(dialogs, seed):
    features = np.arange(float(dialogs))[:, None, None]
    found = other_images(features, dialogs, seed)(np.arange(dialogs)).ravel()
    assert sorted(found) == list(range(dialogs))
    assert (found != np.arange(dialogs)).all()


def test_a_dialog_has_the_same_other_image_in_every_batch():
    whole = other_images(FEATURES, 7, seed=1)(np.arange(7))
    read = other_images(lambda rows: FEATURES[rows], 7, seed=1)
    np.testing.assert_array_equal(read(np.array([5, 2])), whole[[5, 2]])
    other = other_images(FEATURES, 7, seed=2)(np.arange(7))
    assert not np.array_equal(other, whole)


def test_one_dialog_has_no_other():
    with pytest.raises(ValueError, match="at least 2.*dialogs=1"):
        other_images(FEATURES[:1], 1)
