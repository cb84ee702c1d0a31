import gzip
import json
import warnings

import pytest

from reproduce.world.formats import write_karpathy
from tfcap.data import load_captions


@pytest.fixture
def write(tmp_path):
    """Function that writes content to a file of JSON."""

    def write(content, name="references.json"):
        path = tmp_path / name
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    return write


def coco():
    return {
        "info": {},
        "images": [
            {"id": 7, "file_name": "COCO_val2014_000000000007.jpg"},
            {"id": 3, "file_name": "3.jpg"},
        ],
        "annotations": [
            {"id": 1, "image_id": 3, "caption": "A cat.\n"},
            {"id": 2, "image_id": 7, "caption": "Dogs run."},
            {"id": 3, "image_id": 3, "caption": "Café"},
        ],
    }


def karpathy():
    def image(number, split, *texts):
        sentences = [
            {"raw": text, "tokens": text.lower().split(), "imgid": number}
            for text in texts
        ]
        return {
            "filepath": f"{split}2014",
            "filename": f"{number}.jpg",
            "imgid": number,
            "cocoid": 100 + number,
            "split": split,
            "sentences": sentences,
        }

    return {
        "dataset": "coco",
        "images": [
            image(0, "train", "A cat", "Cats"),
            image(1, "test", "A dog"),
            image(2, "restval", "Birds", "A bird"),
            image(3, "test", "A cow", "Cows", "Cow"),
        ],
    }


def test_annotations_of_coco_go_to_their_images_in_the_order_of_the_file(write):
    split = load_captions(write(coco()))
    assert split.image_ids == [7, 3] and len(split) == 2
    assert split.captions == [["Dogs run."], ["A cat.\n", "Café"]]
    assert split.filenames == ["COCO_val2014_000000000007.jpg", "3.jpg"]
    assert split.splits == ["", ""] and split.tokens is None
    assert split.references() == {7: ["Dogs run."], 3: ["A cat.\n", "Café"]}
    assert split.source.endswith("references.json")


def test_a_split_of_karpathy_has_the_ids_of_coco_and_the_words(write):
    split = load_captions(write(karpathy()), "test")
    assert split.image_ids == [101, 103]
    assert split.captions == [["A dog"], ["A cow", "Cows", "Cow"]]
    assert split.tokens[0] == [["a", "dog"]]
    assert split.filenames == ["test2014/1.jpg", "test2014/3.jpg"]


@pytest.mark.parametrize("wanted", ["train+restval", ["train", "restval"]])
def test_splits_may_be_joined(write, wanted):
    split = load_captions(write(karpathy()), wanted)
    assert split.image_ids == [100, 102]
    assert split.splits == ["train", "restval"]


def test_files_without_ids_of_coco_have_their_own(write):
    content = karpathy()
    for image in content["images"]:
        del image["cocoid"], image["filepath"]
        for sentence in image["sentences"]:
            del sentence["tokens"]
    split = load_captions(write(content), "test")
    assert split.image_ids == [1, 3] and split.filenames == ["1.jpg", "3.jpg"]
    assert split.tokens is None


def test_the_world_is_read_as_it_is_written(tmp_path):
    path = tmp_path / "dataset_world.json"
    captions = [["a red ball"], ["two cones", "cones"]]
    write_karpathy(path, {"train": ([5, 6], captions)})
    split = load_captions(path)
    assert split.image_ids == [5, 6] and split.splits == ["train", "train"]
    assert split.tokens[1] == [["two", "cones"], ["cones"]]


def test_a_gzipped_file_reads_the_same(tmp_path):
    path = tmp_path / "captions.json.gz"
    path.write_bytes(gzip.compress(json.dumps(coco()).encode()))
    assert load_captions(path).image_ids == [7, 3]


def test_a_split_must_be_chosen_and_there(write):
    path = write(karpathy())
    with pytest.raises(ValueError, match=r"'train' \(1\), 'test' \(2\)"):
        load_captions(path)
    for wrong in ("val", "test+val", [], ""):
        with pytest.raises(ValueError, match="must name splits of the file"):
            load_captions(path, wrong)
    with pytest.raises(ValueError, match="must be left out for a file"):
        load_captions(write(coco()), "test")


def spoil(change, content=coco):
    content = content()
    change(content)
    return content


@pytest.mark.parametrize(
    "change, told",
    [
        (lambda c: c.clear(), "`images` is no list of images"),
        (lambda c: c.update(images=[]), "annotation 0 .* is 3, of no image"),
        (lambda c: c.update(annotations={}), "`annotations` is {} and not a"),
        (lambda c: c.pop("annotations"), "`imgid` is missing. Give a COCO"),
        (lambda c: c["images"].append(5), "image number 2 there is no object"),
        (lambda c: c["images"][0].pop("id"), "image number 0 `id` is missing"),
        (lambda c: c["images"][1].update(id=True), "`id` is True and not an"),
        (lambda c: c["images"][1].update(id=7), "image 7 is there already"),
        (lambda c: c["annotations"].append([]), "annotation 3 there is no ob"),
        (
            lambda c: c["annotations"][0].update(image_id="4"),
            "annotation 0 `image_id` is '4', of no image",
        ),
        (
            lambda c: c["annotations"][0].pop("caption"),
            "image 3, annotation 0 `caption` is missing",
        ),
        (
            lambda c: c["annotations"][2].update(caption=" \n"),
            "image 3, annotation 2 `caption` is empty",
        ),
        (
            lambda c: c["annotations"].pop(1),
            "image 7 there is no caption. Take .*--skip-empty",
        ),
    ],
)
def test_what_is_wrong_with_annotations_is_named(write, change, told):
    path = write(spoil(change))
    with pytest.raises(ValueError, match=told) as caught:
        load_captions(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "change, told",
    [
        (lambda i: i[1].pop("sentences"), "number 1 `sentences` is missing"),
        (lambda i: i[1].update(sentences=[]), "image 101 there is no caption"),
        (lambda i: i[1].update(cocoid=1.5), "`cocoid` is 1.5 and not an int"),
        (lambda i: i[3].update(cocoid=101), "image 101 is there already"),
        # It would be trained on and tested on.
        (lambda i: i[3].update(cocoid=100), "image 100 is there already"),
        (lambda i: i[2].pop("split"), "image 102 there is no split, as others"),
        (lambda i: i.append("x"), "image number 4 there is no object"),
        (
            lambda i: i[3]["sentences"][2].pop("raw"),
            "image 103, sentence 2 `raw` is missing",
        ),
        (
            lambda i: i[3]["sentences"].append("text"),
            "image 103, sentence 3 there is no object",
        ),
        (
            lambda i: i[3]["sentences"][0].pop("tokens"),
            "image 103, sentence 0 `tokens` is missing",
        ),
        (lambda i: i[3]["sentences"][0].update(raw=""), "`raw` is empty"),
    ],
)
def test_what_is_wrong_with_sentences_is_named(write, change, told):
    content = karpathy()
    change(content["images"])
    with pytest.raises(ValueError, match=told):
        load_captions(write(content), "test")


def empty_some(content):
    """Images without captions, and empty captions beside others."""
    if "annotations" in content:
        content["images"] += [{"id": 8}, {"id": 9}]
        more = [(3, " "), (8, ""), (8, "\n")]
        content["annotations"] += [
            {"image_id": i, "caption": text} for i, text in more
        ]
    else:
        for image in content["images"]:
            image["split"] = "test"
        content["images"][0]["sentences"] = []
        content["images"][1]["sentences"][0] |= {"raw": " ", "tokens": []}
        content["images"][3]["sentences"][1] |= {"raw": "", "tokens": []}


@pytest.mark.parametrize(
    "make, ids, captions, skipped",
    [
        (coco, [7, 3], [["Dogs run."], ["A cat.\n", "Café"]], (8, 9)),
        (
            karpathy,
            [102, 103],
            [["Birds", "A bird"], ["A cow", "Cow"]],
            (100, 101),
        ),
    ],
)
def test_empty_captions_may_be_left_out_and_are_counted(
    write, make, ids, captions, skipped
):
    path = write(spoil(empty_some, make))
    with pytest.raises(ValueError, match="(empty|no caption). .*--skip-empty"):
        load_captions(path)
    split = load_captions(path, skip_empty=True)
    assert split.image_ids == ids and split.captions == captions
    assert split.skipped_images == skipped
    assert split.skipped_captions == (3 if make is coco else 2)
    assert len(split.filenames) == len(split.splits) == 2
    if make is karpathy:
        assert split.tokens[1] == [["a", "cow"], ["cow"]]
    whole = load_captions(write(make()), make is karpathy and "test" or None)
    assert whole.skipped_captions == 0 and whole.skipped_images == ()


def test_a_file_in_which_all_is_empty_is_refused(write):
    def change(content):
        for annotation in content["annotations"]:
            annotation["caption"] = ""

    with pytest.raises(ValueError, match="there is no caption"):
        load_captions(write(spoil(change)), skip_empty=True)


def test_a_cut_off_file_is_told(write):
    path = write(coco())
    path.write_text(path.read_text()[:-30])
    with pytest.raises(ValueError, match="cut off or damaged"):
        load_captions(path)


def test_a_file_of_karpathys_may_have_no_splits(write):
    content = karpathy()
    for image in content["images"]:
        del image["split"]
    path = write(content)
    assert load_captions(path).splits == [""] * 4


def marked(*marks):
    """Annotations of two images, each with what VizWiz says of them."""
    return {
        "images": [{"id": 1, "text_detected": True}, {"id": 2}],
        "annotations": [
            {"id": i, "image_id": image, "caption": "a can", **mark}
            for i, (image, mark) in enumerate(zip((1, 1, 2), marks))
        ],
    }


@pytest.mark.parametrize("name", ["is_rejected", "is_precanned"])
@pytest.mark.parametrize(
    "true, false", [(True, False), (1, 0), ("true", "FALSE"), ("1.0", "0.0")]
)
def test_captions_that_vizwiz_marks_do_not_count(write, name, true, false):
    yes, no = {name: true, "text_detected": False}, {name: false}
    with warnings.catch_warnings(action="error"):
        split = load_captions(write(marked(no, yes, no)))
        assert split.references() == {1: ["a can"], 2: ["a can"]}
        assert (split.skipped_captions, split.skipped_images) == (1, ())
        split = load_captions(write(marked(no, no, yes)))
        assert (split.image_ids, split.skipped_images) == ([1], (2,))
    with pytest.raises(ValueError, match="there is no caption"):
        load_captions(write(marked(yes, yes, yes)))


def test_the_marks_count_in_all_layouts(write):
    said = {"raw": "a can", "tokens": ["a", "can"]}
    sentences = [said, {**said, "is_rejected": True}]
    image = {"imgid": 1, "filename": "1.jpg", "sentences": sentences}
    split = load_captions(write({"images": [image]}))
    assert split.captions == [["a can"]] and split.tokens == [[["a", "can"]]]
    assert split.skipped_captions == 1
    rows = [
        {"image": "a", "caption": "A", "is_precanned": False},
        {"image": "a", "caption": "B", "is_precanned": True},
    ]
    assert load_captions(write(rows)).captions == [["A"]]
    path = write(None, "captions.csv")
    path.write_text("image,caption,is_rejected\na,A,False\na,B,True\nb,C,1\n")
    split = load_captions(path)
    assert split.references() == {"a": ["A"]} and split.skipped_images == ("b",)


def test_domains_of_nocaps_are_splits_of_which_all_are_read(write):
    content = marked({}, {}, {})
    domains = ("in-domain", "out-domain")
    for image, domain in zip(content["images"], domains):
        image["domain"] = domain
    with warnings.catch_warnings(action="error"):
        assert load_captions(write(content)).splits == [*domains]
        assert load_captions(write(content), "out-domain").image_ids == [2]
    for image, split in zip(content["images"], ("train", "test")):
        image["split"] = split
    assert load_captions(write(content), "test").image_ids == [2]
    with pytest.raises(ValueError, match="`split` must be given"):
        load_captions(write(content))


def test_rows_of_json_are_read_by_their_names(write):
    texts = ["A bus", "A red bus"]
    rows = [
        {
            "image_id": "ab",
            "caption_id": i,
            "caption_str": text,
            "reference_strs": texts,
            "image_path": "train/ab.jpg",
            "set_name": "train",
        }
        for i, text in enumerate(texts)
    ]
    split = load_captions(write({"dataset_name": "textcaps", "data": rows}))
    assert split.references() == {"ab": texts} and split.splits == ["train"]
    assert split.filenames == ["train/ab.jpg"]
    rows = [{"image": "val2014/1.jpg", "caption": texts}]
    assert load_captions(write(rows)).captions == [texts]
