"""The command `python -m reproduce caption`."""

import json

import keras
import numpy as np
import pytest
from PIL import Image

from reproduce import caption
from reproduce.image_sources import open_images
from tests.data.tiny_captions import tiny_captions
from tfcap.data import Backbone
from tfcap.data import extract_features
from tfcap.data import load_features
from tfcap.data import load_results
from tfcap.data import save_features
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.layers import ImageStandardization
from tfcap.models import Att2inSpeaker
from tfcap.models import RetrievalListener
from tfcap.models import ShowTellSpeaker
from tfcap.text import Vocabulary

IDS = [100 + i for i in range(11)]
GRIDS = np.random.default_rng(0).normal(20, 3, size=(11, 4, 3))
GRIDS = GRIDS.astype("float16")
#: Colors of quarters of a picture.
COLORS = Backbone(
    "colors",
    "mean",
    (8, 8),
    "raw",
    lambda x: np.asarray(x).reshape(len(x), 2, 4, 2, 4, 3).mean((2, 4)),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A speaker, its vocabulary, and a feature file."""
    folder = tmp_path_factory.mktemp("caption")
    captions = tiny_captions()
    captions.vocabulary.save(folder / "vocabulary.json")
    layer = ImageStandardization([20.0] * 3, [3.0] * 3, pooled=True)
    options = {"units": 8, "embeddings_initializer": "orthogonal"}
    size = captions.vocabulary.size
    batch = {"image": GRIDS, "caption": captions.references}
    networks = {
        "speaker": ShowTellSpeaker(size, image_preprocessing=layer, **options),
        "older": ShowTellSpeaker(
            size, image_preprocessing="outside", **options
        ),
        "attentive": Att2inSpeaker(size, **options),
        "listener": RetrievalListener(size, 4, 4),
    }
    for name, network in networks.items():
        network(batch)
        # As loud as they get when they are trained.
        network.set_weights([4 * w for w in network.get_weights()])
        network.save(folder / f"{name}.keras")
    save_features(folder / "features.npy", IDS, GRIDS)
    return folder


def run(folder, *more, speaker="speaker", images="features.npy"):
    vocabulary = f"--vocabulary={folder / 'vocabulary.json'}"
    arguments = [folder / f"{speaker}.keras", folder / images, vocabulary]
    return caption.main([*map(str, [*arguments, "--max-length=5", *more])])


def said(folder, image, decoder, speaker="speaker", **more):
    speaker = keras.saving.load_model(folder / f"{speaker}.keras")
    vocabulary = Vocabulary.load(folder / "vocabulary.json")
    inputs = {"image": np.asarray(image, "float32"), **more}
    found = decoder.decode(speaker, speaker.begin(inputs))
    return vocabulary.decode_batch(found.tokens.numpy()[:, 0])


def test_a_feature_file_is_captioned_in_cocos_format(folder, tmp_path, capsys):
    out = tmp_path / "out.json"
    assert run(folder, "--json", out, "--batch-size=4") == 0
    wanted = said(folder, GRIDS, Greedy(5, suppress=(3,)))
    assert len(set(wanted)) > 1
    assert load_results(out, allow_empty=True) == dict(zip(IDS, wanted))
    lines = [f"{i}\t{text}\n" for i, text in zip(IDS, wanted)]
    assert capsys.readouterr().out == "".join(lines)


def test_images_are_listed_and_searched_with_beams(folder, tmp_path):
    listed, out = tmp_path / "list.txt", tmp_path / "out.json"
    listed.write_text("105\n000101\n")
    assert run(folder, "--images", listed, "--beam=3", "--json", out) == 0
    wanted = said(folder, GRIDS[[5, 1]], BeamSearch(3, 5, suppress=(3,)))
    found = json.loads(out.read_text())
    assert [row["image_id"] for row in found] == [105, 101]
    assert [row["caption"] for row in found] == wanted


def test_pictures_are_captioned_as_their_feature_file_is(
    folder, tmp_path, monkeypatch, capsys
):
    rng = np.random.default_rng(1)
    photos = tmp_path / "photos"
    photos.mkdir()
    names = ["COCO_val2014_000000000042.png", "000000000007.png", "dog.png"]
    for name in names:
        pixels = rng.integers(0, 255, size=(8, 8, 3)).astype("uint8")
        Image.fromarray(pixels).save(photos / name)
    (photos / "notes.txt").write_text("no picture")
    names += ["scan.tif", "2024/cat.jpg"]
    (photos / "2024").mkdir()
    for name in names[3:]:
        Image.fromarray(pixels[::-1]).save(photos / name)
    monkeypatch.setattr(caption, "named_backbone", lambda *_: COLORS)
    out, file = tmp_path / "out.json", tmp_path / "photos.npy"
    more = ["--backbone=colors:none", "--json", out]
    assert run(folder, *more, images=photos) == 0
    pictures = [(7, photos / names[1]), (42, photos / names[0])]
    pictures = [("cat", photos / names[4]), *pictures]
    pictures += [("dog", photos / names[2]), ("scan", photos / names[3])]
    extract_features(
        COLORS, [(str(i), p) for i, p in pictures], file, progress=False
    )
    wanted = said(folder, load_features(file), Greedy(5, suppress=(3,)))
    found = load_results(out, allow_empty=True)
    assert found == dict(zip(["cat", 7, 42, "dog", "scan"], wanted))
    assert "1 of 6 files in" in capsys.readouterr().err
    # A list names them by their ids, or as their files.
    listed = tmp_path / "list.txt"
    listed.write_text("0042\ndog.png\n")
    assert run(folder, *more, "--images", listed, images=photos) == 0
    some = load_results(out, allow_empty=True)
    assert some == {i: found[i] for i in (42, "dog")}
    listed.write_text("0042\n42\n")
    assert run(folder, *more, "--images", listed, images=photos) == 2
    assert "each image once" in capsys.readouterr().err
    # A picture that cannot be read is named, and left out by choice.
    capsys.readouterr()
    (photos / "cut.png").write_bytes((photos / names[0]).read_bytes()[:40])
    assert run(folder, *more, images=photos) == 2
    assert "cut.png" in capsys.readouterr().err
    more += ["--skip-unreadable", "--batch-size", "1"]
    assert run(folder, *more, images=photos) == 0
    assert "left out, since it cannot be read" in capsys.readouterr().err
    assert load_results(out, allow_empty=True) == found
    assert run(folder, *more, images=photos / "cut.png") == 2
    assert "none of 1 pictures" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "options", "told"),
    [
        ([], {"speaker": "listener"}, "SPEAKER must be a network that says"),
        ([], {"speaker": "older"}, "`--standardize` must be given"),
        ([], {"speaker": "no"}, "no.keras"),
        ([], {"images": "no.npy"}, "no.npy"),
        ([], {"images": "."}, "`IMAGES` must hold images"),
        (["--layer=top"], {}, "`--layer` must come with --backbone"),
        (["--input-size", "8", "8"], {}, "`--input-size` must come with"),
        (["--preprocessing=unit"], {}, "`--preprocessing` must come with"),
        (["--skip-unreadable"], {}, "`--skip-unreadable` must come with"),
        ([], {"images": "speaker.keras"}, "`--backbone` must be given"),
        (["--backbone=vgg19:no.npy"], {}, "no weight file 'no.npy'"),
        (["--backbone=vgg19"], {}, "`--backbone` must be vgg19,"),
        (["--json=/no/out.json"], {}, "`--json` must be a file"),
        (["--several=3"], {}, "`--several` must be left out"),
        (["--batch-size=0"], {}, "`--batch-size` must be at least 1"),
        (["--groups=2"], {}, "`--groups` must come with"),
    ],
)
def test_bad_input_is_told_and_not_thrown(folder, capsys, more, options, told):
    assert run(folder, *more, **options) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and told in error


def test_an_older_speaker_may_have_learned_from_features_as_they_are(
    folder, capsys
):
    assert run(folder, "--standardize=none", speaker="older") == 0
    assert len(capsys.readouterr().out.splitlines()) == 11


def test_a_speaker_does_not_look_at_padding(folder, tmp_path):
    file, out = tmp_path / "regions.npy", tmp_path / "out.json"
    counts = np.arange(11) % 4 + 1
    mask = np.arange(4) < counts[:, None]
    image = 4 * GRIDS * mask[..., None]
    save_features(file, IDS, image, counts=counts)
    more = {"speaker": "attentive", "images": file}
    assert run(folder, "--json", out, **more) == 0
    decoder = Greedy(5, suppress=(3,))
    wanted = said(folder, image, decoder, "attentive", image_mask=mask)
    assert load_results(out, allow_empty=True) == dict(zip(IDS, wanted))
    _, see = open_images([file])
    _, inputs = see(np.array([6, 0]))
    np.testing.assert_array_equal(inputs["image_mask"], mask[[6, 0]])


def test_features_and_vocabularies_of_another_kind_are_refused(
    folder, tmp_path, capsys
):
    narrow = tmp_path / "narrow.npy"
    save_features(narrow, IDS, GRIDS[..., :2])
    assert run(folder, images=narrow) == 2
    error = capsys.readouterr().err
    assert "must have 3 features" in error and "(4, 2)" in error
    content = json.loads((folder / "vocabulary.json").read_text())
    del content["sha256"]
    content["words"].append("zeppelin")
    other = tmp_path / "vocabulary.json"
    other.write_text(json.dumps(content))
    assert run(folder, f"--vocabulary={other}") == 2
    assert "`--vocabulary` must be the speaker's" in capsys.readouterr().err
