import collections
import re

import numpy as np
import pytest

from reproduce.world import COLORS
from reproduce.world import TEXTURES
from reproduce.world import describe
from reproduce.world import sample_scene
from reproduce.world.caption_words import ADJECTIVES
from reproduce.world.caption_words import NOUNS
from reproduce.world.caption_words import NUMBERS
from reproduce.world.caption_words import PLACES
from reproduce.world.caption_words import plural

SHAPE_OF = {word: shape for shape, words in NOUNS.items() for word in words}
VALUE_OF = {
    word: value for value, words in ADJECTIVES.items() for word in words
}
# From an article to a noun, over words that are neither "a" nor "with".
PHRASE = re.compile(
    r"\ban? ((?:(?!an?\b|with\b)[a-z]+ )*?)(" + "|".join(SHAPE_OF) + r")\b"
)


@pytest.fixture(scope="module")
def described():
    rng = np.random.default_rng(0)
    scenes = [sample_scene(rng) for _ in range(1500)]
    return [(scene, describe(scene, rng)) for scene in scenes]


def claimed(modifiers):
    """Attributes that the words before a noun claim."""
    claims = {}
    for phrase, value in [*VALUE_OF.items(), *zip(COLORS, COLORS)]:
        if re.search(rf"\b{phrase}\b", modifiers):
            name = "color" if value in COLORS else "size"
            claims["texture" if value in TEXTURES else name] = value
    return claims


def test_every_scene_has_five_captions_of_bounded_length(described):
    for _, captions in described:
        assert len(captions) == 5
        for caption in captions:
            words = caption.replace(",", " ,").split()
            assert 2 <= len(words) <= 22


def test_every_thing_that_is_mentioned_is_there(described):
    mentioned = 0
    for scene, captions in described:
        for caption in captions:
            for modifiers, noun in PHRASE.findall(caption):
                claims = claimed(modifiers)
                assert scene.find(shape=SHAPE_OF[noun], **claims), caption
                mentioned += 1
    assert mentioned > 5000


def test_counts_of_a_kind_are_right(described):
    for scene, captions in described:
        for caption in captions:
            for shape, words in NOUNS.items():
                for count in range(2, 8):
                    for word in words:
                        said = f"{NUMBERS[count]} {plural(word)}"
                        if re.search(rf"\b{said}\b", caption):
                            assert len(scene.find(shape=shape)) == count


def test_counts_of_a_color_are_right(described):
    for scene, captions in described:
        for caption in captions:
            for number, color in re.findall(
                r"(\w+) (?:of them )?(\w+)(?: shapes| shape|$)", caption
            ):
                if number in NUMBERS and color in COLORS:
                    count = NUMBERS.index(number)
                    assert len(scene.find(color=color)) == count, caption


def test_places_are_those_of_the_background(described):
    names = {
        place: {b for b, places in PLACES.items() if place in places}
        for places in PLACES.values()
        for place in places
    }
    for scene, captions in described:
        for caption in captions:
            for place, backgrounds in names.items():
                if caption.endswith(" " + place):
                    assert scene.background in backgrounds


def test_many_captions_are_shared_and_nearly_all_images_have_one_of_their_own(
    described,
):
    owners = collections.defaultdict(set)
    for index, (_, captions) in enumerate(described):
        for caption in captions:
            owners[caption].add(index)
    shared = [
        [len(owners[caption]) > 1 for caption in captions]
        for _, captions in described
    ]
    assert 0.1 < np.mean(shared) < 0.5
    assert np.mean([any(row) for row in shared]) > 0.4
    assert np.mean([not all(row) for row in shared]) > 0.97


def test_details_are_left_out_more_often_than_not(described):
    small = [
        caption
        for scene, captions in described
        for caption in captions
        if re.search(r"\b(small|little|tiny|big|large|huge|giant)\b", caption)
    ]
    assert 0.1 < len(small) / (5 * len(described)) < 0.6


def test_the_vocabulary_is_that_of_a_small_world(described):
    words = {
        word
        for _, captions in described
        for caption in captions
        for word in caption.replace(",", "").split()
    }
    assert 130 < len(words) < 260
    assert all(re.fullmatch("[a-z]+", word) for word in words)


def test_articles_fit_what_follows(described):
    text = " . ".join(c for _, captions in described for c in captions)
    assert not re.search(r"\ba [aeio]", text)
    assert not re.search(r"\ban [^aeiou]", text)


def test_the_same_seed_gives_the_same_captions():
    scene = sample_scene(np.random.default_rng(1))
    first, second = (
        describe(scene, np.random.default_rng(2)) for _ in range(2)
    )
    assert first == second
