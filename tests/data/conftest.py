import json

import numpy as np
import pytest

OPTIONS = 7

QUESTIONS = ["is it sunny", "how many dogs?", "what color is it", "any people?"]
ANSWERS = [
    *("yes", "no", "2", "it is brown and white", "i can't tell", "yes it is"),
    *("Yes", "maybe", "red", "it is a very old boat on the shore of the lake"),
]


def make_content(dialogs=6, rounds=4, version="1.0", split="train"):
    """A file in the published layout, as Python objects."""
    rng = np.random.default_rng(0)
    made = []
    for d in range(dialogs):
        turns = []
        for _ in range(rounds):
            options = rng.permutation(len(ANSWERS))[:OPTIONS].tolist()
            gt = int(rng.integers(OPTIONS))
            turns.append(
                {
                    "question": int(rng.integers(len(QUESTIONS))),
                    "answer": options[gt],
                    "answer_options": options,
                    "gt_index": gt,
                }
            )
        caption = f"a dog number {d} by the lake"
        made.append({"image_id": 100 + d, "caption": caption, "dialog": turns})
    return {
        "version": version,
        "split": split,
        "data": {
            "questions": list(QUESTIONS),
            "answers": list(ANSWERS),
            "dialogs": made,
        },
    }


@pytest.fixture
def write(tmp_path):
    """Function that writes bytes, text or JSON, and gives the path."""

    def write(content, name="file.json"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            text = content if isinstance(content, str) else json.dumps(content)
            path.write_bytes(text.encode())
        return path

    return write


@pytest.fixture
def visdial(write):
    """A split of six dialogs of four rounds."""
    from tfcap.data import load_visdial

    return load_visdial(write(make_content()))


@pytest.fixture
def encoded(write):
    """Eleven tiny dialogs in word ids, the last of them shortened."""
    from tfcap.data import EncodedDialogs
    from tfcap.data import build_vocabulary
    from tfcap.data import load_visdial

    content = make_content(dialogs=11, split="test")
    content["data"]["dialogs"][-1]["dialog"] = [
        {"question": 0, "answer": 1},
        {"question": 1},
    ]
    split = load_visdial(write(content))
    return EncodedDialogs.from_split(split, build_vocabulary(split, 1))


@pytest.fixture
def real_visdial(shared_data):
    """The real dialogs that a developer may have beside the checkout."""
    path = shared_data / "visdial" / "visdial_1.0_val_rebuilt.json.gz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return path
