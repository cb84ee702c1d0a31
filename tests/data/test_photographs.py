import errno
import os
from unittest import mock

import numpy as np
import pytest
from PIL import Image

from tfcap.data import Photographs
from tfcap.data import image_files
from tfcap.data import read_image
from tfcap.data.photographs import find_images

RED, BLUE = (250, 10, 10), (10, 10, 250)


@pytest.fixture
def folder(tmp_path):
    """Two photographs, of which one lies in a folder within."""
    folder = tmp_path / "photographs"
    (folder / "inner").mkdir(parents=True)
    Image.new("RGB", (900, 300), RED).save(folder / "a b.jpg")
    Image.new("L", (8, 4), 60).save(folder / "inner" / "small.png")
    return folder


def test_photographs_are_found_by_names_and_made_small(folder):
    images = Photographs(folder, ["a b.jpg", "val/small.png"], size=90)
    assert images.filenames == ["a b.jpg", "val/small.png"]
    assert images.missing == []
    first, small = images(0), images(1)
    assert first.shape == (30, 90, 3) and first.dtype == np.uint8
    np.testing.assert_allclose(first[15, 40], RED, atol=6)
    assert small.shape == (4, 8, 3) and (small == 60).all()
    deep = np.array([[0, 257 * 60, 65535]], np.uint16)
    Image.fromarray(deep).save(folder / "deep.png")
    deep = Photographs(folder, ["deep.png"])(0)
    assert deep[0, :, 1].tolist() == [0, 60, 255]


def test_what_is_missing_or_damaged_is_named(folder):
    (folder / "inner" / "a b.jpg").touch()
    (folder / "bad.jpg").write_bytes(b"\xff\xd8\xff damaged")
    names = ["a b.jpg", "other/a b.jpg", "gone.jpg", "", "bad.jpg"]
    with pytest.warns(UserWarning, match="lacks 3 of 5 .*gone.jpg, row 3"):
        images = Photographs(folder, names)
    # One by its whole path; of the last part there are two.
    assert images.missing == ["other/a b.jpg", "gone.jpg", "row 3"]
    assert images(0) is not None and images(2) is None
    with pytest.warns(UserWarning, match="bad.jpg' cannot be read"):
        assert images(4) is None
    assert Photographs(None, names)(0) is None
    with pytest.raises(ValueError, match="has none of 1 .gone.jpg"):
        Photographs(folder, ["gone.jpg"])
    with pytest.raises(FileNotFoundError, match="none"):
        Photographs(folder / "none", names)


@pytest.mark.parametrize(
    "files, names, found",
    [
        (["a/1.jpg"], ["a/1.jpg", "b/1.jpg"], ["a/1.jpg", None]),
        (["1.jpg"], ["a/1.jpg", "b/1.jpg"], [None, None]),
        (["1.jpg"], ["a/1.jpg", "a/1.jpg"], ["1.jpg"] * 2),
        # Those of COCO and Flickr, with and without folders.
        (["val/1.jpg", "train/2.jpg"], ["1.jpg", "2.jpg"], None),
        (["images/1.jpg", "images/2.jpg"], ["val/1.jpg", "val/2.jpg"], None),
    ],
)
def test_a_file_is_the_photograph_of_one_name(files, names, found):
    files = dict(zip(files, files))
    assert find_images(files, names) == (found or [*files])


def test_a_folder_that_cannot_be_read_is_no_empty_one(folder, monkeypatch):
    denied = PermissionError(errno.EACCES, "Permission denied", "inner")
    scan = mock.Mock(side_effect=[os.scandir(folder), denied])
    monkeypatch.setattr(os, "scandir", scan)
    with pytest.raises(PermissionError, match="inner"):
        image_files(folder)


def test_other_files_are_told_of_where_that_is_asked_for(folder, capsys):
    for name in ("c.JFIF", "d.avif", "notes.txt", ".hidden", "inner/e.heic"):
        (folder / name).touch()
    found = image_files(folder, tell=True)
    assert [*found] == ["a b.jpg", "c.JFIF", "d.avif", "inner/small.png"]
    told = capsys.readouterr().err
    assert "2 of 6 files in" in told and "inner/e.heic, notes.txt." in told
    image_files(folder)
    assert not capsys.readouterr().err


def test_no_name_leads_out_of_the_folder(folder):
    secret = folder.parent / "secret.jpg"
    Image.new("RGB", (4, 4), BLUE).save(secret)
    os.symlink(folder / "a b.jpg", folder / "own.jpg")
    os.symlink(folder.parent, folder / "above")
    names = ["../secret.jpg", str(secret), "above/secret.jpg"]
    names += ["inner/../../secret.jpg", "own.jpg"]
    with pytest.warns(UserWarning, match="lacks 4 of 5"):
        images = Photographs(folder, names)
    shown = [images(row) is not None for row in range(5)]
    assert shown == [False] * 4 + [True]


def test_photographs_stand_upright(tmp_path):
    held = Image.new("RGB", (40, 20), RED)
    held.paste(BLUE, (0, 0, 20, 20))
    note = held.getexif()
    note[0x0112] = 6  # Turned by a quarter: the left is the top.
    held.save(tmp_path / "a.jpg", exif=note)
    shown = Photographs(tmp_path, ["a.jpg"])(0)
    read = read_image(tmp_path / "a.jpg", (40, 20))
    for pixels in (shown, read):
        assert pixels.shape == (40, 20, 3)
        np.testing.assert_allclose(pixels[5, 10], BLUE, atol=20)
        np.testing.assert_allclose(pixels[35, 10], RED, atol=20)


def test_what_systems_keep_beside_photographs_is_left_out(tmp_path, capsys):
    hidden = "._a.jpg .a.jpg __MACOSX/._a.jpg .DS_Store in/._b.png "
    hidden += ".ipynb_checkpoints/a-checkpoint.jpg in/.AppleDouble/a.jpg"
    shown = ["@home.jpg", "a.jpg", "in/b.png"]
    for name in (*hidden.split(), *shown):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert [*image_files(tmp_path, tell=True)] == shown
    assert capsys.readouterr().err == ""
    assert Photographs(tmp_path, ["in/b.png", "set/a.jpg"]).missing == []


def test_an_image_that_cannot_be_read_is_named_when_it_is_read(tmp_path):
    (tmp_path / "empty.jpg").touch()
    (tmp_path / "folder.jpg").mkdir()
    (tmp_path / "broken.jpg").symlink_to(tmp_path / "gone.jpg")
    (tmp_path / "looped.jpg").symlink_to(tmp_path / "looped.jpg")
    found = [*image_files(tmp_path)]
    assert found == ["broken.jpg", "empty.jpg", "looped.jpg"]
    for name in (*found, "folder.jpg"):
        with pytest.raises((ValueError, OSError), match=name):
            read_image(tmp_path / name, (8, 8))
