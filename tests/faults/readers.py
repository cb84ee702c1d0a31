"""Every reader of files, beside a plain reading of what it must give.

A plain reading fails where the file is not as it should be: then the reader
must refuse it, too.
"""

import contextlib
import dataclasses
import gzip
import json
import math
import pathlib
import re
import tempfile
from collections.abc import Callable

import numpy as np

from reproduce.sweep import load_records
from reproduce.visdial.data import pooled_reader as read_pooled
from tests.data.conftest import make_content
from tests.faults.mutations import mutated_bytes
from tests.faults.mutations import mutated_json
from tests.faults.mutations import mutated_lines
from tfcap.data import load_captions
from tfcap.data import load_features
from tfcap.data import load_visdial
from tfcap.data import read_image_ids
from tfcap.data import save_features
from tfcap.data.caption_split import find_rows
from tfcap.data.coco_instances import load_instances
from tfcap.data.result_files import load_results
from tfcap.data.visdial import load_relevance
from tfcap.text import DocumentFrequencies
from tfcap.text import Vocabulary
from tfcap.text.missing_score import MissingScoreError
from tfcap.training import SpeakerReport

VOCABULARY = Vocabulary(["a", "dog", "cat", "runs", "\u00e9t\u00e9"])


@dataclasses.dataclass(frozen=True)
class Reader:
    """A reader of one kind of file.

    Args:
        data: Bytes, a good file.
        mutate: Function of bytes and a `random.Random` that returns bytes.
        read: Function of the file's path; what it returns can be compared.
        plain: Function of the file's bytes that returns the same, or fails.
        ending: String, of the file's name.
    """

    data: bytes
    mutate: Callable
    read: Callable
    plain: Callable
    ending: str = ".json"


def json_reader(content, read, plain, spoil=True):
    """A reader of JSON, whose mutants are values and, or, bytes."""
    data = json.dumps(content).encode()

    def mutate(data, random):
        if spoil and random.random() < 0.3:
            return mutated_bytes(data, random)
        return mutated_json(content, random)

    return Reader(data, mutate, read, lambda data: plain(parse(data)))


def text_reader(text, read, plain):
    """A reader of lines of text, gzipped or not."""

    def mutate(data, random):
        how = random.random()
        data = (mutated_lines if how < 0.6 else mutated_bytes)(data, random)
        return gzip.compress(data, mtime=0) if 0.5 < how < 0.7 else data

    def decoded(data):
        return plain(unpacked(data).decode("utf-8-sig").split("\n"))

    return Reader(text.encode(), mutate, read, decoded, ".txt")


def sealed_reader(data, read, ending):
    """A reader of a binary file, in which nothing may be another."""
    with written(data, ending) as path:
        good = read(path)
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
                (4, "The dog is running"),
            ]
        )
    ],
}
KARPATHY = {
    "dataset": "coco",
    "images": [
        {
            "cocoid": i,
            "imgid": place,
            "split": split,
            "filepath": "val2014",
            "filename": f"{i}.jpg",
            "sentences": [
                {"raw": text, "tokens": text.lower().split()}
                for text in (f"A dog {i}", "Two dogs \u2014 or three")
            ],
        }
        for place, (i, split) in enumerate(
            [(7, "test"), (9, "train"), (5, "test"), (3, "val")]
        )
    ],
}
RESULTS = [
    {"image_id": i, "caption": text}
    for i, text in ((4, "A dog runs."), (9, "Two cats"), (2, "a red bus"))
]


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


def plain_karpathy(content):
    assert "annotations" not in content
    assert all(isinstance(image["split"], str) for image in content["images"])
    ids, others = (
        [
            as_id(i.get("cocoid", i.get("imgid")))
            for i in content["images"]
            if (i["split"] == "test") is chosen
        ]
        for chosen in (True, False)
    )
    images = [image for image in content["images"] if image["split"] == "test"]
    assert not any(is_id(i) and i in ids for i in others)
    assert all(map(is_id, ids)) and len(set(ids)) == len(ids) > 0
    captions, tokens, names = [], [], []
    for image in images:
        parts = [image.get("filepath", ""), image.get("filename", "")]
        assert all(isinstance(part, str) for part in parts)
        names.append("/".join(filter(None, parts)))
        captions.append([sentence["raw"] for sentence in image["sentences"]])
        assert captions[-1] and all(map(is_text, captions[-1]))
        tokens.append([s.get("tokens") for s in image["sentences"]])
    found = [words for row in tokens for words in row]
    if all(words is None for words in found):
        tokens = None
    else:
        assert all(isinstance(words, list) for words in found)
        assert all(isinstance(w, str) and w for words in found for w in words)
    return [ids, captions, names, tokens]


def plain_results(content):
    assert content and isinstance(content, list)
    found = {as_id(entry["image_id"]): entry["caption"] for entry in content}
    assert len(found) == len(content) and all(map(is_id, found))
    assert all(map(is_text, found.values()))
    return found


INSTANCES = {
    "images": [{"id": 4}, {"id": 9}],
    "annotations": [
        {"image_id": 4, "category_id": 17, "bbox": [0, 1.5]},
        {"image_id": 4, "category_id": 1},
    ],
    "categories": [{"id": 1, "name": "person"}, {"id": 17, "name": "cat"}],
}


def plain_instances(content):
    names = {entry["id"]: entry["name"] for entry in content["categories"]}
    objects = {entry["id"]: set() for entry in content["images"]}
    assert all(map(is_id, [*names, *objects]))
    assert all(isinstance(name, str) for name in names.values())
    for entry in content["annotations"]:
        assert is_id(entry["image_id"]) and is_id(entry["category_id"])
        objects[entry["image_id"]].add(names[entry["category_id"]])
    return objects


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


def plain_tgif(lines):
    captions = {}
    for line in filter(str.strip, lines):
        url, caption = (part.strip() for part in line.split("\t", 1))
        assert caption and re.fullmatch(r"\w+://\S+", url)
        captions.setdefault(url, []).append(caption)
    gifs = [re.fullmatch(r".*/([^/]+)\.gif", url) for url in captions]
    # Other URLs are ids themselves.
    names = [x[1] for x in gifs] if all(gifs) else list(captions)
    assert len(set(names)) == len(names) > 0
    return [names, list(captions.values()), list(captions), None]


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


def split_list_reader():
    """A list of images beside their captions."""
    names = re.findall(r"^(\S+)#0", FLICKR, re.MULTILINE)

    def read(path):
        captions = path.with_name("captions.token")
        captions.write_text(FLICKR, encoding="utf-8")
        whole = load_captions(captions)
        rows = find_rows(whole, read_image_ids(path), str(path))
        return set(whole.take(rows).filenames)

    def plain(lines):
        found = plain_list(lines)
        rows = [
            row
            for entry in found
            for row, name in enumerate(names)
            if str(entry) == name[:-4]
            or str(entry)[:-4] == name[:-4]
            or str(entry).isdecimal()
            and int(entry) == int(name.split("_")[0])
        ]
        assert len(rows) == len(set(rows)) == len(found)
        return {names[row] for row in rows}

    return text_reader("".join(f"{n}\n" for n in names[:2]), read, plain)


# Dialogs --------------------------------------------------------------------

DIALOGS = make_content(dialogs=2, rounds=3, split="val")
DENSE = [
    {"image_id": 100 + i, "round_id": i + 1, "gt_relevance": [0.0, 0.5, 1, 0]}
    for i in range(2)
]


def told_dialogs(path):
    split = load_visdial(path)
    arrays = split.question_index, split.answer_index, split.gt_index
    return [
        *(split.image_ids.tolist(), split.captions),
        *(split.questions, split.answers),
        *(array.tolist() for array in (*arrays, split.options)),
        split.tags.tolist(),
    ]


def plain_dialogs(content):
    data = content["data"]
    questions, answers = data["questions"], data["answers"]
    assert all(isinstance(text, str) for text in questions + answers)
    hidden = "test" in str(content.get("split", ""))
    dialogs = data["dialogs"]
    ids = [as_id(dialog["image_id"]) for dialog in dialogs]
    assert all(type(i) is int for i in ids) and len(set(ids)) == len(ids)
    captions = [dialog["caption"] for dialog in dialogs]
    assert all(isinstance(text, str) for text in captions)
    rounds = max(len(dialog["dialog"]) for dialog in dialogs)
    sizes = {
        len(turn["answer_options"])
        for dialog in dialogs
        for turn in dialog["dialog"]
        if turn.get("answer_options") is not None
    }
    (size,) = sizes or {0}
    tables = [np.full((len(dialogs), rounds), -1) for _ in range(3)]
    options = np.full((len(dialogs), rounds, size), -1)
    for d, dialog in enumerate(dialogs):
        assert isinstance(dialog["dialog"], list)
        for r, turn in enumerate(dialog["dialog"]):
            last = hidden and r == len(dialog["dialog"]) - 1
            question, answer, truth = (
                turn.get(key) for key in ("question", "answer", "gt_index")
            )
            shown = turn.get("answer_options")
            _check_index(question, len(questions))
            tables[0][d, r] = question
            assert shown is not None or hidden
            for option in shown or ():
                _check_index(option, len(answers))
            if shown is not None:
                options[d, r] = shown
            if answer is None:
                assert last
            else:
                _check_index(answer, len(answers))
                tables[1][d, r] = answer
            if "gt_index" in turn:
                _check_index(truth, size)
            elif shown and answer is not None:
                truth = shown.index(answer)
            if truth is not None:
                tables[2][d, r] = truth
                if shown and answer is not None:
                    assert answers[shown[truth]] == answers[answer]
    tags = [str(dialog.get("suggested_split", "")) for dialog in dialogs]
    arrays = (*tables, options)
    return [
        ids,
        captions,
        questions,
        answers,
        *(a.tolist() for a in arrays),
    ] + [tags]


def _check_index(value, size):
    assert type(value) is int and 0 <= value < size


def told_relevance(path):
    found = load_relevance(path, np.array([100, 101]), np.ones((2, 3, 4), bool))
    return np.nan_to_num(found, nan=-1.0).tolist()


def plain_relevance(content):
    found = np.full((2, 3, 4), -1.0, "float32")
    matched = False
    for entry in content:
        values = entry.get("gt_relevance", entry.get("relevance"))
        image, place = as_id(entry["image_id"]), entry["round_id"]
        assert type(image) is type(place) is int and isinstance(values, list)
        if image not in (100, 101):
            continue
        matched = True
        assert 1 <= place <= 3 and len(values) == 4
        assert all(type(v) in (int, float) and 0 <= v <= 1 for v in values)
        found[image - 100, place - 1] = values
    assert matched or not content
    return found.tolist()


# Words ----------------------------------------------------------------------

WORDS = {"1": "a", "2": "dog", "3": "UNK"}


def plain_vocabulary(content):
    assert content.keys() == {"format", "words"}
    assert content["format"] == "tfcap-vocabulary"
    words = content["words"]
    assert isinstance(words, list) and len(set(words)) == len(words)
    assert all(isinstance(word, str) and word for word in words)
    assert not {"<pad>", "<bos>", "<eos>", "<unk>"} & set(words)
    return words


def told_frequencies(table):
    return [table.keys.tolist(), table.counts.tolist(), table.num_documents]


def bytes_of(write, ending):
    with written(b"", ending) as path:
        path.unlink()
        write(path)
        return path.read_bytes()


def frequencies_reader():
    references = [[["a", "dog"], ["dog"]], [["a", "cat"]], [["a", "dog"]]]
    table = DocumentFrequencies.from_references(references, VOCABULARY)
    return sealed_reader(
        bytes_of(table.save, ".npz"),
        lambda path: told_frequencies(
            DocumentFrequencies.load(path, VOCABULARY)
        ),
        ".npz",
    )


def features_reader(ids):
    values = np.random.default_rng(0).normal(size=(len(ids), 4, 3))

    def write(path):
        save_features(path, ids, values, backbone="net")

    return sealed_reader(
        bytes_of(write, ".npy"),
        lambda path: load_features(path, ids[::-1]).tolist(),
        ".npy",
    )


# The command ----------------------------------------------------------------


# What runs leave -----------------------------------------------------------

REPORT = SpeakerReport(
    scores={"cider_d": 1.5, "r@1": float("nan")},
    image_ids=[4, "b"],
    captions=["a dog", "a \u00e9t\u00e9"],
    references=[["dogs"], ["one", "two"]],
    ranks=np.array([1.0, 2.5]),
    human_ranks=np.array([1.0, 1.0]),
    each={"cider_d": np.array([1.0, 2.0])},
    absent={
        "meteor": MissingScoreError(
            "METEOR", "there is no Java", "Install one."
        )
    },
)


def told_report(path):
    fields = vars(SpeakerReport.load(path)).copy()
    each = {f"each {k}": v for k, v in fields.pop("each").items()}
    absent = {k: vars(v) for k, v in fields.pop("absent").items()}
    fields = {
        k: getattr(v, "tolist", lambda v=v: v)() for k, v in fields.items()
    }
    each = {k: v.tolist() for k, v in each.items()}
    return json.loads(json.dumps([fields | each, absent]), parse_constant=str)


def plain_report(content):
    assert content["format"] == "tfcap-speaker-report"
    found = {"scores": content["scores"]}
    names = {
        **{"image_id": "image_ids", "caption": "captions", "rank": "ranks"},
        **{"human": "references", "human_rank": "human_ranks"},
    }
    rows = content["images"]
    assert rows and all(
        row.keys() == rows[0].keys() >= {*names} for row in rows
    )
    for key in rows[0]:
        values = [row[key] for row in rows]
        kinds = {"image_id": (int, str), "caption": (str,), "human": (list,)}
        assert all(
            type(v) in kinds.get(key, (int, float, type(None))) for v in values
        )
        if key not in kinds:
            values = [_plain_number(v) for v in values]
        found[names.get(key, f"each {key}")] = values
    assert all(isinstance(t, str) for row in rows for t in row["human"])
    found["scores"] = {k: _plain_number(v) for k, v in found["scores"].items()}
    for why in content["absent"].values():
        assert why.keys() == {"name", "reason", "hint"}
    return [found, content["absent"]]


def _plain_number(value):
    assert value is None or math.isfinite(value)
    return "NaN" if value is None else float(value)


POINTS = "".join(
    json.dumps({"settings": {"seed": i}, "result": {"r@1": 1.5 * i}}) + "\n"
    for i in range(4)
)


def told_points(path):
    (path.parent / "points.jsonl").write_bytes(path.read_bytes())
    try:
        return load_records(path.parent)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error


def plain_points(data):
    found = {}
    for line in data.split(b"\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if not isinstance(record, dict):
            continue
        settings, result = record["settings"], record["result"]
        assert isinstance(settings, dict) and isinstance(result, dict)
        assert not any(isinstance(v, list | dict) for v in settings.values())
        key = json.dumps(
            {
                k: int(v) if isinstance(v, float) and v == v // 1 else v
                for k, v in settings.items()
            },
            sort_keys=True,
        )
        before = found.get(key, (settings, {}))
        found[key] = (before[0], {**result, **before[1]})
    assert found
    return [{**settings, **result} for settings, result in found.values()]


def points_reader():
    def mutate(data, random):
        how = mutated_lines if random.random() < 0.5 else mutated_bytes
        return how(data, random)

    return Reader(POINTS.encode(), mutate, told_points, plain_points, ".txt")


def pooled_reader():
    ids, table = np.array([7, 9, 4]), np.arange(12.0).reshape(3, 4)
    return sealed_reader(
        bytes_of(
            lambda path: np.savez(path, image_ids=ids, features=table), ".npz"
        ),
        lambda path: read_pooled([path])(ids[::-1]).tolist(),
        ".npz",
    )


READERS = {
    "report": json_reader(
        json.loads(bytes_of(REPORT.save, ".json")), told_report, plain_report
    ),
    "points": points_reader(),
    "pooled": pooled_reader(),
    "coco": json_reader(
        COCO, lambda path: told(load_captions(path)), plain_coco
    ),
    "karpathy": json_reader(
        KARPATHY, lambda path: told(load_captions(path, "test")), plain_karpathy
    ),
    "results": json_reader(RESULTS, load_results, plain_results),
    "instances": json_reader(INSTANCES, load_instances, plain_instances),
    "flickr": text_reader(
        FLICKR, lambda path: told(load_captions(path)), plain_flickr
    ),
    "tgif": text_reader(
        TGIF, lambda path: told(load_captions(path)), plain_tgif
    ),
    "image_list": text_reader(LIST, read_image_ids, plain_list),
    "image_list_json": json_reader(
        [7, "a.jpg", 9],
        read_image_ids,
        lambda found: plain_list([json.dumps(found)]),
        spoil=False,
    ),
    "split_list": split_list_reader(),
    "visdial": json_reader(DIALOGS, told_dialogs, plain_dialogs),
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
