import errno
import json
import threading

import numpy as np
import pytest

from reproduce.world import SPLITS
from reproduce.world import judge_video
from reproduce.world import load_video_world
from reproduce.world import load_world
from reproduce.world import render
from reproduce.world import render_videos
from reproduce.world.formats import write_tgif
from reproduce.world.judging import judge
from reproduce.world.world import built_folder
from tfcap.data import load_captions

ABOUT = {"version": 2, "seed": 7, "sizes": {"train": 3, "val": 2, "test": 1}}
SIZES = {"train": 60, "val": 8, "test": 7}
VIDEOS = {"train": 7, "val": 3, "test": 4}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("worlds")


@pytest.fixture(scope="module")
def world(root):
    return load_world(root, progress=False, **SIZES)


@pytest.fixture(scope="module")
def video_world(root):
    return load_video_world(root, progress=False, **VIDEOS)


def contents(folder):
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder): path.read_bytes() for path in paths}


def read(path):
    return json.loads(path.read_text())


def test_images_and_captions_are_those_of_their_scenes(world):
    images, captions = read(world.karpathy_path)["images"], {}
    assert [image["imgid"] for image in images] == list(range(75))
    numbers = [number for image in images for number in image["sentids"]]
    assert numbers == list(range(5 * 75))
    for image in images:
        captions[image["cocoid"]] = []
        for sentence in image["sentences"]:
            assert sentence["imgid"] == image["imgid"]
            raw = sentence["raw"].lower().strip(".")
            assert raw.replace(",", "").split() == sentence["tokens"]
            captions[image["cocoid"]].append(raw)
    seen, scenes = [], []
    for split, size in SIZES.items():
        assert len(world.scenes(split)) == size
        pixels = render(world.scenes(split))
        np.testing.assert_array_equal(pixels, world.images(split))
        seen += world.image_ids(split)
        scenes += world.scenes(split)
        for image_id, one in zip(world.image_ids(split), world.dialogs(split)):
            assert one.caption in captions[image_id]
    assert seen == [*captions] and len(set(scenes)) == sum(SIZES.values())


@pytest.mark.parametrize("split", SPLITS)
def test_dialogs_have_the_layout_of_visdial(world, split):
    whole = read(world.visdial_path(split))
    assert set(whole) == {"version", "split", "data"}
    assert (whole["version"], whole["split"]) == ("1.0", split)
    data, ids = whole["data"], world.image_ids(split)
    assert set(data) == {"questions", "answers", "dialogs"}
    for name in ("questions", "answers"):
        assert len(set(data[name])) == len(data[name])
    dialogs, truths = data["dialogs"], world.dialogs(split)
    options_of = {}
    for image_id, one, truth in zip(ids, dialogs, truths, strict=True):
        assert set(one) == {"image_id", "caption", "dialog"}
        assert (one["image_id"], one["caption"]) == (image_id, truth.caption)
        pairs = zip(one["dialog"], truth.rounds, strict=True)
        for r, (said, known) in enumerate(pairs):
            options = said.pop("answer_options")
            options_of[truth.caption, r] = options
            assert len(set(options)) == 100
            assert options[said.pop("gt_index")] == said["answer"]
            assert data["answers"][said.pop("answer")] == known.answer
            assert data["questions"][said.pop("question")] == known.question
            assert not said
    dense = read(world.dense_path(split))
    assert [entry["image_id"] for entry in dense] == ids
    rounds = [entry["round_id"] - 1 for entry in dense]
    assert rounds == [i % 10 for i in range(len(ids))]
    for one, r, entry in zip(truths, rounds, dense):
        graded = zip(options_of[one.caption, r], entry["gt_relevance"])
        for number, grade in graded:
            wanted = judge(one.rounds[r], data["answers"][number])
            assert grade == pytest.approx(wanted, abs=1e-3)


def test_frames_truths_and_captions_go_together(video_world):
    seen = []
    for split, size in VIDEOS.items():
        frames = video_world.frames(split)
        videos = video_world.videos(split)
        assert frames.shape == (size, 8, 64, 64, 3)
        np.testing.assert_array_equal(render_videos(videos), frames)
        captions = load_captions(video_world.tgif_path, split)
        assert captions.image_ids == video_world.video_ids(split)
        for video, five in zip(videos, captions.captions):
            assert len(five) == 5
            assert all(judge_video(video, caption) == 1 for caption in five)
        seen += captions.image_ids
    assert len(set(seen)) == sum(VIDEOS.values())


def test_a_written_tgif_has_the_layout_of_the_release(tmp_path):
    captions = [["a ball grows", "it é"], ["a, b"]]
    write_tgif(tmp_path, {"train": (["video_1", "video_2"], captions)})
    lines = (tmp_path / "tgif-v1.0.tsv").read_text("utf-8").splitlines()
    url = "https://tfcap.invalid/clips/video_1.gif"
    assert lines[:2] == [f"{url}\ta ball grows.", f"{url}\tit é."]
    urls = (tmp_path / "splits" / "train.txt").read_text().splitlines()
    assert urls[0] == url and len(urls) == 2


@pytest.mark.parametrize(
    "load, sizes", [(load_world, SIZES), (load_video_world, VIDEOS)]
)
def test_a_seed_gives_the_same_bytes_and_another_one_others(
    load, sizes, root, tmp_path
):
    first = load(root, progress=False, **sizes)
    again = load(tmp_path, progress=False, **sizes)
    assert contents(first.root) == contents(again.root)
    other = load(tmp_path, seed=1, progress=False, **sizes)
    assert other.root != again.root
    held = contents(again.root)
    assert all(
        data != held[name]
        for name, data in contents(other.root).items()
        if name.suffix == ".npy"
    )


@pytest.mark.parametrize(
    "load, sizes, message",
    [
        (
            load_world,
            {"train": 49},
            "`train` must be an integer of at least 50",
        ),
        (load_world, {"test": 1.5}, "`test` must be an integer of at least 1"),
        (
            load_video_world,
            {"val": 0},
            "`val` must be an integer of at least 1",
        ),
    ],
)
def test_sizes_that_make_no_world_are_refused(load, sizes, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        load(tmp_path, **sizes)


class Builder:
    """Writes two files; counts how often it was asked to."""

    def __init__(self):
        self.times = 0

    def __call__(self, folder, about):
        self.times += 1
        (folder / "below").mkdir()
        (folder / "below" / "file").write_text(f"seed {about['seed']}")
        (folder / "values").write_text("0")


def build(root, write=None):
    return built_folder(root, "things", ABOUT, write or Builder(), False)


def visible(folder):
    return [p.name for p in folder.iterdir() if p.name[0] != "."]


def test_it_is_built_once_under_a_name_that_tells_what_it_is(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("TFCAP_CACHE", str(tmp_path))
    write = Builder()
    folder = built_folder(None, "things", ABOUT, write)
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "built in" in err
    assert folder == tmp_path / "things_v2_seed7_3_2_1"
    assert build(tmp_path, write) == folder and write.times == 1
    listed = read(folder / "world.json")
    assert set(listed.pop("checksums")) == {"below/file", "values"}
    assert listed == ABOUT


@pytest.mark.parametrize(
    "name, content",
    [
        ("world.json", None),
        ("world.json", json.dumps({**ABOUT, "version": 1})),
        ("below/file", None),
        ("below/file", "seed 8"),
        ("values", ""),
    ],
)
def test_what_is_not_whole_is_built_again(tmp_path, name, content):
    folder, write = build(tmp_path), Builder()
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(content)
    build(tmp_path, write)
    assert write.times == 1 and visible(tmp_path) == [folder.name]
    assert (folder / "below" / "file").read_text() == "seed 7"
    # One of earlier versions, without checksums, is taken as it is.
    (folder / "world.json").write_text(json.dumps(ABOUT))
    assert build(tmp_path, write) == folder and write.times == 1


@pytest.mark.parametrize(
    "error, message",
    [
        (KeyboardInterrupt("stopped"), "stopped"),
        (OSError(errno.ENOSPC, "full"), "things_v.*Nothing was built"),
    ],
)
def test_a_build_that_stops_leaves_nothing(tmp_path, error, message):
    def write(folder, about):
        (folder / "half").write_text("")
        raise error

    with pytest.raises(type(error), match=message):
        build(tmp_path, write)
    names = [path.name for path in tmp_path.iterdir()]
    assert names == [".things_v2_seed7_3_2_1.lock"]


def test_who_wants_it_meanwhile_waits(tmp_path):
    first, second = Builder(), Builder()
    other = threading.Thread(target=build, args=(tmp_path, second))

    def write(folder, about):
        other.start()
        other.join(0.2)
        assert other.is_alive()
        first(folder, about)

    build(tmp_path, write)
    other.join()
    assert (first.times, second.times) == (1, 0)
