from reproduce.world.formats import write_tgif
from tfcap.data import load_tgif_captions

SPLITS = {
    "train": (["video_1", "video_2"], [["a ball grows", "it é"], ["a, b"]]),
    "val": (["video_3"], [["a star, nothing moves"]]),
}


def test_what_is_written_is_read_again(tmp_path):
    write_tgif(tmp_path, SPLITS)
    for split, (names, captions) in SPLITS.items():
        found = load_tgif_captions(tmp_path / "tgif-v1.0.tsv", split)
        assert found.image_ids == names and found.splits[0] == split
        assert found.captions == [[f"{c}." for c in row] for row in captions]


def test_the_layout_is_that_of_the_release(tmp_path):
    write_tgif(tmp_path, SPLITS)
    lines = (tmp_path / "tgif-v1.0.tsv").read_text("utf-8").splitlines()
    url = "https://tfcap.invalid/clips/video_1.gif"
    assert lines[0] == f"{url}\ta ball grows." and len(lines) == 4
    urls = (tmp_path / "splits" / "train.txt").read_text().splitlines()
    assert urls[0] == url and len(urls) == 2
