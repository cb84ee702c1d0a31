"""What decoding left in captions is seen, and nothing else is."""

import time

import pytest

from tests.text.golden_captions import GOLDEN
from tfcap.text import evaluate_captions
from tfcap.text.caption_remarks import caption_remarks

CAPTIONS = [
    "a cat on a mat",
    "two dogs run in the park",
    "the bus is red",
    "people eat",
]
MARKERS = "have markers"
AFTER = "go on after an end marker"
PIECES = "have marks of pieces of words"
#: How a caption is written, what is said of it, and what is shown.
KINDS = [
    ("<start> {} <end>", MARKERS, "<start>"),
    ("<s>{}</s>", MARKERS, "</s>"),
    ("<SOS> {} <EOS>", MARKERS, "<EOS>"),
    ("startseq {} endseq", MARKERS, "endseq"),
    ("[CLS] {} [SEP]", MARKERS, "[SEP]"),
    ("[start] {} [end] [PAD] [PAD]", MARKERS, "[PAD]"),
    ("<|startoftext|>{}<|endoftext|>", MARKERS, "<|startoftext|>"),
    ("<|im_start|>{}<|im_end|>", MARKERS, "<|im_end|>"),
    ("a <unk> {}", MARKERS, "<unk>"),
    ("xxbos {} xxeos", MARKERS, "xxbos"),
    ("_START_ {} _END_", MARKERS, "_END_"),
    ("__start__ {} __end__", MARKERS, "__end__"),
    ("##START## {} #END#", MARKERS, "#END#"),
    ("{} < end >", MARKERS, "< end >"),
    ("<START> {} </END>", MARKERS, "</END>"),
    ("{}<end_of_turn>", MARKERS, "<end_of_turn>"),
    ("{}<\uff5cend\u2581of\u2581sentence\uff5c>", MARKERS, "<\uff5cend"),
    ("{} \u2047", MARKERS, "\u2047"),
    ("{} <end> the the", AFTER, "the the"),
    ("{} </s> <pad> again", AFTER, "again"),
    ("<|endoftext|>{}<|endoftext|>{}", AFTER, "a cat on a mat"),
    ("{} play ##ing", PIECES, "##ing"),
    ("\u2581the\u2581dog {}", PIECES, "\u2581the"),
    ("{} the\u0120dog", PIECES, "\u0120dog"),
    ("\u0120the \u0120dog {}", PIECES, "\u0120the"),
    ("{} play@@ ing", PIECES, "@@"),
    ("{}</w>", PIECES, "</w>"),
    ("{} five @-@ day", PIECES, "@-@"),
]


def remarks(captions, references):
    return evaluate_captions(captions, references, ["bleu"]).remarks


@pytest.mark.parametrize("written, told, shown", KINDS)
def test_what_is_left_in_results_references_or_both_is_told(
    written, told, shown
):
    odd = [written.replace("{}", caption) for caption in CAPTIONS]
    groups = [[caption, f"{caption} now"] for caption in CAPTIONS]
    odd_groups = [[written.replace("{}", x) for x in row] for row in groups]
    report = evaluate_captions(odd, groups, ["bleu"])
    (seen,) = (text for text in report.remarks if told in text)
    assert seen.startswith("4 of 4 results") and shown in seen
    assert seen in report.table()
    assert seen in report.to_dict([1, 2, 3, 4], odd)["remarks"]
    (seen,) = (x for x in remarks(CAPTIONS, odd_groups) if told in x)
    assert seen.startswith("8 of 8 references")
    (seen,) = (text for text in remarks(odd, odd_groups) if told in text)
    assert seen.startswith("4 of 4 results and 8 of 8 references")


def test_scores_are_those_of_the_words_that_are_there():
    odd = [f"<start> {caption} <end>" for caption in CAPTIONS]
    groups = [[caption] for caption in CAPTIONS]
    report = evaluate_captions(odd, groups, ["bleu"])
    assert report.scores["bleu_1"].corpus == pytest.approx(17 / 25)


@pytest.mark.parametrize(
    "captions, references",
    [
        (CAPTIONS, [[caption] for caption in CAPTIONS]),
        (["there is a cat", "there is a bus"], [["a cat"], ["a bus"]]),
        (CAPTIONS, [[f"{caption} ."] for caption in CAPTIONS]),
        (["[stop sign] 5 5", "# 1", "[1] a [2]"], [["a"], ["b"], ["c"]]),
        (["5", "a 5 10", "it's b'c", "\u0120or\u0121"], [["a"]] * 4),
        (["the end", "a start", "<b>a</b>", "a mask"], [["a"]] * 4),
    ],
)
def test_of_ordinary_captions_nothing_is_told(captions, references):
    assert remarks(captions, references) == ()


def test_of_tricky_captions_the_unknown_word_alone_is_told():
    (told,) = remarks([*GOLDEN], [[caption] for caption in GOLDEN])
    assert "have markers (<unk>)" in told


def test_a_pathological_caption_takes_linear_time():
    pieces = ["a", "_", "[", "<", "a.", "[1 ", "<end> ", "b'", "1 ", "\u0120"]
    for piece in (*pieces, "<|", "<|a", "< ", "#", "_end_"):
        start = time.process_time()
        caption_remarks([piece * 20_000], [["a"]])
        assert time.process_time() - start < 2.0
