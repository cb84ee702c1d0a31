"""Trials of data of any size: none, one, many, long ones, ids of any kind.

What is written is read as it was, what is counted is as plain loops count it,
and what cannot be is refused in a sentence.
"""

import collections
import contextlib
import io
import itertools
import json
import os
import random

import numpy as np

from reproduce.record_file import append_record
from reproduce.record_file import read_records
from tests.data.conftest import make_content
from tests.data.tiny_captions import tiny_captions
from tests.faults.file_operations import attempt
from tfcap import evaluate
from tfcap.data import Backbone
from tfcap.data import CaptionBatches
from tfcap.data import FeatureWriter
from tfcap.data import extract_features
from tfcap.data import load_captions
from tfcap.data import load_features
from tfcap.data import load_results
from tfcap.data import load_visdial
from tfcap.data import mapped_features
from tfcap.data import nearest_neighbors
from tfcap.data import read_image_ids
from tfcap.data import standardize_features
from tfcap.metrics import candidate_ranks
from tfcap.text import DocumentFrequencies
from tfcap.text import Vocabulary

SIZES = (0, 1, 1, 2, 3, 5, 16, 17, 33, 100, 257)
MEMORY = 2 << 30
LETTERS = (
    "abz \u00e9\u4e2d\U0001f436\u0301\u200d/\\\"'%{}<>&;:.,!?0\u0130\u00df"
)
WORDS = (
    "a dog cat on the red street runs with two green bikes UNK <unk>".split()
)


def trial(rng, folder):
    check, seed = rng.choice(CHECKS), rng.random()

    def work(place):
        os.environ["TFCAP_CACHE"] = str(place / "cache")
        return check(random.Random(seed), place)

    tried = {"what": check.__name__}
    outcome = attempt(work, folder, seconds=60, memory=MEMORY)
    if outcome.status == "error" and outcome.error == "ValueError":
        # What cannot be is refused; where it can, the check says so.
        ours = outcome.text.startswith(("`", "--")) and len(outcome.text) < 3000
        return {**tried, "refused": outcome.text[:200]}, "" if ours else str(
            outcome
        )
    if outcome.status != "done":
        return tried, f"{outcome}"
    return tried, outcome.value or ""


def ids_of(rng, count):
    """Distinct ids of one kind."""
    kind = rng.randrange(5)
    found = {}
    while len(found) < count:
        found[
            (
                lambda: rng.randrange(10 * count),
                lambda: rng.choice((1, -1)) * rng.randrange(2**53, 2**63),
                lambda: text(rng, 12) or "x",
                lambda: rng.choice(("../", "/", "a/", "")) + str(len(found)),
                lambda: "x" * rng.choice((1, 300)) + str(len(found)),
            )[kind]()
        ] = None
    return [*found]


def text(rng, most):
    return "".join(rng.choices(LETTERS, k=rng.randint(1, most)))


def caption(rng):
    length = rng.choice((1, 2, 5, 9, 9, 9, 20, 60))
    return " ".join(rng.choices(WORDS[:-2], k=length))


def features(rng, place):
    """Written in any order, read in any order."""
    count, positions, size = (
        rng.choice(some) for some in (SIZES, (1, 2, 36), (1, 3, 64))
    )
    ids, path = ids_of(rng, count), place / "x.h5"
    numbers = np.random.default_rng(rng.randrange(2**32))
    values = numbers.normal(size=(count, positions, size)).astype("float16")
    values += (values == 0).astype("float16")
    rows = rng.sample(range(count), count)
    while rows:
        # As often stopped and gone on with.
        with FeatureWriter(path, ids, (1, positions), size) as writer:
            for _ in range(rng.randint(1, 5)):
                some, rows = rows[: rng.randint(1, 40)], rows[40:]
                left = [row for row in some if row in writer.remaining]
                if left:
                    writer.write(left, values[left])
            rows = [*writer.remaining] if rng.random() < 0.3 else rows
    with FeatureWriter(path, ids, (1, positions), size) as writer:
        left = writer.remaining
        if len(left):
            writer.write(left, values[left])
    order = rng.sample(range(count), rng.randint(0, count))
    mapped_features.LARGE = rng.choice((1, 2 << 30))
    for lazy in (False, True):
        found = load_features(path, [ids[row] for row in order], lazy=lazy)
        got = np.asarray(found[np.arange(len(order))])
        if not np.array_equal(got, values[order]):
            return f"other features: {count, positions, size, lazy}"
    if count > 1:
        (scaled,) = standardize_features(load_features(path, lazy=True))
        mean = values.astype("float64").mean((0, 1))
        if not np.allclose(scaled.mean, mean, rtol=1e-3, atol=1e-4):
            return f"another mean: {count, positions, size}"
    return ""


def coco(rng, place):
    """Captions of any number and length, with any ids."""
    count = rng.choice(SIZES)
    ids, path = ids_of(rng, count), place / "captions.json"
    people = {i: [caption(rng) for _ in range(rng.randint(1, 9))] for i in ids}
    if ids and rng.random() < 0.2:
        people[ids[0]] = [caption(rng)] * 200
    if ids and rng.random() < 0.2:
        people[ids[0]][0] = " ".join(["word"] * rng.choice((999, 30_000)))
    if ids and rng.random() < 0.3:
        people[ids[-1]][0] = "a" + text(rng, 50)
    notes = [
        {"image_id": i, "id": k, "caption": said}
        for k, (i, said) in enumerate((i, x) for i in ids for x in people[i])
    ]
    images = [{"id": i, "file_name": f"{i}.jpg"} for i in ids]
    content = json.dumps({"images": images, "annotations": notes})
    path.write_text(content)
    split = load_captions(path)
    if [*split.image_ids] != ids or split.captions != [*people.values()]:
        return f"other captions of {count} images"
    results = [{"image_id": i, "caption": caption(rng)} for i in ids]
    (place / "said.json").write_text(json.dumps(results))
    told = {r["image_id"]: r["caption"] for r in results}
    if load_results(place / "said.json") != told:
        return "other results"
    listed = place / "ids.json"
    listed.write_text(json.dumps(ids))
    if [*read_image_ids(listed)] != ids:
        return "other ids"
    return ""


def scores(rng, place):
    """Scores do not depend on the order; what people say is right."""
    count = rng.choice(SIZES)
    ids = ids_of(rng, count)
    people = {i: [caption(rng) for _ in range(rng.randint(1, 6))] for i in ids}
    if ids and rng.random() < 0.3:
        people[ids[0]] = [caption(rng)] * rng.choice((100, 1000))
    same = rng.random() < 0.5
    said = {i: people[i][0] if same else caption(rng) for i in ids}
    if ids and not same and rng.random() < 0.2:
        said[ids[0]] = " ".join(["dog"] * rng.choice((500, 1000, 1001, 9000)))
    found = []
    for _ in range(2):
        order = rng.sample(ids, count)
        results = [{"image_id": i, "caption": said[i]} for i in order]
        notes = [
            {"image_id": i, "caption": x} for i in order for x in people[i]
        ]
        images = [{"id": i} for i in order]
        (place / "a.json").write_text(json.dumps(results))
        (place / "b.json").write_text(
            json.dumps({"images": images, "annotations": notes})
        )
        found.append(scored(place))
    (one, each), (other, again) = found
    if isinstance(one, str):
        return "" if one == other else f"two refusals: {one} {other}"
    for name in one:
        if abs(one[name] - other[name]) > 1e-9:
            return f"{name} depends on the order: {one} {other}"
    if each != again and not all(
        abs(each[i][k] - again[i][k]) < 1e-9
        for i in each
        for k in ("cider_d", "rouge_l")
    ):
        return "scores of images depend on the order"
    if same and ids and abs(one["rouge_l"] - 1) > 1e-9:
        return f"what people say is not right: {one}"
    return ""


def scored(place):
    out, log = place / "scores.json", io.StringIO()
    out.unlink(missing_ok=True)
    arguments = ["--metrics", "bleu,rouge_l,cider_d", "--quiet", "--json"]
    files = [str(place / name) for name in ("a.json", "b.json")]
    with contextlib.redirect_stderr(log), contextlib.redirect_stdout(log):
        status = evaluate.main([*files, *arguments, str(out)])
    # One image has no CIDEr-D, which is told.
    if status and not out.exists():
        said = log.getvalue()
        if status != 2 or "error: `" not in said or len(said) > 3000:
            raise RuntimeError(f"{status}: {said}")
        return said.split("[")[0], None
    found = json.loads(out.read_text())
    each = {row["image_id"]: row for row in found["each"]}
    return {k: v for k, v in found["corpus"].items() if v is not None}, each


def words(rng, place):
    """Vocabularies and the tables that are counted with them."""
    count = rng.choice((*SIZES, 3000))
    made = {text(rng, 9).replace(" ", "_").lower(): 0 for _ in range(count)}
    vocabulary = Vocabulary([*made])
    vocabulary.save(place / "v.json")
    if Vocabulary.load(place / "v.json").words != vocabulary.words:
        return "other words"
    sentences = [
        rng.choices([*made] or ["x"], k=rng.choice((0, 1, 5, 40)))
        for _ in range(rng.choice(SIZES))
    ]
    ids = vocabulary.encode_batch(sentences, eos=True)
    if made and vocabulary.decode_batch(ids) != [
        " ".join(s) for s in sentences
    ]:
        return "other sentences"
    documents = [
        [rng.choice(sentences) for _ in range(rng.randint(1, 4))]
        for _ in range(rng.choice(SIZES))
        if sentences
    ]
    table = DocumentFrequencies.from_references(
        documents, vocabulary, min_count=1
    )
    table.save(place / "t.npz")
    table = DocumentFrequencies.load(place / "t.npz", vocabulary)
    wanted = collections.Counter()
    for document in documents:
        grams = set()
        for sentence in document:
            row = [*vocabulary.encode(sentence, eos=True)]
            for n, start in itertools.product((1, 2, 3, 4), range(len(row))):
                if start + n <= len(row):
                    grams.add(tuple(row[start : start + n]))
        wanted.update(grams)
    if sorted(table.counts.tolist()) != sorted(wanted.values()):
        return f"other counts: {len(table)} {len(wanted)}"
    return ""


def records(rng, place):
    made = []
    for _ in range(rng.choice(SIZES)):
        record = {
            text(rng, 9): rng.choice(
                (None, True, 10**40, -1.5, text(rng, 99), [], {"a": [1]})
            )
            for _ in range(rng.choice((0, 1, 5)))
        }
        if rng.random() < 0.05:
            record["long"] = "x" * 1_000_000
        append_record(place / "r.jsonl", record)
        made.append(record)
    found = read_records(place / "r.jsonl")
    return "" if found == made else "other records"


def dialogs(rng, place):
    count, rounds = rng.choice(SIZES), rng.choice((0, 1, 2, 10, 30))
    content = make_content(count, rounds, split="val")
    path = place / "dialogs.json"
    path.write_text(json.dumps(content))
    split = load_visdial(path)
    for row, dialog in enumerate(content["data"]["dialogs"]):
        turns = dialog["dialog"]
        found = split.answer_index[row].tolist()
        if found != [turn["answer"] for turn in turns]:
            return f"other dialogs: {count, rounds}"
    return ""


def neighbors(rng, place):
    count, size = rng.choice(SIZES), rng.choice((1, 2, 9))
    k = rng.choice((1, 2, max(count - 1, 1), count))
    numbers = np.random.default_rng(rng.randrange(2**32))
    points = numbers.integers(-3, 4, (count, size)).astype("float32")
    block, tile = rng.choice((1, 3, 1024)), rng.choice((1, 5, 16384))
    found = nearest_neighbors(points, k, block, tile)
    likeness = points @ points.T
    for row in range(count):
        others = [other for other in range(count) if other != row]
        others.sort(key=lambda other: (-likeness[row, other], other))
        if found[row].tolist() != others[:k]:
            return f"other neighbors: {count, size, k, block, tile}"
    return ""


def ranks(rng, place):
    count, size = rng.choice(SIZES), rng.choice((1, 2, 100))
    numbers = np.random.default_rng(rng.randrange(2**32))
    values = numbers.integers(0, rng.choice((1, 3, 1000)), (count, size))
    truth = numbers.integers(0, size, count)
    found = np.asarray(candidate_ranks(values.astype("float32"), truth))
    for row in range(count):
        own = values[row, truth[row]]
        above = sum(value > own for value in values[row])
        equal = sum(value == own for value in values[row]) - 1
        if found[row] != 1 + above + equal / 2:
            return f"another rank: {count, size}"
    return ""


def batches(rng, place):
    """An epoch has each image or caption once, in batches of any size."""
    counts = [rng.randint(1, 5) for _ in range(rng.choice(SIZES))]
    captions = tiny_captions(counts, rng.choice((2, 6, 16)))
    grids = np.arange(len(counts), dtype="float32")[:, None, None] + 1
    size = rng.choice((1, 2, 5, max(len(counts), 1), len(counts) + 1))
    epoch, window = rng.choice(("images", "captions")), None
    if counts and rng.random() < 0.5:
        # In windows of the order of their file.
        order, window = rng.sample(range(len(counts)), len(counts)), size * 5
        with FeatureWriter(place / "x.h5", order, (1, 1), 1) as writer:
            writer.write(np.arange(len(counts)), grids[order])
        grids = load_features(place / "x.h5", [*range(len(counts))], lazy=True)
    made = CaptionBatches(
        captions,
        grids,
        size,
        seed=rng.randrange(99),
        epoch=epoch,
        shuffle_window=window,
    )
    seen = collections.Counter()
    for step in range(made.steps_per_epoch):
        batch = made.batch(step)
        seen.update((batch["image"][:, 0, 0] - 1).astype(int).tolist())
        if len(batch["image"]) > size:
            return f"a batch of {len(batch['image'])}: {size}"
    each = counts if epoch == "captions" else [1] * len(counts)
    lost = sum(each) - sum(seen.values())
    if any(seen[row] > each[row] for row in seen) or not 0 <= lost < size:
        return f"{len(counts)} images, {size}, {epoch}: {lost} are lost"
    return ""


def extraction(rng, place):
    count = rng.choice(SIZES)
    ids = ids_of(rng, count)
    numbers = np.random.default_rng(rng.randrange(2**32))
    shapes = [rng.choice(((1, 1), (8, 8), (300, 2))) for _ in ids]
    images = [
        (i, numbers.integers(0, 256, (*shape, 3), "uint8"))
        for i, shape in zip(ids, shapes)
    ]

    def see(pixels):
        return np.asarray(pixels)[:, ::4, ::4] / 256.0 + 0.01

    backbone = Backbone("net", "top", (8, 8), "raw", see)
    path = place / "x.h5"
    size = rng.choice((1, 7, 32))
    extract_features(backbone, images, path, size, progress=False)
    found = load_features(path, ids)
    if len(found) != count or (count and not np.asarray(found).any()):
        return f"other features of {count} images"
    return ""


CHECKS = (
    *(features, coco, scores, words, records, dialogs, neighbors, ranks),
    *(batches, extraction),
)
