import json

import pytest

from tests.data.conftest import make_content
from tfcap.data import Question
from tfcap.data import load_visdial

LINE = {
    "image": 7,
    "question": "Red?",
    "options": ["yes", "no"],
    "answer": "no",
}


def written(path, *lines):
    texts = [x if isinstance(x, str) else json.dumps(x) for x in lines]
    path.write_text("\n".join(texts))
    return path


def test_questions_come_in_the_order_of_the_images(tmp_path):
    other = {**LINE, "image": "a.jpg", "kind": "color", "answer": "yes"}
    path = written(tmp_path / "q.jsonl", LINE, "", other, {**LINE, "image": 9})
    red = Question("Red?", ("yes", "no"), 1)
    yes = red._replace(answer=0, kind="color")
    assert Question.load(path, ["a.jpg", 8, 7]) == [[yes], [], [red]]


@pytest.mark.parametrize(
    "line, problem",
    [
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        ({"image": 7}, "cannot be read.*question"),
        ({**LINE, "options": ["no"]}, "option is missing"),
        ({**LINE, "options": "no"}, "option is missing"),
        ({**LINE, "options": [1, "no"]}, "option is missing"),
        ({**LINE, "answer": "maybe"}, "'maybe' is no single option"),
        ({**LINE, "options": ["no", "no"]}, "'no' is no single option"),
    ],
)
def test_malformed_lines_are_named(tmp_path, line, problem):
    path = written(tmp_path / "q.jsonl", LINE, line)
    with pytest.raises(ValueError, match=f"q.jsonl.*line 2.*{problem}"):
        Question.load(path, [7])


def test_a_file_about_other_images_is_refused(tmp_path):
    path = written(tmp_path / "q.jsonl", LINE)
    with pytest.raises(ValueError, match="none of the images"):
        Question.load(path, [8])


def test_dialogs_ask_their_questions(write):
    content = make_content()
    texts = content["data"]
    texts["questions"][:3] = "is it red", "What color is it?", "how many ?"
    said = texts["dialogs"][2]["dialog"][1]
    said["question"] = 1
    split = load_visdial(write(content))
    asked = split.multiple_choice()
    counts = (split.gt_index >= 0).sum(axis=1).tolist()
    assert [len(each) for each in asked] == counts
    question = asked[2][1]
    options = [texts["answers"][i] for i in said["answer_options"]]
    assert question.text == "What color is it?"
    assert question.kind == "what_color"
    assert question.options == tuple(dict.fromkeys(options))
    assert question.options[question.answer] == texts["answers"][said["answer"]]
    kinds = {q.kind for each in asked for q in each if q.text == "is it red"}
    assert kinds <= {"is"}
