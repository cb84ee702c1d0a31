import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

from tensorboard_plugin_tfcap.html_page import picture
from tensorboard_plugin_tfcap.html_page import write_html


def pixels(tag):
    """The image that a tag holds."""
    data = re.search(
        r'src="data:image/(?:png|jpeg);base64,([^"]+)"', tag
    ).group(1)
    return np.array(Image.open(io.BytesIO(base64.b64decode(data))))


@pytest.mark.parametrize("shape", [(8, 6, 3), (8, 6)])
def test_pixels_are_in_the_tag(shape):
    image = np.random.default_rng(0).integers(0, 256, shape, "uint8")
    np.testing.assert_array_equal(pixels(picture(image, "")), image)


def test_small_pictures_are_drawn_crisply_and_large_ones_made_smaller():
    assert 'class="small"' in picture(np.zeros((9, 64, 3), "uint8"), "")
    large = picture(np.zeros((100, 960, 3), "uint8"), "")
    assert "small" not in large
    assert pixels(large).shape == (50, 480, 3)
    assert picture(None, "a dog") == ""


def test_all_but_the_body_is_escaped(tmp_path):
    path = tmp_path / "page.html"
    lines = ["1 < 2", "\u2713"]
    write_html(path, "<b>", lines, ["<i>body</i>"], "p { color: red }")
    text = path.read_text(encoding="utf-8")
    assert "<title>&lt;b&gt;</title>" in text and "<b>" not in text
    assert "<p>1 &lt; 2</p>\n<p>\u2713</p>" in text
    assert "<i>body</i>" in text
    assert "p { color: red }</style>" in text
    tag = picture(np.zeros((1, 1, 3), "uint8"), 'a "dog"')
    assert 'alt="a &quot;dog&quot;"' in tag
    # Nothing is loaded from elsewhere.
    assert not re.search(r"https?:|<script|<link|@import|url\(", text)
