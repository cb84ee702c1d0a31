import numpy as np

from tfcap.data import StandardizedFeatures
from tfcap.data import load_features
from tfcap.data import save_features
from tfcap.data.data_digest import data_digest
from tfcap.data.data_digest import feature_digest

ROWS = np.arange(6 * 4 * 3, dtype="float16").reshape(6, 4, 3)


def test_every_part_counts_and_their_order_does_not():
    parts = {"ids": [1, 2], "captions": [["a"], ["b", "c"]], "n": np.arange(3)}
    usual = data_digest(**parts)
    assert usual == data_digest(**dict(reversed(parts.items())))
    others = [
        {**parts, "ids": [2, 1]},
        {**parts, "captions": [["a", "b"], ["c"]]},
        {**parts, "n": np.arange(3.0)},
        {**parts, "n": np.arange(3)[None]},
        {**parts, "m": None},
    ]
    found = {data_digest(**other) for other in others}
    assert len(found) == 5 and usual not in found
    # Nothing of the machine is in it.
    assert usual[:16] == "682b167849f7ffb8"


def test_a_file_is_known_by_its_checksums_and_not_read(tmp_path, monkeypatch):
    path = tmp_path / "features.npy"
    save_features(path, range(6), ROWS)
    lazy = load_features(path, [4, 1, 1], lazy=True)
    monkeypatch.setattr(type(lazy), "__getitem__", None)
    found = feature_digest(lazy)
    assert found == feature_digest(ROWS[[4, 1, 1]])
    rows = [[1, 4, 1], [4, 1], [4, 1, 2]]
    assert found not in [feature_digest(ROWS[some]) for some in rows]


def test_one_bit_of_one_row_is_other_features():
    changed = ROWS.copy()
    changed.view("uint16")[5, 3, 2] ^= 1
    assert feature_digest(changed) != feature_digest(ROWS)
    assert feature_digest(ROWS.astype("f4")) != feature_digest(ROWS)
    swapped = ROWS.astype(">f2")
    assert feature_digest(swapped) == feature_digest(ROWS)


def test_standardized_features_are_known_by_their_numbers_too():
    ready = StandardizedFeatures(ROWS)
    wider = StandardizedFeatures(ROWS, ready.mean, 2 * ready.deviation)
    moved = StandardizedFeatures(ROWS, 2 * ready.mean, ready.deviation)
    found = {feature_digest(x) for x in (ready, wider, moved, ROWS)}
    assert len(found) == 4


def test_of_functions_some_rows_stand_for_all():
    read = []

    def features(rows):
        read.append(rows)
        return np.repeat(rows, 3)[:, None, None]

    found = feature_digest(features, 10_000)
    assert len(read[0]) == 256 and {0, 9_999} < {*read[0]}
    assert found == feature_digest(features, 10_000)
    assert found != feature_digest(lambda rows: features(rows) + 1, 10_000)
    # The rows that are read are the same, their number is not.
    alike = [feature_digest(lambda rows: ROWS[0 * rows], n) for n in (9, 10)]
    assert alike[0] != alike[1]
