import numpy as np
import pytest

from reproduce.world import COLORS
from reproduce.world import SHAPES
from reproduce.world import Scene
from reproduce.world import Thing
from reproduce.world import dense_targets
from reproduce.world.scenes import signed_distance

OPPOSITE = {"left": "right", "above": "below", "in_front": "behind"}
OPPOSITE |= {other: one for one, other in OPPOSITE.items()}


def thing(shape="ball", x=20.0, y=30.0, color="red"):
    return Thing(shape, color, "large", "plain", x, y, 9.0)


def test_centers_keep_their_distance_and_cells_hold_at_most_one(scenes):
    for scene in scenes:
        centers = np.array([(t.x, t.y) for t in scene.things])
        assert 9 <= centers.min() and centers.max() <= 55
        apart = np.linalg.norm(centers[:, None] - centers[None], axis=-1)
        assert apart[np.triu_indices(len(centers), 1)].min() > 11.5
    targets = dense_targets(scenes)
    occupied = (targets["shape"] > 0).sum(1)
    assert occupied.tolist() == [len(scene.things) for scene in scenes]
    for row, scene in enumerate(scenes[:20]):
        for t in scene.things:
            cell = int((t.y - 8) // 8) * 6 + int((t.x - 8) // 8)
            assert SHAPES[targets["shape"][row, cell] - 1] == t.shape
            assert COLORS[targets["color"][row, cell] - 1] == t.color


def test_scenes_have_the_statistics_that_they_should(scenes):
    shares = [s.visible(i) for s in scenes for i in range(len(s.things))]
    assert min(shares) >= 0.62 and max(shares) == 1.0
    repeats = [len({t.shape for t in s.things}) < len(s.things) for s in scenes]
    assert 0.22 < np.mean(repeats) < 0.38
    things = [t for s in scenes for t in s.things]
    colors = [t.color for t in things]
    assert set(colors) == {*COLORS} and {t.shape for t in things} == {*SHAPES}
    assert colors.count("red") > 3 * colors.count("purple") > 0


def test_relations_of_a_pair_are_opposite(scenes):
    for scene in scenes[:100]:
        for i in range(len(scene.things)):
            for j in range(i):
                there = {OPPOSITE.get(r, r) for r in scene.relation(j, i)}
                assert scene.relation(i, j) == there


def test_what_is_painted_later_is_in_front_and_hides():
    scene = Scene("snow", (thing(), thing("box", x=28, y=34)))
    assert scene.relation(1, 0) == {"right", "near", "overlaps", "in_front"}
    x, y = np.meshgrid(np.linspace(10, 40, 601), np.linspace(20, 45, 501))
    on = scene.things[0].covers(x, y)
    seen = on & ~scene.things[1].covers(x, y)
    assert scene.visible(0) == pytest.approx(seen.sum() / on.sum(), abs=0.02)
    assert scene.visible(1) == 1.0 > scene.least_visible == scene.visible(0)


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


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_fill_their_radius_and_distances_are_about_right(shape):
    u, v = np.meshgrid(np.linspace(-2, 2, 401), np.linspace(-2, 2, 401))
    distance = signed_distance(shape, u, v)
    inside = distance <= 0
    assert np.abs(u[inside]).max() < 1.1 and np.abs(v[inside]).max() < 1.1
    assert max(np.ptp(u[inside]), np.ptp(v[inside])) > 1.6
    slope = np.hypot(*np.gradient(distance, 0.01))
    assert 0.7 < np.median(slope[np.abs(distance) < 0.1]) < 1.3
