"""Readers of files, beside plain readings of what they must give.

A plain reading fails where the file is not as it should be: then the reader
must refuse it, too.
"""

import contextlib
import dataclasses
import gzip
import json
import pathlib
import re
import tempfile
from collections.abc import Callable

import numpy as np

from tests.data.conftest import make_content
from tests.faults.mutations import mutated_bytes
from tests.faults.mutations import mutated_json
from tests.faults.mutations import mutated_lines
from tfcap.data import load_captions
from tfcap.data import load_features
from tfcap.data import load_visdial
from tfcap.data import read_image_ids
from tfcap.data import save_features
from tfcap.data.coco_instances import load_instances
from tfcap.data.image_names import image_key
from tfcap.data.result_files import load_results
from tfcap.data.visdial import load_relevance
from tfcap.text import DocumentFrequencies
from tfcap.text import Vocabulary
from tfcap.training import SpeakerReport

VOCABULARY = Vocabulary(["a", "dog", "cat", "runs", "\u00e9t\u00e9"])


@dataclasses.dataclass(frozen=True)
class Reader:
    """A reader of one kind of file.

    Args:
        data: Bytes, a good file.
        mutate: Function of bytes and a `random.Random` that returns bytes.
        read: Function of the file's path; what it returns can be compared.
        plain: Function of the file's bytes that returns the same, or fails;
            `None` where others test what is read.
        ending: String, of the file's name.
    """

    data: bytes
    mutate: Callable
    read: Callable
    plain: Callable | None
    ending: str = ".json"


def json_reader(content, read, plain=None):
    """A reader of JSON, whose mutants are values and, or, bytes."""
    data = json.dumps(content).encode()

    def mutate(data, random):
        if random.random() < 0.3:
            return mutated_bytes(data, random)
        return mutated_json(content, random)

    return Reader(data, mutate, read, plain and (lambda x: plain(parse(x))))


def text_reader(text, read, plain=None):
    """A reader of lines of text, gzipped or not."""

    def mutate(data, random):
        how = random.random()
        data = (mutated_lines if how < 0.6 else mutated_bytes)(data, random)
        return gzip.compress(data, mtime=0) if 0.5 < how < 0.7 else data

    def decoded(data):
        return plain(unpacked(data).decode("utf-8-sig").split("\n"))

    return Reader(text.encode(), mutate, read, plain and decoded, ".txt")


def sealed_reader(write, read, ending):
    """A reader of a binary file, in which nothing may be another."""
    with written(b"", ending) as path:
        path.unlink()
        write(path)
        data, good = path.read_bytes(), read(path)
    return Reader(data, mutated_bytes, read, lambda _: good, ending)


@contextlib.contextmanager
def written(data, ending=".json"):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, f"spoiled{ending}")
        path.write_bytes(data)
        yield path


def unpacked(data):
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def parse(data):
    """JSON without two values of one name."""

    def distinct(pairs):
        assert len(dict(pairs)) == len(pairs)
        return dict(pairs)

    text = unpacked(data).decode(json.detect_encoding(unpacked(data)))
    return json.loads(text, object_pairs_hook=distinct)


def is_id(value):
    return type(value) is int or isinstance(value, str) and value != ""


def as_id(value):
    """A whole number that is written as a fraction, as the number."""
    whole = isinstance(value, float) and value.is_integer()
    return int(value) if whole else value


def is_text(value):
    return isinstance(value, str) and value.strip() != ""


# Captions -------------------------------------------------------------------

COCO = {
    "info": {"year": 2014},
    "images": [{"id": i, "file_name": f"COCO_{i}.jpg"} for i in (9, 4, 2)],
    "annotations": [
        {"id": k, "image_id": i, "caption": text}
        for k, (i, text) in enumerate(
            [
                (4, "A dog runs!"),
                (9, "Two cats."),
                (2, "A red bus, parked"),
                (9, "A cat sits on a \u00e9tag\u00e8re."),
            ]
        )
    ],
}
KARPATHY = {
    "dataset": "coco",
    "images": [
        {
            "cocoid": i,
            "split": split,
            "filepath": "val2014",
            "filename": f"{i}.jpg",
            "sentences": [{"raw": f"A dog {i}", "tokens": ["a", "dog"]}],
        }
        for i, split in [(7, "test"), (9, "train"), (5, "test"), (3, "val")]
    ],
}
RESULTS = [
    {"image_id": i, "caption": text}
    for i, text in ((4, "A dog runs."), (9, "Two cats"), (2, "a red bus"))
]
INSTANCES = {
    "images": [{"id": 4}, {"id": 9}],
    "annotations": [{"image_id": 4, "category_id": 17, "bbox": [0, 1.5]}],
    "categories": [{"id": 1, "name": "person"}, {"id": 17, "name": "cat"}],
}
FLICKR = "".join(
    f"{i}_693b{i}cb0e.jpg#{k}\tA dog number {k} is \u00e9t\u00e9 .\n"
    for i in (1000268201, 1001773457, 31)
    for k in range(3)
)
TGIF = "".join(
    f"https://38.media.tumblr.com/9{i}/tumblr_nok{i}eo1_400.gif\t"
    f"a man \u00e9 runs {k}\n"
    for i, k in ((1, 0), (2, 0), (3, 0), (3, 1))
)
LIST = "391895\nCOCO_val2014_000000522418.jpg\n\n17\nabc\n"


def told(split):
    """What a `CaptionSplit` holds, to be compared."""
    return [split.image_ids, split.captions, split.filenames, split.tokens]


def plain_coco(content):
    images, annotations = content["images"], content["annotations"]
    ids = [as_id(image["id"]) for image in images]
    assert all(map(is_id, ids)) and len(set(ids)) == len(ids) > 0
    names = [image.get("file_name", "") for image in images]
    assert all(isinstance(name, str) for name in names)
    captions = {i: [] for i in ids}
    for annotation in annotations:
        image = as_id(annotation["image_id"])
        assert is_id(image) and is_text(annotation["caption"])
        captions[image].append(annotation["caption"])
    assert all(captions.values())
    return [ids, list(captions.values()), names, None]


def plain_results(content):
    assert content and isinstance(content, list)
    found = {as_id(entry["image_id"]): entry["caption"] for entry in content}
    assert len(found) == len(content) and all(map(is_id, found))
    assert all(map(is_text, found.values()))
    return found


def plain_flickr(lines):
    captions = {}
    for line in filter(str.strip, lines):
        head, caption = line.split("\t", 1)
        (name,) = re.fullmatch(r"(\S+?)#\d+", head.strip()).groups()
        assert caption.strip()
        captions.setdefault(name, []).append(caption.strip())
    photos = [re.fullmatch(r"(\d+)(_[0-9a-f]+)?\.jpg", n) for n in captions]
    # Other names are ids themselves.
    ids = [int(x[1]) for x in photos] if all(photos) else list(captions)
    assert len(set(ids)) == len(ids) > 0
    return [ids, list(captions.values()), list(captions), None]


def plain_list(lines):
    lines = [line.strip() for line in lines if line.strip()]
    if lines[0][0] in "[{":
        found = parse("\n".join(lines).encode())
        assert isinstance(found, list)
    else:
        number = re.compile("0|[1-9][0-9]*")
        found = [int(x) if number.fullmatch(x) else x for x in lines]
    assert len(set(found)) == len(found) > 0 and all(map(is_id, found))
    return found


# Dialogs, whose images may be named in any way that gives a number ----------

DIALOGS = make_content(dialogs=2, rounds=3, split="val")
DENSE = [
    {"image_id": 100 + i, "round_id": i + 1, "gt_relevance": [0.0, 0.5, 1, 0]}
    for i in range(2)
]


def told_relevance(path):
    found = load_relevance(path, np.array([100, 101]), np.ones((2, 3, 4), bool))
    return np.nan_to_num(found, nan=-1.0).tolist()


def plain_relevance(content):
    found = np.full((2, 3, 4), -1.0, "float32")
    for entry in content:
        values = entry.get("gt_relevance", entry.get("relevance"))
        image, place = image_key(entry["image_id"]), entry["round_id"]
        assert type(image) is type(place) is int and isinstance(values, list)
        if image in (100, 101):
            assert 1 <= place <= 3 and len(values) == 4
            assert all(type(v) in (int, float) and 0 <= v <= 1 for v in values)
            found[image - 100, place - 1] = values
    assert not content or found.max() >= 0
    return found.tolist()


# What the kit itself writes -------------------------------------------------

REPORT = SpeakerReport(
    scores={"cider_d": 1.5, "r@1": float("nan")},
    image_ids=[4, "b"],
    captions=["a dog", "a \u00e9t\u00e9"],
    references=[["dogs"], ["one", "two"]],
    ranks=np.array([1.0, 2.5]),
    human_ranks=np.array([1.0, 1.0]),
    each={"cider_d": np.array([1.0, 2.0])},
)


def plain_vocabulary(content):
    assert content.keys() == {"format", "words"}
    assert content["format"] == "tfcap-vocabulary"
    words = content["words"]
    assert isinstance(words, list) and len(set(words)) == len(words)
    assert all(isinstance(word, str) and word for word in words)
    assert not {"<pad>", "<bos>", "<eos>", "<unk>"} & set(words)
    return words


def frequencies_reader():
    references = [[["a", "dog"], ["dog"]], [["a", "cat"]], [["a", "dog"]]]
    table = DocumentFrequencies.from_references(references, VOCABULARY)

    def read(path):
        found = DocumentFrequencies.load(path, VOCABULARY)
        return found.keys.tolist(), found.counts.tolist(), found.num_documents

    return sealed_reader(table.save, read, ".npz")


def features_reader(ids):
    values = np.random.default_rng(0).normal(size=(len(ids), 4, 3))
    return sealed_reader(
        lambda path: save_features(path, ids, values, backbone="net"),
        lambda path: load_features(path, ids[::-1]).tolist(),
        ".npy",
    )


def saved_report():
    with written(b"") as path:
        REPORT.save(path)
        return json.loads(path.read_bytes())


READERS = {
    "report": json_reader(saved_report(), SpeakerReport.load),
    "coco": json_reader(
        COCO, lambda path: told(load_captions(path)), plain_coco
    ),
    "karpathy": json_reader(KARPATHY, lambda path: load_captions(path, "test")),
    "results": json_reader(RESULTS, load_results, plain_results),
    "instances": json_reader(INSTANCES, load_instances),
    "flickr": text_reader(
        FLICKR, lambda path: told(load_captions(path)), plain_flickr
    ),
    "tgif": text_reader(TGIF, load_captions),
    "image_list": text_reader(LIST, read_image_ids, plain_list),
    "visdial": json_reader(DIALOGS, load_visdial),
    "dense": json_reader(DENSE, told_relevance, plain_relevance),
    "vocabulary": json_reader(
        {"format": "tfcap-vocabulary", "words": list(VOCABULARY.words)},
        lambda path: list(Vocabulary.load(path).words),
        plain_vocabulary,
    ),
    "frequencies": frequencies_reader(),
    "features": features_reader([30, 10, 20]),
    "features_named": features_reader(["a", "\u00e9", "c"]),
}
