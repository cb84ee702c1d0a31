import gzip
import os
import threading

import pytest

from tfcap.data import CaptionSplit
from tfcap.data import read_image_ids


def test_a_text_has_one_image_a_line(write):
    digits = "9" * 5000
    text = "\ufeff391895\r\n\r\n  COCO_42.jpg \r\n000000000009\n" + digits
    wanted = [391895, "COCO_42.jpg", "000000000009", digits]
    assert read_image_ids(write(text, "list.txt")) == wanted


def test_numbers_with_zeros_are_names_first(write):
    lines = read_image_ids(write("0001\n0002\n"))
    names = ["0001.jpg", "0002.jpg", "0003.jpg"]
    texts = [["a"], ["b"], ["c"]]
    split = CaptionSplit([10, 1, 2], texts, names, [""] * 3)
    assert split.select(lines).filenames == names[:2]
    split = CaptionSplit(["0002", "x", "0001"], texts, names, [""] * 3)
    assert split.select(lines).image_ids == ["0001", "0002"]
    # As the numbers in the names of COCO's files.
    split = CaptionSplit([2, 1, 3], texts, ["", "", ""], [""] * 3)
    assert split.select(lines).image_ids == [1, 2]
    with pytest.raises(ValueError, match="1 images more than once"):
        split.select(["1", "01"])
    with pytest.raises(ValueError, match="1 of them of no image"):
        split.select(["9" * 5000])


def test_a_list_in_json_is_taken_as_it_is(write):
    images = [7, "val2014/7.jpg", "8"]
    assert read_image_ids(write(images)) == images
    assert read_image_ids(write(gzip.compress(b" [1, 2]"))) == [1, 2]


@pytest.mark.parametrize(
    "text, told",
    [
        ("", "there is no image"),
        ("[]", "there is no image"),
        ('{"train": [1]}', "the content is no list"),
        ("[1, 2", "cut off or damaged"),
        ("[1, null, 2.5]", "entry 1 None is no integer or text"),
        ('[1, ""]', "entry 1 '' is no integer or text"),
        ("7\n8\n7\n8\n", "line 3 7 is .* there already"),
        (b"7\n8\xff\n", "line 2 the text is not UTF-8"),
        (gzip.compress(b"7\n8\n" * 99, mtime=0)[:-9], "cut off or damaged"),
    ],
)
def test_what_is_wrong_with_a_list_is_named(write, text, told):
    path = write(text)
    with pytest.raises(ValueError, match=told) as caught:
        read_image_ids(path)
    assert str(path) in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_list_is_read_from_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writing = threading.Thread(target=pipe.write_text, args=("7\n8\n",))
    writing.start()
    assert read_image_ids(pipe) == [7, 8]
    writing.join()
