import pytest

from tfcap.data import load_tgif_captions

A, B, C = (
    f"https://{host}.media.tumblr.com/{folder}tumblr_{name}.gif"
    for host, folder, name in (
        (38, "9f6c25cc350f12aa74a7dc386a5c4985/", "mevmyaKtDf1rgvhr8o1_500"),
        (31, "9ead028ef62004ef6ac2b92e52edd210/", "mdlv9v6hE91qanrf2o1_r11_50"),
        (33, "", "nok4eeONTv1s2yegdo1_400"),
    )
)
NAMES = [
    "tumblr_mevmyaKtDf1rgvhr8o1_500",
    "tumblr_mdlv9v6hE91qanrf2o1_r11_50",
    "tumblr_nok4eeONTv1s2yegdo1_400",
]
LINES = [
    f"{A}\ta man is glaring, and someone with sunglasses appears.",
    f"{B}\ta cat tries to catch a mouse on a tablet",
    f"{C}\tA man and a\u2028woman\ttalk",
    f"{B}\tthe cat plays",
    f"{B}\tthe cat plays",
]


@pytest.fixture
def write(tmp_path):
    """Function that writes lines, by default captions, and gives the path."""

    def write(lines=LINES, name="tgif-v1.0.tsv"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes("".join(line + "\n" for line in lines).encode())
        return path

    return write


@pytest.fixture
def published(write):
    """The captions, with the release's own lists beside them."""
    for split, urls in {"train": [A], "val": [C], "test": [B]}.items():
        write(urls, f"splits/{split}.txt")
    return write()


def test_captions_go_to_their_gifs_in_the_order_of_the_file(write):
    split = load_tgif_captions(write(["", *LINES]))
    assert split.image_ids == NAMES
    assert split.filenames == [A, B, C]
    assert split.captions == [
        ["a man is glaring, and someone with sunglasses appears."],
        [LINES[1].split("\t")[1], "the cat plays", "the cat plays"],
        ["A man and a\u2028woman\ttalk"],
    ]
    assert split.splits == [""] * 3 and split.source.endswith(".tsv")


def test_the_lists_of_the_release_are_found_beside_the_captions(published):
    test = load_tgif_captions(published, "test")
    assert test.image_ids == NAMES[1:2] and test.splits == ["test"]
    assert len(test.captions[0]) == 3
    both = load_tgif_captions(str(published), "train+val")
    assert both.filenames == [A, C] and both.splits == ["train", "val"]


def test_lists_may_be_given_by_name(published, write):
    lists = {"mine": write([NAMES[2], NAMES[0] + ".gif"], "mine.txt")}
    mine = load_tgif_captions(published, split_files=lists)
    assert mine.image_ids == [NAMES[0], NAMES[2]]


def test_a_gif_of_a_list_must_have_captions(published, write):
    path = write([A, "https://31.media.tumblr.com/x.gif"], "splits/train.txt")
    with pytest.raises(ValueError, match="of no image.*x.gif") as caught:
        load_tgif_captions(published, "val")
    assert f"`{path}` must name" in str(caught.value)


@pytest.mark.parametrize(
    "lines, told",
    [
        ([], "there is no description. Give"),
        ([A], r"description is empty in 1 place \(line 1\)"),
        ([*LINES, f"{A}\t ", f"{C}\t"], r"empty in 2 places \(line 6, line 7"),
        (["url\tdescription", *LINES], r"no URL.* in 1 place \(line 1\)"),
        ([f"{A} a man"], r"no URL.* \(line 1\)"),
        (["\ta man"], r"no URL.* \(line 1\)"),
        (["https://31.media.tumblr.com/\ta man"], r"no URL.* \(line 1\)"),
        (
            [*LINES, C.replace("//33", "//38") + "\ta man"],
            "two URLs in 1 place .*//33.*//38",
        ),
    ],
)
def test_what_is_wrong_with_the_lines_is_named(write, lines, told):
    path = write(lines)
    with pytest.raises(ValueError, match=told) as caught:
        load_tgif_captions(path)
    assert str(path) in str(caught.value)
