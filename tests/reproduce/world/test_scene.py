import json

import numpy as np
import pytest

from reproduce.world import COLORS
from reproduce.world import SHAPES
from reproduce.world import Scene
from reproduce.world import Thing
from reproduce.world import dense_targets
from reproduce.world import sample_scene
from reproduce.world import scene_from_dict
from reproduce.world import scene_to_dict
from reproduce.world.scene import signed_distance


@pytest.fixture(scope="module")
def scenes():
    rng = np.random.default_rng(0)
    return [sample_scene(rng) for _ in range(400)]


def thing(shape="ball", x=20.0, y=30.0, radius=9.0, color="red", **kwargs):
    given = {"size": "large", "texture": "plain", **kwargs}
    return Thing(shape, color, given["size"], given["texture"], x, y, radius)


def test_the_same_seed_gives_the_same_scene():
    first, second = (sample_scene(np.random.default_rng(5)) for _ in range(2))
    assert first == second and hash(first) == hash(second)


def test_scenes_survive_json(scenes):
    for scene in scenes[:50]:
        text = json.dumps(scene_to_dict(scene))
        assert scene_from_dict(json.loads(text)) == scene


def test_centers_keep_their_distance_and_cells_hold_at_most_one(scenes):
    for scene in scenes:
        centers = np.array([(t.x, t.y) for t in scene.things])
        assert 9 <= centers.min() and centers.max() <= 55
        apart = np.linalg.norm(centers[:, None] - centers[None], axis=-1)
        assert apart[np.triu_indices(len(centers), 1)].min() > 11.5
    occupied = (dense_targets(scenes)["shape"] > 0).sum(1)
    assert occupied.tolist() == [len(scene.things) for scene in scenes]


def test_every_thing_stays_mostly_visible(scenes):
    shares = [s.visible(i) for s in scenes for i in range(len(s.things))]
    assert min(shares) >= 0.62 and max(shares) == 1.0


def test_three_scenes_in_ten_repeat_a_shape(scenes):
    repeats = [len({t.shape for t in s.things}) < len(s.things) for s in scenes]
    assert 0.22 < np.mean(repeats) < 0.38


def test_some_scenes_have_overlaps_and_most_do_not(scenes):
    overlap = [
        any("overlaps" in s.relation(0, j) for j in range(len(s.things)))
        for s in scenes
    ]
    assert 0.02 < np.mean(overlap) < 0.5


def test_attributes_are_unequally_common_and_all_occur(scenes):
    things = [t for s in scenes for t in s.things]
    colors = [t.color for t in things]
    assert set(colors) == set(COLORS)
    assert {t.shape for t in things} == set(SHAPES)
    assert colors.count("red") > 3 * colors.count("purple") > 0


def test_no_two_scenes_are_alike(scenes):
    assert len(set(scenes)) == len(scenes)


def test_find_takes_all_given_attributes_together():
    scene = Scene(
        "sand", (thing(), thing(color="blue", x=50), thing("box", y=50))
    )
    assert scene.find(shape="ball") == (0, 1)
    assert scene.find(shape="ball", color="blue") == (1,)
    assert scene.find(color="green") == ()
    assert scene.find() == (0, 1, 2)


def test_relations_of_a_pair_are_opposite(scenes):
    opposite = {
        "left": "right",
        "right": "left",
        "above": "below",
        "below": "above",
        "in_front": "behind",
        "behind": "in_front",
    }
    for scene in scenes[:100]:
        for i in range(len(scene.things)):
            for j in range(i):
                there = {opposite.get(r, r) for r in scene.relation(j, i)}
                assert scene.relation(i, j) == there


def test_what_is_painted_later_is_in_front():
    scene = Scene("snow", (thing(x=20), thing("box", x=32)))
    assert scene.relation(1, 0) == {"right", "near", "overlaps", "in_front"}
    assert scene.visible(1) == 1.0 and scene.visible(0) < 1.0


def test_visible_share_agrees_with_counting_points():
    scene = Scene("snow", (thing(), thing("box", x=28, y=34)))
    x, y = np.meshgrid(np.linspace(10, 40, 601), np.linspace(20, 45, 501))
    on = scene.things[0].covers(x, y)
    seen = on & ~scene.things[1].covers(x, y)
    assert scene.visible(0) == pytest.approx(seen.sum() / on.sum(), abs=0.02)


@pytest.mark.parametrize(
    ("x", "y", "region"),
    [
        (10, 10, ("top", "left")),
        (32, 32, ("middle", "center")),
        (64, 64, ("bottom", "right")),
    ],
)
def test_regions_are_thirds_of_the_image(x, y, region):
    assert Scene("grass", (thing(x=x, y=y),)).region(0) == region


def test_dense_targets_name_the_thing_in_each_cell(scenes):
    targets = dense_targets(scenes[:20])
    for row, scene in enumerate(scenes[:20]):
        for t in scene.things:
            cell = int((t.y - 8) // 8) * 6 + int((t.x - 8) // 8)
            assert SHAPES[targets["shape"][row, cell] - 1] == t.shape
            assert COLORS[targets["color"][row, cell] - 1] == t.color


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_fill_their_radius_and_no_more(shape):
    u, v = np.meshgrid(np.linspace(-2, 2, 161), np.linspace(-2, 2, 161))
    inside = signed_distance(shape, u, v) <= 0
    assert np.abs(u[inside]).max() < 1.1 and np.abs(v[inside]).max() < 1.1
    extent = max(np.ptp(u[inside]), np.ptp(v[inside]))
    assert extent > 1.6


@pytest.mark.parametrize("shape", SHAPES)
def test_distances_change_about_as_fast_as_the_point_moves(shape):
    u, v = np.meshgrid(np.linspace(-1.2, 1.2, 241), np.linspace(-1.2, 1.2, 241))
    distance = signed_distance(shape, u, v)
    slope = np.hypot(*np.gradient(distance, 0.01))
    edge = np.abs(distance) < 0.1
    assert 0.7 < np.median(slope[edge]) < 1.3


def test_an_unknown_shape_is_refused():
    with pytest.raises(ValueError, match="`shape` must be one of"):
        signed_distance("duck", np.zeros(1), np.zeros(1))
