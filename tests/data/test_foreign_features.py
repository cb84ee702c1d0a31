"""Features that other projects wrote, in the layouts in which they did."""

import base64
import codecs
import json
import pathlib
import re
import shutil

import h5py
import numpy as np
import pytest

from tfcap import extract
from tfcap.data import CaptionBatches
from tfcap.data import CaptionSplit
from tfcap.data import EncodedCaptions
from tfcap.data import StandardizedFeatures
from tfcap.data import build_vocabulary
from tfcap.data import load_captions
from tfcap.data import load_features
from tfcap.data import pool_positions
from tfcap.data.features import FeatureWriter
from tfcap.data.foreign_features import convert_features

IDS = [9, 25, 300]
NAMES = [f"COCO_val2014_{i:012d}" for i in IDS]
RNG = np.random.default_rng(0)
FIXED = RNG.normal(size=(3, 4, 8)).astype("float16").astype("float32")
GRIDS = RNG.normal(size=(3, 2, 2, 8)).astype("float16").astype("float32")
#: Of three, five and two regions.
REGIONS = [np.resize(FIXED, (n, 8)) + n for n in (3, 5, 2)]
REGIONS = [r.astype("float16").astype("float32") for r in REGIONS]
BOXES = [RNG.random((len(r), 4), "float32") for r in REGIONS]

# Each builder gives a function that writes into a folder and returns the path,
# or the path and the options that name what is read of it.


def hdf5(**arrays):
    def write(folder):
        with h5py.File(folder / "in.h5", "w") as file:
            for name, values in arrays.items():
                file[name] = values
        return folder / "in.h5"

    return write


def npz(**arrays):
    def write(folder):
        np.savez(folder / "in.npz", **arrays)
        return folder / "in.npz"

    return write


def each(values, suffix=".npy", name="feat", keys=IDS, **beside):
    """One file an image, as of self-critical.pytorch and its kind."""

    def write(folder):
        inside = folder / "in" / "cocobu"
        inside.mkdir(parents=True)
        for i, key in enumerate(keys):
            path = inside / f"{key}{suffix}"
            if suffix == ".npy":
                np.save(path, values[i])
            else:
                more = {k: v[i] for k, v in beside.items()}
                np.savez_compressed(path, **{name: values[i]}, **more)
        return folder / "in"

    return write


def several_parts(folder):
    """Regions, means and boxes of an image, a file each."""
    source = each(REGIONS, ".npz", keys=[f"{i}_att" for i in IDS])(folder)
    for i, regions, boxes in zip(IDS, REGIONS, BOXES):
        np.save(source / f"{i}_fc.npy", regions.mean(0))
        np.save(source / f"{i}_box.npy", boxes)
    return source


def text(values):
    return base64.b64encode(np.ascontiguousarray(values)).decode()


def tsv(row, ends=("",), end="\r\n", begin=b""):
    """Lines in the files in turns, as several GPUs write them."""

    def write(folder):
        (folder / "in").mkdir(exist_ok=True)
        for number, ending in enumerate(ends):
            lines = [
                "\t".join(map(str, row(i))) + end
                for i in range(number, 3, len(ends))
            ]
            path = folder / "in" / f"a.tsv{ending}"
            path.write_bytes(begin + "".join(lines).encode())
        return folder / "in" if len(ends) > 1 else path

    return write


def bottom_up(i):
    size = len(REGIONS[i])
    return IDS[i], 640, 480, size, text(BOXES[i]), text(REGIONS[i])


def lxmert(i):
    ones = text(np.ones(len(REGIONS[i]), "float32"))
    n, boxes, values = len(REGIONS[i]), text(BOXES[i]), text(REGIONS[i])
    return NAMES[i], 480, 640, *[ones] * 4, n, boxes, values


def oscar(i):
    return IDS[i], len(REGIONS[i]), text(REGIONS[i])


def vinvl(i):
    about = {"num_boxes": len(REGIONS[i]), "features": text(REGIONS[i])}
    return IDS[i], json.dumps(about)


def with_options(write, **options):
    return lambda folder: (write(folder), options)


def with_ids(write, ids, name="ids.json"):
    def both(folder):
        path = folder / name
        if name.endswith(".npy"):
            np.save(path, ids)
        else:
            content = ids if isinstance(ids, str) else json.dumps(ids)
            path.write_text(content)
        return write(folder), {"ids": path}

    return both


def matrix(folder):
    np.save(folder / "in.npy", FIXED)
    return folder / "in.npy"


def under_ids(name, values):
    return {name.format(i): x for i, x in zip(IDS, values)}


PARTED = np.cumsum([0, *map(len, REGIONS)])
#: What is written of `FIXED`, of `REGIONS` and of `GRIDS`.
OF_FIXED = {
    "visdial starter": hdf5(image_id=IDS, features=FIXED, boxes=FIXED[..., :4]),
    "visdial starter, names in a column": hdf5(
        image_id=[[name.encode()] for name in NAMES], features=FIXED
    ),
    "hdf5 of splits with ids, names and more": hdf5(
        image_id_train=IDS[:2],
        image_id_val=IDS[2:],
        features_train=FIXED[:2],
        features_val=FIXED[2:],
        question_id=[1, 2],
        boxes_train=FIXED[:2, :, :4],
    ),
    "grids of rstnet": with_options(
        hdf5(
            **under_ids("{}_features", REGIONS),
            **under_ids("{}_grids", FIXED),
            **under_ids("{}_mask", FIXED[..., :2]),
        ),
        array="grids",
    ),
    "npz, ids as fractions": npz(
        ids=np.array(IDS, ">f8"), features=FIXED.astype(">f8")
    ),
    "npz, keys": npz(keys=NAMES, embeddings=FIXED),
    "npz, paths": npz(image_paths=[f"/a/{n}" for n in NAMES], clip=FIXED),
    "npz, by columns": npz(ids=IDS, features=np.asfortranarray(FIXED)),
    "npz, float16": npz(image_ids=IDS, features=FIXED.astype("float16")),
    "npy, text": with_ids(matrix, "9\n25\n300", "ids.txt"),
    "npy, npy": with_ids(matrix, NAMES, "ids.npy"),
    "npy, json": with_ids(matrix, IDS),
    "x-modaler": each(FIXED, ".npz", "features", g_feature=FIXED[:, 0]),
}
OF_MEANS = {
    "fc": each(FIXED[:, 0]),
    "visdial v0.9, fc7": with_ids(
        hdf5(images_train=FIXED[:2, 0], images_val=FIXED[2:, 0]),
        {
            "img_train": [{"imgId": i, "path": "a"} for i in IDS[:2]],
            "img_val": [{"imgId": i, "path": "b"} for i in IDS[2:]],
        },
    ),
}
OF_GRIDS = {
    "visdial v0.9, pool5": with_ids(
        hdf5(images_train=GRIDS[:2], images_val=GRIDS[2:]),
        {"unique_img_train": IDS[:2], "unique_img_val": IDS[2:]},
    ),
    "att, grids": each(GRIDS.astype("float64"), ".npz"),
    "channels first": each(GRIDS.transpose(0, 3, 1, 2)),
    "batches of one": each(GRIDS.transpose(0, 3, 1, 2)[:, None]),
}
OF_REGIONS = {
    "visdial, dan": with_ids(
        hdf5(
            image_features=np.concatenate(REGIONS),
            spatial_features=np.concatenate(REGIONS)[:, :6],
            image_bb=np.concatenate(BOXES),
            pos_boxes=np.stack([PARTED[:-1], PARTED[1:]], 1, dtype="int32"),
        ),
        {str(i): row for row, i in enumerate(IDS)},
    ),
    "m2": hdf5(
        **under_ids("{}_features", REGIONS),
        **under_ids("{}_boxes", BOXES),
        **under_ids("{}_cls_prob", [r[:, :3] for r in REGIONS]),
    ),
    "hdf5 under ids": hdf5(**under_ids("{}", REGIONS)),
    "hdf5 groups": hdf5(**{f"{n}/features": r for n, r in zip(NAMES, REGIONS)}),
    "npz, padded": npz(
        ids=IDS,
        features=np.stack([np.resize(r, (5, 8)) for r in REGIONS]),
        num_boxes=[3, 5, 2],
    ),
    "npz under ids": npz(**under_ids("{}", REGIONS)),
    "att": each(REGIONS, ".npz"),
    "openvqa": each(
        [r.T for r in REGIONS],
        ".npz",
        "x",
        NAMES,
        bbox=BOXES,
        objects_id=[np.zeros(len(r), int) for r in REGIONS],
        num_bbox=[3, 5, 2],
        info=np.array([{}] * 3),
    ),
    "mcan": each(REGIONS, ".npz", "x", [f"{n}.jpg" for n in NAMES]),
    "one part of each": each(REGIONS, ".npz", keys=[f"{i}_att" for i in IDS]),
    "several parts of each": with_options(several_parts, array="att"),
    "bottom-up": tsv(bottom_up),
    "bottom-up, parts": tsv(bottom_up, (".0", ".1")),
    "bottom-up, header": tsv(
        bottom_up, end="\n", begin=b"image_id\tw\th\tn\tboxes\tfeatures\n"
    ),
    "bottom-up, byte order mark": tsv(bottom_up, begin=codecs.BOM_UTF8),
    "bottom-up, blank lines": tsv(bottom_up, end="\n\n"),
    "lxmert": tsv(lxmert),
    "oscar": tsv(oscar),
    "vinvl": tsv(vinvl),
}
LAYOUTS = {
    name: (write, values)
    for layouts, values in (
        (OF_FIXED, FIXED),
        (OF_MEANS, FIXED[:, :1]),
        (OF_GRIDS, GRIDS),
        (OF_REGIONS, REGIONS),
    )
    for name, write in layouts.items()
}


def written(write, folder):
    """Path of what is written, and the options that it needs."""
    made = write(folder)
    return made if isinstance(made, tuple) else (made, {})


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_is_converted_and_loaded_as_it_was(layout, tmp_path, capsys):
    write, wanted = LAYOUTS[layout]
    source, options = written(write, tmp_path)
    out = tmp_path / "features.npy"
    arguments = ["--from", str(source), "-o", str(out)]
    for name, value in options.items():
        arguments += [f"--{name}", str(value)]
    assert extract.main(arguments) == 0, capsys.readouterr().err
    assert "3 images" in capsys.readouterr().out
    features = load_features(out, IDS, lazy=True)
    for row, values in enumerate(wanted):
        values = values.reshape(-1, 8)
        size = len(values)
        found = features[np.array([row])][0]
        np.testing.assert_array_equal(found[:size], values)
        assert not found[size:].any()
        if features.counts is not None:
            assert features.counts[row] == size
    assert (features.counts is None) == (len({*map(len, wanted)}) == 1)


def test_padding_is_masked_in_batches_means_and_deviations(tmp_path):
    out = tmp_path / "features.npy"
    source = LAYOUTS["m2"][0](tmp_path)
    convert_features(source, out, progress=False)
    with pytest.warns(UserWarning, match="2 to 5 positions.*lazy=True"):
        assert load_features(out).shape == (3, 5, 8)
    features = load_features(out, IDS, lazy=True)
    split = CaptionSplit(IDS, [["a cat"]] * 3, [""] * 3, [""] * 3)
    vocabulary = build_vocabulary(split, min_count=1)
    captions = EncodedCaptions.from_split(split, vocabulary, 4)
    near = {"neighbors": np.array([[1], [2], [0]])}
    far = {"distractors": 3, "distractor_features": features}
    own = {"retriever_features": features}
    lengths = np.array([3, 5, 2])
    batch = CaptionBatches(captions, features, 3, **near, **far, **own).batch(0)
    for key in ("image", "neighbor_image", "distractor_image"):
        there = batch[key].any(-1)
        np.testing.assert_array_equal(batch[f"{key}_mask"], there)
    counts = batch["retriever_image_mask"].sum(1)
    np.testing.assert_array_equal(counts, lengths[batch["row"]])
    means = np.stack([r.mean(0) for r in REGIONS])
    pooled = pool_positions(features)
    np.testing.assert_allclose(pooled[:, 0], means, rtol=1e-3, atol=1e-3)
    scaled = StandardizedFeatures(features)
    every = np.concatenate(REGIONS)
    np.testing.assert_allclose(scaled.mean, every.mean(0), 1e-3, 1e-3)
    np.testing.assert_allclose(scaled.deviation, every.std(0), 1e-3)
    pooled = pool_positions(scaled)
    wanted = (means - every.mean(0)) / every.std(0)
    np.testing.assert_allclose(pooled[:, 0], wanted, rtol=0.01, atol=0.01)
    batches = CaptionBatches(captions, scaled, 3)
    assert batches.batch(0)["image_mask"].sum() == 10
    assert "image_mask" not in CaptionBatches(captions, pooled, 3).batch(0)


def test_images_of_captions_are_found_by_their_names(tmp_path, write):
    splits = {"1009434119": "train", "boat": "test", "x/car": "train"}
    about = {"sentences": [{"raw": "a cat"}]}
    images = [
        {**about, "imgid": row, "filename": f"{key}.jpg", "split": splits[key]}
        for row, key in enumerate(splits)
    ]
    path = write({"images": images})
    keys = ["boat", "1009434119", "car"]
    source = each(FIXED, keys=keys)(tmp_path)
    out = tmp_path / "features.npy"
    arguments = ["--from", str(source), "-o", str(out), "--quiet"]
    arguments += ["--captions", str(path), "--split", "train"]
    assert extract.main(arguments) == 0
    np.testing.assert_array_equal(load_features(out, [2, 0]), FIXED[[2, 1]])
    assert load_features(out).shape[0] == 2
    (source / "cocobu" / "car.npy").unlink()
    with pytest.raises(ValueError, match=r"lacks 1 of 3 \(2\), has images"):
        convert_features(source, tmp_path / "b.npy", load_captions(path, "all"))


def test_a_conversion_that_was_stopped_goes_on(tmp_path, monkeypatch):
    source, out = LAYOUTS["bottom-up"][0](tmp_path), tmp_path / "features.npy"
    write, times = FeatureWriter.write, [0]

    def stop(writer, rows, features):
        times[0] += 1
        if times[0] == 2:
            raise KeyboardInterrupt
        write(writer, rows, features)

    monkeypatch.setattr(FeatureWriter, "write", stop)
    arguments = ["--from", str(source), "-o", str(out), "--quiet"]
    assert extract.main(arguments) == 130
    assert not out.exists()
    assert extract.main(arguments) == 0
    assert times[0] == 4
    assert load_features(out, IDS, lazy=True).counts.tolist() == [3, 5, 2]


def test_damaged_lines_are_named_and_left_out_where_that_is_asked(tmp_path):
    """Published files have lines that a killed process began."""
    source, out = LAYOUTS["bottom-up"][0](tmp_path), tmp_path / "features.npy"
    first, second, third = source.read_bytes().splitlines(keepends=True)
    damaged = [
        # Begun, and then written again, whole.
        first[:-30] + first,
        second[:-7] + b"\r\n",
        third[:-40] + b"!" + third[-39:],
    ]
    source.write_bytes(b"".join([*damaged, first]))
    with pytest.raises(
        ValueError, match="3 are damaged .*a.tsv, line 1: .*11 col"
    ):
        convert_features(source, out)
    assert not out.exists()
    convert_features(source, out, progress=False, skip_unreadable=True)
    features = load_features(out, [9], lazy=True)
    assert sorted(features.skipped) == [25, 300]
    assert "line 2" in features.skipped[25]
    assert "line 3" in features.skipped[300]
    np.testing.assert_array_equal(features[[0]][0, :3], REGIONS[0])


def external(folder):
    with h5py.File(folder / "in.h5", "w") as file:
        file["image_id"] = IDS
        file["features"] = h5py.ExternalLink("secret.h5", "features")
    return folder / "in.h5"


def objects(folder):
    values = np.empty(3, object)
    values[:] = REGIONS
    np.save(folder / "in.npy", values, allow_pickle=True)
    return folder / "in.npy"


def database(folder):
    (folder / "in").mkdir()
    magic = b"\0" * 16 + b"\xde\xc0\xef\xbe"
    (folder / "in" / "data.mdb").write_bytes(magic)
    return folder / "in"


def archived(folder):
    source = tsv(bottom_up)(folder)
    name = shutil.make_archive(folder / "in", "zip", source.parent)
    return pathlib.Path(name)


def cut(path):
    path.write_bytes(path.read_bytes()[:-40])
    return path


def damaged_chunk(folder):
    with h5py.File(folder / "in.h5", "w") as file:
        file["image_id"] = IDS
        chunks = {"chunks": (1, 4, 8), "fletcher32": True}
        values = file.create_dataset("features", data=FIXED, **chunks)
        place = values.id.get_chunk_info(2).byte_offset
    with open(folder / "in.h5", "r+b") as file:
        file.seek(place)
        file.write(b"other")
    return folder / "in.h5"


WRONG = {
    "labels": (
        hdf5(labels=[1, 2], words=FIXED[0, :2].astype("int32")),
        r"known layout.*in.h5.*`labels` \(2,\) int64, `words` \(2, 8\)"
        " int32. Supported are",
    ),
    "archive": (archived, "in.zip.*with no array.*Unpack archives first"),
    "empty folder": (lambda folder: folder, "with no file in it. Supported"),
    "objects": (objects, "in.npy.*Python objects"),
    "objects in npz": (
        npz(ids=IDS, features=np.array([{}] * 3)),
        r"`ids` \(3,\) int64. Supported are",
    ),
    "lmdb": (database, "bytes that begin with.*LMDB.*pickles.*numpy.save"),
    "link": (external, r"with `image_id` \(3,\) int64. Supported"),
    "no ids": (hdf5(features=FIXED), r"`--ids` must .*3 rows of `feat"),
    "matrix without ids": (matrix, "`--ids` must name one list of the ids of"),
    "fewer ids": (
        with_ids(matrix, IDS[:2]),
        "ids of the 3 rows of `in`. Received: 2 for",
    ),
    "two lists": (
        with_ids(matrix, {"train": IDS, "val": IDS}),
        "one list of .*Received: train 3, val 3 for",
    ),
    "object ids": (
        with_ids(matrix, np.array([9, "b", None], object), "ids.npy"),
        "allow_pickle=False",
    ),
    "null ids": (
        with_ids(matrix, [9, None, 3]),
        "integers or text. Received: None",
    ),
    "repeated": (
        hdf5(image_id=[9, 25, 9], features=FIXED),
        "each image once.*repeats 1 .9: .*row 0 and .*row 2",
    ),
    "two names": (
        hdf5(**{"09_features": FIXED[0], "9_features": FIXED[1]}),
        "each image once.*9: .*`09_features` and .*`9_features`",
    ),
    "widths": (
        each([FIXED[0], FIXED[1], FIXED[2, :, :6]], ".npz"),
        "without 8 features: 300: .4, 6.",
    ),
    "axes": (each([FIXED[0], FIXED[1, 0], FIXED[2]]), r"\(8,\), \(4, 8\)"),
    "none": (
        each([*FIXED[:2], FIXED[2, :0]]),
        r"without 8 features: 300: \(0, 8\)",
    ),
    "two kinds of files": (
        several_parts,
        "--array.*9_box.npy.*Name one of 'att', 'box', 'fc'",
    ),
    "two arrays": (
        hdf5(image_id=IDS, lower=FIXED, upper=FIXED),
        "--array.*`lower`.*Name one of 'lower', 'upper'",
    ),
    "cut archive": (
        lambda folder: cut(each(REGIONS, ".npz")(folder) / "cocobu" / "9.npz"),
        "9.npz",
    ),
    "cut matrix": (lambda folder: cut(matrix(folder)), "in.npy.*mmap length"),
    "damaged chunk": (damaged_chunk, "`features`, row 2: "),
    "lengths": (
        tsv(lambda i: (*bottom_up(i)[:3], 7, *bottom_up(i)[4:])),
        "3 are damaged .*a.tsv, line 1: cannot reshape .*7",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_converted_is_told_with_the_cure(case, tmp_path):
    write, message = WRONG[case]
    source, options = written(write, tmp_path)
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}
    with pytest.raises(ValueError, match=message) as found:
        convert_features(source, tmp_path / "features.npy", **options)
    assert not re.search("delete|remove", str(found.value), re.IGNORECASE)
    assert str(source) in str(found.value) or options
    assert before == {p: p.stat().st_mtime_ns for p in before}


@pytest.mark.parametrize("layout", ["visdial starter", "m2", "fc", "npy, npy"])
def test_what_is_not_converted_is_told_the_command_and_kept(layout, tmp_path):
    source, options = written(LAYOUTS[layout][0], tmp_path)
    command = f"python -m tfcap.extract --from {source} "
    with pytest.raises(ValueError, match=f"program wrote by `{command}"):
        load_features(source)
    if source.is_file():
        data = source.read_bytes()
        with pytest.raises(ValueError, match=f"must end in .npy|{command}"):
            convert_features(source, source, **options)
        assert source.read_bytes() == data
