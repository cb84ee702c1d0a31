import gzip
import json
import warnings

import pytest

from reproduce.world.formats import write_karpathy
from tfcap.data import load_captions
from tfcap.data import read_image_ids


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
    packed = gzip.compress(json.dumps(coco()).encode())
    for path in write(coco()), write(packed, "captions.json.gz"):
        split = load_captions(path)
        assert split.image_ids == [7, 3] and len(split) == 2
        assert split.captions == [["Dogs run."], ["A cat.\n", "Café"]]
        assert split.filenames == ["COCO_val2014_000000000007.jpg", "3.jpg"]
        assert split.splits == ["", ""] and split.tokens is None
        assert split.references() == {7: ["Dogs run."], 3: ["A cat.\n", "Café"]}
        assert split.source == str(path)


def test_a_split_of_karpathy_has_the_ids_of_coco_and_the_words(write):
    path = write(karpathy())
    split = load_captions(path, "test")
    assert split.image_ids == [101, 103]
    assert split.captions == [["A dog"], ["A cow", "Cows", "Cow"]]
    assert split.tokens[0] == [["a", "dog"]]
    assert split.filenames == ["test2014/1.jpg", "test2014/3.jpg"]
    for several in "train+restval", ["train", "restval"]:
        split = load_captions(path, several)
        assert split.image_ids == [100, 102]
        assert split.splits == ["train", "restval"]


def test_files_without_ids_of_coco_or_splits_have_their_own(write):
    content = karpathy()
    for image in content["images"]:
        del image["cocoid"], image["filepath"]
        for sentence in image["sentences"]:
            del sentence["tokens"]
    split = load_captions(write(content), "test")
    assert split.image_ids == [1, 3] and split.filenames == ["1.jpg", "3.jpg"]
    assert split.tokens is None
    for image in content["images"]:
        del image["split"]
    assert load_captions(write(content)).splits == [""] * 4


def test_the_world_is_read_as_it_is_written(tmp_path, write):
    path = tmp_path / "dataset_world.json"
    captions = [["a red ball"], ["two cones", "cones"]]
    splits = {"train": ([5, 6], captions), "val": ([3, 4], captions)}
    write_karpathy(path, splits)
    split = load_captions(path, "train")
    assert split.image_ids == [5, 6] and split.splits == ["train", "train"]
    assert split.tokens[1] == [["two", "cones"], ["cones"]]
    # The split of a paper cuts across those of the file.
    images = read_image_ids(write([4, 5], "list.json"))
    some = load_captions(path, "train+val").select(images)
    assert some.image_ids == [4, 5] and some.splits == ["val", "train"]


@pytest.mark.parametrize("wrong", [None, "val", "test+val", [], ""])
def test_a_split_must_be_chosen_and_there(write, wrong):
    told = r"must name splits of the file.*'train' \(1\), 'test' \(2\)"
    with pytest.raises(ValueError, match=told):
        load_captions(write(karpathy()), wrong)
    with pytest.raises(ValueError, match="must be left out for a file"):
        load_captions(write(coco()), "test")


@pytest.mark.parametrize(
    "change, told",
    [
        (lambda c: c.clear(), "`images` is not a list of images"),
        (lambda c: c.update(images=[]), "annotation 0 .* is 3, of no image"),
        (lambda c: c.pop("annotations"), "`imgid` is missing. Give a COCO"),
        (lambda c: c["images"][1].update(id=7), "image 7 is there already"),
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
    content = coco()
    change(content)
    path = write(content)
    with pytest.raises(ValueError, match=told) as caught:
        load_captions(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "change, told",
    [
        (lambda i: i[1].update(sentences=[]), "image 101 there is no caption"),
        # It would be trained on and tested on.
        (lambda i: i[3].update(cocoid=100), "image 100 is there already"),
        (lambda i: i[2].pop("split"), "image 102 the split is missing"),
        (
            lambda i: i[3]["sentences"][2].pop("raw"),
            "image 103, sentence 2 `raw` is missing",
        ),
        (
            lambda i: i[3]["sentences"][0].pop("tokens"),
            "image 103, sentence 0 `tokens` is missing",
        ),
    ],
)
def test_what_is_wrong_with_sentences_is_named(write, change, told):
    content = karpathy()
    change(content["images"])
    with pytest.raises(ValueError, match=told):
        load_captions(write(content), "test")


def test_empty_annotations_may_be_left_out_and_are_counted(write):
    content = coco()
    content["images"] += [{"id": 8}, {"id": 9}]
    content["annotations"] += [
        {"image_id": i, "caption": text}
        for i, text in [(3, " "), (8, ""), (8, "\n")]
    ]
    path = write(content)
    with pytest.raises(ValueError, match="empty. .*--skip-empty"):
        load_captions(path)
    split = load_captions(path, skip_empty=True)
    assert split.captions == [["Dogs run."], ["A cat.\n", "Café"]]
    assert (split.skipped_captions, split.skipped_images) == (3, (8, 9))
    whole = load_captions(write(coco()), skip_empty=True)
    assert (whole.skipped_captions, whole.skipped_images) == (0, ())
    for annotation in content["annotations"]:
        annotation["caption"] = ""
    with pytest.raises(ValueError, match="there is no caption"):
        load_captions(write(content), skip_empty=True)


def test_empty_sentences_may_be_left_out_and_are_counted(write):
    content = karpathy()
    content["images"][0]["sentences"] = []
    content["images"][2]["sentences"] = [{"raw": " ", "tokens": []}]
    content["images"][3]["sentences"][1] |= {"raw": "", "tokens": []}
    split = load_captions(write(content), "all", skip_empty=True)
    assert split.captions == [["A dog"], ["A cow", "Cow"]]
    assert split.tokens[1] == [["a", "cow"], ["cow"]]
    assert split.splits == ["test", "test"] and len(split.filenames) == 2
    assert (split.skipped_captions, split.skipped_images) == (2, (100, 102))


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
    text = "image,caption,is_rejected\na,A,False\na,B,True\nb,C,1\n"
    split = load_captions(write(text, "captions.csv"))
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
    with pytest.raises(ValueError, match="`split` must name splits"):
        load_captions(write(content))


def textcaps():
    texts = ["A bus", "A red bus"]
    row = {
        "image_id": "ab",
        "image_path": "train/ab.jpg",
        "reference_strs": texts,
        "set_name": "train",
        "is_rejected": False,
    }
    rows = [
        {**row, "caption_id": i, "caption_str": x} for i, x in enumerate(texts)
    ]
    return {"dataset_name": "textcaps", "data": rows}


def test_rows_of_json_are_read_by_their_names(write):
    split = load_captions(write(textcaps()))
    assert split.references() == {"ab": ["A bus", "A red bus"]}
    assert split.splits == ["train"] and split.filenames == ["train/ab.jpg"]
    rows = [{"image": "val2014/1.jpg", "caption": ["A bus", "A red bus"]}]
    assert load_captions(write(rows)).captions == [["A bus", "A red bus"]]
