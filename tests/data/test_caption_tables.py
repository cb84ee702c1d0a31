"""Tables of captions: those of Flickr, TGIF, Kaggle and Hugging Face."""

import gzip
import warnings

import pytest

from tfcap.data import load_captions
from tfcap.data import read_image_ids

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


def text(*lines):
    return "".join(f"{line}\n" for line in lines)


@pytest.fixture
def published(write):
    """The captions, with Flickr8k's own lists beside them."""
    for split, names in {"train": [C, A], "val": [B], "test": [D]}.items():
        write(text(*names), f"Flickr_8k.{OWN[split]}.txt")
    return write(text(*LINES), "Flickr8k.token.txt")


def test_captions_go_to_their_photos_in_the_order_of_the_file(write):
    windows = "\ufeff" + text(LINES[0], "", *LINES[1:]).replace("\n", "\r\n")
    for path in (
        write(text(*LINES)),
        write(windows, "windows.txt"),
        write(gzip.compress(windows.encode()), "packed.token.gz"),
    ):
        split = load_captions(path)
        numbers = [1000268201, 1001773457, 1002674143, 1003163366]
        assert split.image_ids == numbers and split.filenames == [A, B, C, D]
        assert split.captions == [
            [LINES[0].split("\t")[1], LINES[1].split("\t")[1]],
            ["A black dog and a spotted dog are fighting"],
            ["A girl\u2028with #1\tpaint .", "Café ."],
            ["A man lays on a bench ."],
        ]
        assert split.splits == [""] * 4 and split.tokens is None
        assert split.source == str(path)


def test_the_lists_of_flickr8k_are_found_beside_the_captions(published, write):
    train = load_captions(published, "train")
    assert train.filenames == [A, C] and train.splits == ["train"] * 2
    both = load_captions(str(published), ["test", "train"])
    assert both.filenames == [A, C, D]
    assert both.splits == ["train", "train", "test"]
    assert both.captions[2] == ["A man lays on a bench ."]
    assert len(load_captions(published)) == 4
    path = write("1003163366\n1002674143_1b742ab4b8\n", "mine.txt")
    some = load_captions(published).select(read_image_ids(path))
    assert some.filenames == [D, C]
    with pytest.raises(ValueError, match=r"'train' \(2\), 'val' \(1\)"):
        load_captions(published, "dev")


@pytest.mark.parametrize(
    "name, images, told",
    [
        ("test", [A, D, C], f"'{A}' is in another split, too"),
        ("train", [A, "999.jpg"], r"of several \(999.jpg\)"),
    ],
)
def test_lists_that_do_not_fit_are_told(published, write, name, images, told):
    path = write(text(*images), f"Flickr_8k.{OWN[name]}.txt")
    with pytest.raises(ValueError, match=told) as caught:
        load_captions(published, "val")
    assert path.name in str(caught.value)


def test_without_lists_there_is_no_split(write):
    told = "`split` must be left out.*trainImages.*`select"
    with pytest.raises(ValueError, match=told):
        load_captions(write(text(*LINES)), "train")


@pytest.mark.parametrize(
    "lines, told",
    [
        ([], "damaged .Expecting value"),
        (["image,caption"], "there is no caption of an image. Give"),
        (["image,caption", A], "line 2 there are not the columns image, capt"),
        (["image,caption", f"{A},"], "line 2 `caption` is empty"),
        (["image,caption", ",A child ."], "line 2 `image` is '' and not an in"),
        ([A, B], "no table of images and captions in the first line"),
        ([*LINES, f"{A}\tA child ."], "line 8 there is no image with a number"),
        ([f"{A}\tA .", f"{A}#1\tB ."], "line 1 there is no image with a num"),
        (["image,raw", f"{A},\"['a']\""], "line 2 .* Write lists as JSON"),
        ([f"image,caption\r{A},A child ."], "no table of images and captions"),
        (["image,raw", f'{A},"[""a"", 2]"'], "line 2 `raw` is 2 and not text"),
        (["image,caption,split", "a,A,x", "a,B,y"], "line 3 the image 'a' is"),
        (["image,image_id,caption", "a,1,A", "b,1,B"], "line 3 the image 1 is"),
        (["image,caption,split", "a,A,x", "b,B,"], "'b' the split is missing"),
        (["url,text", "a,A", "http://x/1.jpg,B"], "'a' has no URL, as others"),
        ([*LINES, "1003163366_a1.jpg#0\tA man ."], "under two names"),
    ],
)
def test_what_is_wrong_with_the_lines_is_named(write, lines, told):
    path = write(text(*lines))
    with pytest.raises(ValueError, match=told) as caught:
        load_captions(path)
    assert str(path) in str(caught.value)


def test_empty_captions_may_be_left_out_and_are_counted(write):
    lines = [*LINES, f"{A}#2\t ", "77.jpg#0\t", f"{A}#3\tA ."]
    split = load_captions(write(text(*lines)), skip_empty=True)
    assert split.filenames == [A, B, C, D] and split.captions[0][2:] == ["A ."]
    assert split.skipped_captions == 2 and split.skipped_images == (77,)


def test_a_number_of_thousands_of_digits_is_a_name(write):
    split = load_captions(write(f"{'9' * 5000}_ab.jpg#0\tA dog .\n"))
    assert split.image_ids == [f"{'9' * 5000}_ab.jpg"]


def test_a_file_that_is_no_text_is_told(write):
    content = text(*LINES).encode() + b"\xff\xfe\n"
    with pytest.raises(ValueError, match="line 8 the text is not UTF-8"):
        load_captions(write(content))


TABLES = {
    # Kaggle's Flickr8k.
    'image,caption\r\na.jpg,A cat\r\na.jpg,"Cats, ""big"""\r\nb.jpg,B': (
        {"a.jpg": ["A cat", 'Cats, "big"'], "b.jpg": ["B"]}
    ),
    '\ufeffimage,caption\na.jpg,A cat , a dog\na.jpg,"Oh" says , he': {
        "a.jpg": ["A cat , a dog", '"Oh" says , he']
    },
    # Kaggle's Flickr30k, with the row that lacks a separator.
    'image_name| comment_number| comment\n1.jpg| 0| Two | "men" .\n'
    "1.jpg| 1   A dog runs .": {1: ['Two | "men" .', "A dog runs ."]},
    "1.jpg| 0| A man .\n2.jpg| 0| A dog .": {1: ["A man ."], 2: ["A dog ."]},
    # Hugging Face's Flickr30k.
    'raw,sentids,filename,img_id\n"[""A, b"", ""C \\""d\\""""]",[0],1.jpg,0': {
        0: ["A, b", 'C "d"']
    },
    "file_name,caption_0,caption_1\na,A,B\nb,C,": {"a": ["A", "B"], "b": ["C"]},
    ",image,caption\n0,a.jpg,A\n1,b.jpg,B": {"a.jpg": ["A"], "b.jpg": ["B"]},
    'file_name,text\na,"A cat\nsits"\nb,C': {"a": ["A cat\nsits"], "b": ["C"]},
    "Image;Caption\na.jpg;A cat, red": {"a.jpg": ["A cat, red"]},
    '"image", "caption"\na, "A, red"\nb, B, C': {
        "a": ["A, red"],
        "b": ["B, C"],
    },
    'image\tcaption\na.jpg\t"A ""T"""': {"a.jpg": ['A "T"']},
    "image,caption\na.jpg#0,A\na.jpg#1,B": {"a.jpg": ["A", "B"]},
    'a.jpg\tA cat\nb.png\t"A dog': {"a.jpg": ["A cat"], "b.png": ['"A dog']},
    "a.jpg,A cat , red\nb.png,B": {"a.jpg": ["A cat , red"], "b.png": ["B"]},
    "cat.jpg#0\tA cat .": {"cat.jpg": ["A cat ."]},
    # Conceptual Captions.
    "a cat, a dog\thttp://x.com/a?b=1.jpg\nb\thttp://y.com/c.png": {
        "http://x.com/a?b=1.jpg": ["a cat, a dog"],
        "http://y.com/c.png": ["b"],
    },
    "url,text\nhttp://x.com/1.jpg,A": {"http://x.com/1.jpg": ["A"]},
    # As open_clip wants them by default.
    "filepath\ttitle\na.jpg\tA": {"a.jpg": ["A"]},
    "Image Name,Caption 1,Caption 2\na.jpg,A,B": {"a.jpg": ["A", "B"]},
    "ImageID,Caption\nx1,A": {"x1": ["A"]},
    '"a.jpg","A cat, red"\n"b.png","B ""b"""': {
        "a.jpg": ["A cat, red"],
        "b.png": ['B "b"'],
    },
    '"a.jpg"\t"A cat"\n"b.png"\t"B"': {"a.jpg": ["A cat"], "b.png": ["B"]},
    "x1\tA cat\nx2\tB": {"x1": ["A cat"], "x2": ["B"]},
}


@pytest.mark.parametrize("table", TABLES)
def test_tables_are_read_by_their_columns(write, table):
    for encoding in ("utf-8", "utf-16"):
        content = f"{table}\n".removeprefix("\ufeff").encode(encoding)
        with warnings.catch_warnings(action="error"):
            found = load_captions(write(content, "captions.txt"))
        assert found.references() == TABLES[table]


def test_a_column_of_splits_is_one_as_in_karpathys_files(write):
    path = write("image,caption,split\na,A,train\nb,B,test\nc,C,test\n")
    assert load_captions(path, "test").image_ids == ["b", "c"]
    with pytest.raises(ValueError, match=r"'train' \(1\), 'test' \(2\)"):
        load_captions(path)
    images = read_image_ids(write("c\na\n", "mine.txt"))
    assert load_captions(path, "all").select(images).image_ids == ["c", "a"]


GIFS = [
    "tumblr_mevmyaKtDf1rgvhr8o1_500",
    "tumblr_mdlv9v6hE91qanrf2o1_r11_50",
    "tumblr_nok4eeONTv1s2yegdo1_400",
]
U, V, W = (
    f"https://{folder}/{name}.gif"
    for name, folder in zip(
        GIFS,
        (
            "38.media.tumblr.com/9f6c25cc350f12aa74a7dc386a5c4985",
            "31.media.tumblr.com/9ead028ef62004ef6ac2b92e52edd210",
            "33.media.tumblr.com",
        ),
    )
)
TGIF = [
    "",
    f"{U}\ta man is glaring, and someone with sunglasses appears.",
    f"{V}\ta cat tries to catch a mouse on a tablet",
    f"{W}\tA man and a\u2028woman\ttalk",
    f"{V}\tthe cat plays",
    f"{V}\tthe cat plays",
]


def test_descriptions_go_to_their_gifs_and_splits(write):
    path = write(text(*TGIF), "tgif-v1.0.tsv")
    for split, url in {"train": U, "val": W, "test": V}.items():
        write(text(url), f"splits/{split}.txt")
    split = load_captions(path)
    assert split.image_ids == GIFS and split.filenames == [U, V, W]
    assert split.captions == [
        ["a man is glaring, and someone with sunglasses appears."],
        ["a cat tries to catch a mouse on a tablet", *["the cat plays"] * 2],
        ["A man and a\u2028woman\ttalk"],
    ]
    test = load_captions(path, "test")
    assert test.image_ids == GIFS[1:2] and test.splits == ["test"]
    both = load_captions(str(path), "train+val")
    assert both.filenames == [U, W] and both.splits == ["train", "val"]
    images = read_image_ids(write(text(GIFS[2], GIFS[0] + ".gif"), "mine.txt"))
    assert split.select(images).image_ids == [GIFS[2], GIFS[0]]
    lists = write(text(U, "https://31.media.x/x.gif"), "splits/train.txt")
    with pytest.raises(ValueError, match="of no image.*x.gif") as caught:
        load_captions(path, "val")
    assert f"`{lists}` must name" in str(caught.value)
    path = write(text(*TGIF, W.replace("//33", "//38") + "\ta man"))
    with pytest.raises(ValueError, match="1_400' is there under two names"):
        load_captions(path)
