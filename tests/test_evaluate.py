"""The command `python -m tfcap.evaluate`."""

import gzip
import json
import os
import re
import threading
from unittest import mock

import numpy as np
import pytest

from tests.caption_files import coco
from tests.caption_files import results
from tfcap import evaluate
from tfcap.text import bleu
from tfcap.text import cider_d
from tfcap.text import evaluate_captions
from tfcap.text.caption_tokenization import caption_tokenize_batch
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.scores import bcmr

CAPTIONS = {4: "A dog runs.", 9: "Two cats on a mat", 2: "a red bus"}
REFERENCES = {
    9: ["Two cats.", "A cat sits on a mat."],
    4: ["A dog runs!", "The dog is running"],
    2: ["A red bus, parked", "A bus"],
}
PYTHON = ["--metrics", "bleu,rouge_l,cider_d"]


@pytest.fixture(autouse=True)
def without_java(monkeypatch):
    monkeypatch.setenv("PATH", "")


@pytest.fixture
def write(tmp_path):
    """Function that writes content as JSON, and gives the path."""

    def write(name, content):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(content))
        return path

    return write


@pytest.fixture
def files(write):
    """Paths of results and of annotations."""
    return write("results", results(CAPTIONS)), write("coco", coco(REFERENCES))


def run(*arguments):
    return evaluate.main([str(argument) for argument in arguments])


def tokenized():
    captions = [CAPTIONS[i] for i in REFERENCES]
    texts = [caption_tokenize_batch(texts) for texts in REFERENCES.values()]
    return caption_tokenize_batch(captions), texts


def test_the_table_and_the_file_hold_the_scores(
    files, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr("tfcap.text.progress_bar.PATIENCE", 0.0)
    out = tmp_path / "out.json"
    assert run(*files, *PYTHON, "--json", out) == 0
    told = capsys.readouterr()
    wanted = cider_d(*tokenized())
    assert "3 images, 6 references" in told.out
    assert f"CIDEr-D   {wanted.corpus:8.4f}  {wanted.corpus:8.4f}" in told.out
    assert "cider_d" in told.err and "3/3" in told.err
    content = json.loads(out.read_text())
    assert content["corpus"]["cider_d"] == wanted.corpus
    assert content["corpus"]["bleu_4"] == bleu(*tokenized())[3].corpus
    each = content["each"]
    assert [row["image_id"] for row in each] == list(REFERENCES)
    assert [row["caption"] for row in each] == [CAPTIONS[i] for i in REFERENCES]
    assert [row["cider_d"] for row in each] == wanted.each.tolist()
    assert content["absent"] == {}
    assert sorted(os.listdir(tmp_path))[1:] == ["out.json", "results.json"]


def test_a_split_of_karpathy_gives_the_same(files, write, tmp_path, capsys):
    images = [
        {"cocoid": i, "split": "test", "sentences": [{"raw": t} for t in texts]}
        for i, texts in REFERENCES.items()
    ]
    images.append({"cocoid": 1, "split": "val", "sentences": [{"raw": "a"}]})
    outs = []
    for references, more in (
        (files[1], []),
        (write("karpathy", {"images": images}), ["--split", "test"]),
    ):
        out = tmp_path / "out.json"
        more = [*more, *PYTHON, "--quiet", "--json", out]
        assert run(files[0], references, *more) == 0
        outs.append(json.loads(out.read_text()))
    assert outs[0]["each"] == outs[1]["each"]
    assert outs[1]["settings"]["split"] == "test"
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_pipes_are_read_and_written(files, tmp_path, capsys):
    pipes = [tmp_path / name for name in ("results", "references", "out")]
    received = []
    threads = [
        threading.Thread(target=pipe.write_bytes, args=(data,))
        for pipe, data in zip(
            pipes, [gzip.compress(path.read_bytes()) for path in files]
        )
    ]
    threads.append(
        threading.Thread(target=lambda: received.append(pipes[2].read_text()))
    )
    for pipe, thread in zip(pipes, threads):
        os.mkfifo(pipe)
        thread.start()
    assert run(*pipes[:2], *PYTHON, "--quiet", "--json", pipes[2]) == 0
    for thread in threads:
        thread.join(timeout=60)
    wanted = cider_d(*tokenized()).corpus
    assert json.loads(received[0])["corpus"]["cider_d"] == wanted
    assert pipes[2].is_fifo()


def test_what_is_absent_is_named_and_takes_nothing_with_it(
    files, tmp_path, capsys, no_meteor
):
    out = tmp_path / "out.json"
    assert run(*files, "--json", out) == 0
    told = capsys.readouterr().out
    assert "CIDEr-D" in told and "BLEU-4" in told
    for title in "METEOR", "SPICE":
        assert re.search(rf"\n{title} +absent\n", told)
        assert f"{title} is absent: " in told
    assert "SPICE is absent: there is no `java` on the PATH" in told
    absent = json.loads(out.read_text())["absent"]
    assert {"meteor", "spice", "bcmr", "chair"} <= {*absent}
    assert "data/synonyms.txt of https://" in absent["chair"]["hint"]
    assert "'tfcap[coco]'" in absent["meteor"]["hint"]


def test_what_is_asked_for_by_name_and_absent_is_a_failure(
    files, capsys, no_meteor
):
    assert run(*files, "--metrics", "rouge_l,spider,bcmr") == 1
    told = capsys.readouterr().out
    assert "SPIDEr is absent: SPICE, a part of it, is absent" in told
    assert "BCMR is absent: METEOR, a part of it, is absent" in told
    assert "CIDEr-D" in told and "ROUGE-L" in told
    assert run(*files, "--metrics", "all") == 0


def test_parts_that_are_there_make_the_mixtures(monkeypatch):
    some = Scores(0.5, np.array([0.4, 0.6, 0.5]))
    for part in "spice", "meteor":
        monkeypatch.setattr(
            f"tfcap.text.evaluation.{part}", mock.Mock(return_value=some)
        )
    captions = [CAPTIONS[i] for i in REFERENCES]
    asked = captions, [*REFERENCES.values()], ["spider", "bcmr"]
    report = evaluate_captions(*asked)
    found = report.scores
    assert not report.absent and [*found][-2:] == ["spider", "bcmr"]
    assert found["spider"].corpus == (found["cider_d"].corpus + 0.5) / 2
    parts = [found[f"bleu_{k}"] for k in (1, 2, 3, 4)]
    wanted = bcmr(parts, found["cider_d"], some, found["rouge_l"])
    assert found["bcmr"].corpus == pytest.approx(wanted.corpus)


def test_one_image_has_no_document_frequencies(no_meteor):
    report = evaluate_captions(["a cat"], [["a cat"]])
    assert {*report.absent} == {"cider_d", "meteor", "spice"}
    assert "Score several images" in str(report.absent["cider_d"])
    assert report.scores["bleu_1"].corpus == pytest.approx(1)


def test_a_subset_is_scored_on_request(files, write, capsys):
    write("results", results(CAPTIONS)[:2])
    assert run(*files, *PYTHON) == 2
    assert "1 of 3 images have none (2)" in capsys.readouterr().err
    assert run(*files, *PYTHON, "--subset") == 0
    assert "2 images, 4 references" in capsys.readouterr().out


def test_references_without_words_are_left_out_on_request(
    files, write, tmp_path, capsys
):
    out = tmp_path / "out.json"
    write("coco", coco({**REFERENCES, 4: [*REFERENCES[4], " "], 5: [""]}))
    write("results", results({**CAPTIONS, 5: "a"}))
    command = *files, *PYTHON, "--json", out
    assert run(*command) == 2
    assert "`caption` is empty. Remove" in capsys.readouterr().err
    assert run(*command, "--skip-empty") == 0
    told = capsys.readouterr().out
    assert "3 images, 6 references" in told
    assert (
        "Left out as empty, or as marked rejected or precanned: references 2, "
        "images without another 1 (5)." in told
    )
    found = json.loads(out.read_text())
    assert found["skipped"] == {"references": 2, "images": [5]}
    assert found["corpus"]["cider_d"] == cider_d(*tokenized()).corpus


def test_plain_cider_is_told_from_what_papers_report(files, capsys):
    note = "what papers and leaderboards call CIDEr is CIDEr-D"
    assert run(*files, "--metrics", "cider,cider_d") == 0
    assert note in capsys.readouterr().out
    assert run(*files, "--metrics", "cider_d") == 0
    assert note not in capsys.readouterr().out
    with pytest.raises(SystemExit):
        run("--help")
    told = " ".join(capsys.readouterr().out.split())
    assert "Papers and leaderboards report cider_d as CIDEr" in told


def test_captions_without_words_are_scored(files, write, capsys):
    write("results", results({**CAPTIONS, 4: "", 9: "...\u2028"}))
    assert run(*files, *PYTHON) == 2
    assert "`caption` is empty. Give" in capsys.readouterr().err
    assert run(*files, *PYTHON, "--allow-empty") == 0


def test_bad_input_is_told_in_one_sentence(files, write, capsys):
    write("results", [{"image_id": 4}])
    assert run(*files, *PYTHON) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: `") and "Traceback" not in error
    assert f"{files[0]}', where in entry 0, image 4 `caption` is" in error


def test_a_place_that_cannot_be_written_to_is_told_first(files, capsys):
    assert run(*files, *PYTHON, "--json", "/no/folder/out.json") == 2
    assert "`--json` must be a file in a folder" in capsys.readouterr().err
    assert run("/no/results.json", files[1]) == 2
    assert "No such file" in capsys.readouterr().err


def test_names_must_be_those_of_metrics(files):
    assert run(*files, "--metrics", "bertscore") == 2
    with pytest.raises(ValueError, match="must be names of"):
        evaluate_captions(["a"], [["a"]], ["bertscore"])
    with pytest.raises(ValueError, match="same length.*Received: 1 cand"):
        evaluate_captions(["a"], [["a"], ["b"]])


def test_real_captions_score_as_in_pycocoevalcap(shared_data, write, tmp_path):
    # The first caption of each image of Karpathy's test split of COCO against
    # the others, through pycocoevalcap 1.2 and its tokenizer in Java.
    wanted = {
        "bleu_1": 0.636152710398638,
        "bleu_2": 0.440789826313562,
        "bleu_3": 0.297113580335301,
        "bleu_4": 0.199126611865603,
        "rouge_l": 0.473242752473510,
        "cider_d": 0.892807848344240,
    }
    with gzip.open(shared_data / "coco" / "captions.jsonl.gz", "rt") as file:
        images = [*map(json.loads, file)]
    texts = {
        image["id"]: image["captions"]
        for image in images
        if "karpathy_test" in image["sets"]
    }
    first = write("first", results({i: row[0] for i, row in texts.items()}))
    others = write("others", coco({i: row[1:] for i, row in texts.items()}))
    out = tmp_path / "out.json"
    assert run(first, others, *PYTHON, "--quiet", "--json", out) == 0
    corpus = json.loads(out.read_text())["corpus"]
    assert corpus == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(
    ("captions", "references", "name"),
    [
        (["a", None], [["a"], ["b"]], r"captions\[1\]=None"),
        (["a", "b"], [["a"], "b"], r"references\[1\]='b'"),
        (["a", "b"], [["a"], ["b", 3]], r"references\[1\]"),
    ],
)
def test_what_is_no_text_is_refused(captions, references, name):
    with pytest.raises(TypeError, match=name):
        evaluate_captions(captions, references, ["bleu"])


def test_odd_files_of_results_have_the_scores_of_plain_ones(
    files, tmp_path, capsys
):
    odd, out = tmp_path / "odd.gz", tmp_path / "out.json"
    entries = [
        {
            "image_id": f"photo_{i}",
            "caption": text.replace(" ", " \u2028\U0001f600\t"),
            **{"id": i, "score": [None, {"a": 1e999}], "": ""},
        }
        for i, text in reversed(CAPTIONS.items())
    ]
    content = json.dumps(entries, ensure_ascii=False)
    content = content.replace("Infinity", "1e999").encode("utf-8-sig")
    odd.write_bytes(gzip.compress(content))
    assert run(odd, files[1], *PYTHON, "--json", out) == 0
    strange = json.loads(out.read_text())
    assert strange["corpus"]["cider_d"] == cider_d(*tokenized()).corpus
    assert [row["image_id"] for row in strange["each"]] == list(REFERENCES)
    assert "\u2028" in strange["each"][0]["caption"]
    assert "without words" not in capsys.readouterr().out


def test_captions_of_emoji_and_of_thousands_of_words_are_named(
    files, write, tmp_path, capsys, monkeypatch
):
    out = tmp_path / "out.json"
    write("results", results({**CAPTIONS, 9: "\U0001f600\u2028"}))
    assert run(*files, *PYTHON, "--json", out) == 0
    note = "Captions without words, scored as empty: 1, the first is number 1."
    assert note in capsys.readouterr().out
    content = json.loads(out.read_text())
    assert content["wordless"] == [9]
    assert content["each"][0]["cider_d"] == 0.0
    write("results", results({**CAPTIONS, 2: "word " * 1001}))
    assert run(*files, *PYTHON) == 2
    assert "must have at most 1,000 words" in capsys.readouterr().err
    monkeypatch.setenv("TFCAP_MAX_WORDS", "1001")
    assert run(*files, *PYTHON) == 0


def test_two_files_are_compared(files, write, tmp_path, capsys):
    out, buses = tmp_path / "out.json", dict.fromkeys(CAPTIONS, "a bus")
    other = write("other", results(buses))
    assert run(other, files[1], *PYTHON, "--json", out) == 0
    alone = json.loads(out.read_text())["corpus"]
    capsys.readouterr()
    command = *files, *PYTHON, "--against", other, "--json", out
    assert run(*command) == 0
    table = capsys.readouterr().out
    assert f"Minus {other}, paired bootstrap over 3 images" in table
    found = json.loads(out.read_text())["against"]
    assert found["corpus"] == alone and {*found["differences"]} == {*alone}
    wanted = cider_d(*tokenized()).corpus - alone["cider_d"]
    difference = found["differences"]["cider_d"]
    assert difference["difference"] == pytest.approx(wanted)
    assert difference["low"] <= wanted <= difference["high"]
    assert f"CIDEr-D   {wanted:+10.4f}" in table
    write("other", results({**buses, 4: "\U0001f600"}))
    assert run(*command) == 0
    capsys.readouterr()
    write("other", results(buses)[:2])
    assert run(*command) == 2
    assert "1 of 3 images have none (2)" in capsys.readouterr().err
    write("results", results(CAPTIONS)[:2])
    assert run(*command, "--subset") == 0
    assert "2 images, 4 references" in capsys.readouterr().out
    write("results", results(CAPTIONS)[2:])
    assert run(*command, "--subset") == 2
    assert "results of the same images" in capsys.readouterr().err


def test_what_decoding_left_is_told(files, write, tmp_path, capsys):
    out = tmp_path / "out.json"
    ended = {i: f"{text} <end>" for i, text in CAPTIONS.items()}
    other = write("other", results(ended))
    told = "3 of 3 results have markers (<end>). Markers count as words"
    assert run(other, files[1], *PYTHON, "--json", out) == 0
    assert told in capsys.readouterr().out
    assert told in json.loads(out.read_text())["remarks"][0]
    assert run(*files, *PYTHON, "--against", other) == 0
    assert f"Of {other}:\n{told}" in capsys.readouterr().out
    assert run(*files, *PYTHON) == 0
    assert "markers" not in capsys.readouterr().out


def test_objects_that_are_not_there_are_counted(files, write, tmp_path, capsys):
    synonyms = tmp_path / "list.txt"
    synonyms.write_text("cat\ndog\nmat\nbus\n")
    write("results", results(dict.fromkeys(CAPTIONS, "a cat")))
    content = coco({i: [] for i in REFERENCES})
    content["categories"] = [{"id": 1, "name": "cat"}]
    content["annotations"] = [{"image_id": 4, "category_id": 1}]
    instances = write("instances", content)
    command = *files, "--metrics", "chair"
    assert run(*command) == 1
    assert "CHAIR is absent: no list of objects" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        run(*command, "--instances", instances)
    assert "`--instances` needs a list" in capsys.readouterr().err
    command += "--objects", synonyms
    assert run(*command) == 0
    assert "CHAIR-s     0.6667" in capsys.readouterr().out
    assert run(*command, "--instances", instances) == 0
    assert "CHAIR-s     0.3333" in capsys.readouterr().out
    write("instances", {**content, "images": [{"id": 4}]})
    assert run(*command, "--instances", instances) == 2
    assert "2 of 3 are missing (9, 2)" in capsys.readouterr().err
