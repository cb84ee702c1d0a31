import numpy as np
import pytest

from reproduce.world import BACKGROUNDS
from reproduce.world import SHAPES
from reproduce.world import TEXTURES
from reproduce.world import Scene
from reproduce.world import Thing
from reproduce.world import render

DOWN, ACROSS = np.mgrid[:64, :64] + 0.5


def thing(shape="ball", color="red", texture="plain", x=32.0, y=32.0):
    return Thing(shape, color, "large", texture, x, y, 9.5)


def picture(background, *things):
    return render([Scene(background, things)])[0].astype(int)


def test_a_scene_looks_the_same_in_whatever_company(scenes):
    together = render(scenes[:230])
    assert together.shape == (230, 64, 64, 3) and together.dtype == np.uint8
    np.testing.assert_array_equal(render(scenes[201:203]), together[201:203])


@pytest.mark.parametrize("name", BACKGROUNDS)
def test_backgrounds_differ_from_scene_to_scene_and_as_much_at_edges(name):
    balls = [thing(x=50 + i / 10, y=50.0) for i in range(20)]
    shown = render([Scene(name, (ball,)) for ball in balls])
    spread = shown.astype(float).std(0)
    corner, inside = spread[:8, :8].mean(), spread[16:32, 16:32].mean()
    assert inside > 1 and 0.6 < corner / inside < 1.6


@pytest.mark.parametrize("shape", SHAPES)
def test_a_thing_changes_the_pixels_it_covers(shape):
    one = thing(shape, x=30.3, y=33.7)
    image, covered = picture("water", one), one.covers(ACROSS, DOWN)
    red = image[..., 0] - image[..., 2]
    assert np.mean(red[covered] > 0) > 0.93
    # The shadow darkens but does not turn the water red.
    assert np.mean(red[~covered] > 0) < 0.02


def test_what_is_in_front_hides_what_is_behind():
    box, ball = thing("box", "blue", x=28.0), thing()
    over, under = picture("grass", box, ball), picture("grass", ball, box)
    assert over[32, 32, 0] > over[32, 32, 2]
    assert under[32, 32, 0] < under[32, 32, 2]


def test_textures_change_a_thing_but_not_its_outline():
    looks = [thing("box", "blue", texture) for texture in TEXTURES]
    body = looks[0].covers(ACROSS, DOWN)
    plain, *others = (picture("water", one)[..., 0] for one in looks)
    for other in others:
        assert other[body].std() > 2 * plain[body].std()


@pytest.mark.parametrize(
    "color, background", [("white", "snow"), ("black", "night")]
)
def test_what_has_the_color_of_the_ground_can_be_made_out(color, background):
    row = picture(background, thing(color=color))[32].mean(-1)
    assert np.abs(row[22:25] - row[28:36].mean()).max() > 60
    # Outlines are blended.
    assert len({*row[20:26]}) > 3
