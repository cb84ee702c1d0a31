import numpy as np
import pytest

from reproduce.world import BACKGROUNDS
from reproduce.world import SHAPES
from reproduce.world import Scene
from reproduce.world import Thing
from reproduce.world import render
from reproduce.world import sample_scene
from reproduce.world.render import backdrop


def scenes(count, seed=0):
    rng = np.random.default_rng(seed)
    return [sample_scene(rng) for _ in range(count)]


def test_images_are_64_by_64_bytes_of_rgb():
    images = render(scenes(3))
    assert images.shape == (3, 64, 64, 3) and images.dtype == np.uint8


def test_no_scenes_give_no_images():
    assert render([]).shape == (0, 64, 64, 3)


def test_a_scene_looks_the_same_in_whatever_company():
    drawn = scenes(230)
    together = render(drawn)
    np.testing.assert_array_equal(render(drawn[201:203]), together[201:203])


def test_a_scene_without_things_is_its_background():
    empty, full = render([Scene("sand", ()), scenes(1)[0]])
    assert empty.std() < full.std()


@pytest.mark.parametrize("name", BACKGROUNDS)
def test_backgrounds_differ_from_draw_to_draw(name):
    first, second = (backdrop(name, np.random.default_rng(s)) for s in (0, 1))
    assert first.shape == (64, 64, 3) and np.abs(first - second).mean() > 1
    assert first.min() > -40 and first.max() < 295


@pytest.mark.parametrize("shape", SHAPES)
def test_a_thing_changes_the_pixels_it_covers(shape):
    thing = Thing(shape, "red", "large", "plain", 30.3, 33.7, 9.5)
    image = render([Scene("water", (thing,))])[0].astype(int)
    y, x = np.mgrid[:64, :64] + 0.5
    covered = thing.covers(x, y)
    red = image[..., 0] - image[..., 2]
    assert np.mean(red[covered] > 0) > 0.93
    # The shadow darkens but does not turn the water red.
    assert np.mean(red[~covered] > 0) < 0.02


def test_what_is_in_front_hides_what_is_behind():
    box = Thing("box", "blue", "large", "plain", 28.0, 32.0, 9.5)
    ball = Thing("ball", "red", "large", "plain", 32.0, 32.0, 9.5)
    over, under = render(
        [Scene("grass", (box, ball)), Scene("grass", (ball, box))]
    )
    assert over[32, 32, 0] > over[32, 32, 2]
    assert under[32, 32, 0] < under[32, 32, 2]


def test_outlines_are_blended():
    ball = Thing("ball", "white", "large", "plain", 32.4, 32.1, 9.5)
    image = render([Scene("night", (ball,))])[0].astype(int).sum(-1)
    edge = image[32, 20:26]
    assert len(set(edge.tolist())) > 3


def test_textures_change_a_thing_but_not_its_outline():
    looks = [
        Thing("box", "blue", "large", texture, 32.0, 32.0, 9.5)
        for texture in ("plain", "striped", "dotted")
    ]
    y, x = np.mgrid[:64, :64] + 0.5
    body = looks[0].covers(x, y)
    red = [render([Scene("water", (t,))])[0][..., 0] for t in looks]
    for texture in red[1:]:
        assert texture[body].std() > 2 * red[0][body].std()


def test_white_on_snow_and_black_at_night_can_be_made_out():
    for color, background in (("white", "snow"), ("black", "night")):
        ball = Thing("ball", color, "large", "plain", 32.0, 32.0, 9.5)
        image = render([Scene(background, (ball,))])[0].astype(float)
        row = image[32].mean(-1)
        edge, inner = row[22:25], row[28:36].mean()
        assert np.abs(edge - inner).max() > 60


def test_an_unknown_background_is_refused():
    with pytest.raises(ValueError, match="`name` must be one of"):
        backdrop("moonscape", np.random.default_rng(0))
