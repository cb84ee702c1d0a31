import gzip

import pytest

from tfcap.data import load_flickr_captions

A, B, C, D = (
    "1000268201_693b08cb0e.jpg",
    "1001773457_577c3a7d70.jpg",
    "1002674143_1b742ab4b8.jpg",
    "1003163366.jpg",
)
LINES = [
    f"{A}#0\tA child in a pink dress .",
    f"{A}#1\tA girl going into a wooden building .",
    f"{B}#0\tA black dog and a spotted dog are fighting",
    f"{C}#0\tA girl\u2028with #1\tpaint .",
    "2258277193_586949ec62.jpg.1#0\tpeople waiting for the subway",
    f"{C}#1\tCafé .",
    f"{D}#0\tA man lays on a bench .",
]
OWN = {"train": "trainImages", "val": "devImages", "test": "testImages"}


@pytest.fixture
def write(tmp_path):
    """Function that writes lines, by default captions, and gives the path."""

    def write(lines=LINES, name="Flickr8k.token.txt", ending="\n"):
        path = tmp_path / name
        text = "".join(line + ending for line in lines)
        path.write_bytes(text.encode())
        return path

    return write


@pytest.fixture
def published(write):
    """The captions, with Flickr8k's own lists beside them."""
    for split, names in {"train": [C, A], "val": [B], "test": [D]}.items():
        write(names, f"Flickr_8k.{OWN[split]}.txt")
    return write()


def test_captions_go_to_their_photos_in_the_order_of_the_file(write):
    split = load_flickr_captions(write())
    assert split.image_ids == [1000268201, 1001773457, 1002674143, 1003163366]
    assert split.filenames == [A, B, C, D]
    assert split.captions == [
        ["A child in a pink dress .", "A girl going into a wooden building ."],
        ["A black dog and a spotted dog are fighting"],
        ["A girl\u2028with #1\tpaint .", "Café ."],
        ["A man lays on a bench ."],
    ]
    assert split.splits == [""] * 4 and split.tokens is None
    assert split.source.endswith("Flickr8k.token.txt")


def test_other_ends_of_line_and_packed_files_read_the_same(write, tmp_path):
    wanted = load_flickr_captions(write()).references()
    lines = ["\ufeff" + LINES[0], "", *LINES[1:]]
    path = write(lines, "windows.txt", ending="\r\n")
    assert load_flickr_captions(path).references() == wanted
    packed = tmp_path / "packed.token.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert load_flickr_captions(packed).references() == wanted


def test_the_lists_of_flickr8k_are_found_beside_the_captions(published):
    train = load_flickr_captions(published, "train")
    assert train.filenames == [A, C] and train.splits == ["train"] * 2
    both = load_flickr_captions(str(published), ["test", "train"])
    assert both.filenames == [A, C, D]
    assert both.splits == ["train", "train", "test"]
    assert both.captions[2] == ["A man lays on a bench ."]
    assert len(load_flickr_captions(published)) == 4


def test_lists_may_be_given_by_name_or_number(published, write):
    lists = {
        "mine": write(["1003163366", "1002674143_1b742ab4b8"], "mine.txt"),
        "rest": write([B], "rest.txt"),
    }
    some = load_flickr_captions(published, "mine", lists)
    assert some.filenames == [C, D] and some.splits == ["mine"] * 2
    only = load_flickr_captions(published, split_files={"x": lists["rest"]})
    assert only.filenames == [B] and only.splits == ["x"]


def test_a_split_must_be_chosen_and_there(published, write):
    with pytest.raises(ValueError, match=r"'train' \(2\), 'val' \(1\)"):
        load_flickr_captions(published, "dev")
    lists = {name: write([image], name) for name, image in (("x", A), ("y", B))}
    with pytest.raises(ValueError, match="`split` must be given"):
        load_flickr_captions(published, split_files=lists)


def test_without_lists_there_is_no_split(write):
    with pytest.raises(ValueError, match="`split_files` must be given.*devIm"):
        load_flickr_captions(write(), "train")


def test_an_image_of_two_splits_is_told(published, write):
    write([A, D, C], "Flickr_8k.testImages.txt")
    told = r"split 'train', too, in 2 places \(1000268201_693b08cb0e.jpg, 10026"
    with pytest.raises(ValueError, match=told) as caught:
        load_flickr_captions(published, "val")
    assert "Flickr_8k.testImages.txt" in str(caught.value)


def test_images_of_a_list_must_have_captions(published, write):
    path = write([A, "999.jpg"], "Flickr_8k.trainImages.txt")
    with pytest.raises(ValueError, match=r"of no image \(999.jpg\)") as caught:
        load_flickr_captions(published, "val")
    assert f"`{path}` must name" in str(caught.value)


@pytest.mark.parametrize(
    "lines, told",
    [
        ([], "there is no caption. Give"),
        (["", "  "], "there is no caption. Give"),
        (["image,caption", f"{A},A child ."], r"2 places \(line 1, line 2\)"),
        ([f"{A}#0 A child ."], r"a tab and a caption in 1 place \(line 1\)"),
        ([f"{A}\tA child ."], r"in 1 place \(line 1\)"),
        ([f"{A}#x\tA child ."], r"in 1 place \(line 1\)"),
        (["#0\tA child ."], r"in 1 place \(line 1\)"),
        (
            [*LINES, f"{A}#2\t ", f"{A}#3\t"],
            r"empty in 2 places \(line 8, line",
        ),
        ([*LINES, f"{A}#1\tAgain ."], r"numbered .*e.jpg': 0, 1, 1\)"),
        ([f"{A}#0\tA .", f"{A}#2\tB ."], r"numbered .*e.jpg': 0, 2\)"),
        (["cat.jpg#0\tA cat ."], r"no photo of Flickr.*\(image 'cat.jpg'\)"),
        ([f"{A}.1#0\tA child ."], "no photo of Flickr"),
        (
            [*LINES, "1003163366_a1.jpg#0\tA man ."],
            "under two names in 1 place",
        ),
    ],
)
def test_what_is_wrong_with_the_lines_is_named(write, lines, told):
    path = write(lines)
    with pytest.raises(ValueError, match=told) as caught:
        load_flickr_captions(path)
    assert str(path) in str(caught.value)


def test_many_problems_are_told_at_once_with_their_number(write):
    path = write([*LINES, *["no caption"] * 40, f"{A}#2\t"])
    with pytest.raises(ValueError) as caught:
        load_flickr_captions(path)
    told = str(caught.value)
    assert "in 40 places (line 8, line 9" in told and "and 35 more" in told
    assert "empty in 1 place (line 48)" in told


def test_empty_captions_may_be_left_out_and_are_counted(write):
    path = write([*LINES, f"{A}#2\t ", "77.jpg#0\t", f"{A}#3\tA ."])
    split = load_flickr_captions(path, skip_empty=True)
    assert split.filenames == [A, B, C, D] and split.captions[0][2:] == ["A ."]
    assert split.skipped_captions == 2 and split.skipped_images == (77,)


def test_a_file_that_is_no_text_is_told(write):
    path = write()
    path.write_bytes(path.read_bytes() + b"\xff\xfe\n")
    with pytest.raises(ValueError, match="line 8 the text is not UTF-8"):
        load_flickr_captions(path)
