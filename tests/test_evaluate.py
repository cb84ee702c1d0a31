"""The command `python -m tfcap.evaluate`."""

import gzip
import json
import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

from tfcap import evaluate
from tfcap.text import bleu
from tfcap.text import cider_d
from tfcap.text import evaluate_captions
from tfcap.text.caption_tokenization import caption_tokenize_batch
from tfcap.text.missing_score import MissingScoreError
from tfcap.text.scores.scores import Scores

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
def files(tmp_path):
    """Results, annotations of COCO, and the same as a file of Karpathy's."""
    results = [{"image_id": i, "caption": c} for i, c in CAPTIONS.items()]
    pairs = [(i, text) for i, texts in REFERENCES.items() for text in texts]
    annotations = {
        "images": [{"id": i} for i in REFERENCES],
        "annotations": [{"image_id": i, "caption": text} for i, text in pairs],
    }
    images = [
        {"cocoid": i, "split": "test", "sentences": [{"raw": t} for t in texts]}
        for i, texts in REFERENCES.items()
    ]
    other = {"cocoid": 77, "split": "val", "sentences": [{"raw": "a"}]}
    contents = {
        "results": results,
        "coco": annotations,
        "karpathy": {"images": [*images, other]},
    }
    paths = {}
    for name, content in contents.items():
        paths[name] = tmp_path / f"{name}.json"
        paths[name].write_text(json.dumps(content))
    return paths


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
    assert run(files["results"], files["coco"], *PYTHON, "--json", out) == 0
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
    assert sorted(os.listdir(tmp_path))[1:3] == ["karpathy.json", "out.json"]


def test_a_split_of_karpathy_gives_the_same(files, tmp_path, capsys):
    outs = []
    for name, more in ("coco", []), ("karpathy", ["--split", "test"]):
        out = tmp_path / f"{name}_out.json"
        more = [*more, *PYTHON, "--quiet", "--json", out]
        assert run(files["results"], files[name], *more) == 0
        outs.append(json.loads(out.read_text()))
    assert outs[0]["each"] == outs[1]["each"]
    assert outs[1]["settings"]["split"] == "test"
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_pipes_are_read_and_written(files, tmp_path, capsys):
    pipes = [tmp_path / name for name in ("results", "references", "out")]
    received = []
    packed = [gzip.compress(files[x].read_bytes()) for x in ("results", "coco")]
    threads = [
        threading.Thread(target=pipe.write_bytes, args=(data,))
        for pipe, data in zip(pipes, packed)
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
    assert run(files["results"], files["coco"], "--json", out) == 0
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
    files = files["results"], files["coco"]
    assert run(*files, "--metrics", "rouge_l,spider,bcmr") == 1
    told = capsys.readouterr().out
    assert "SPIDEr is absent: SPICE, a part of it, is absent" in told
    assert "BCMR is absent: METEOR, a part of it, is absent" in told
    assert "CIDEr-D" in told and "ROUGE-L" in told
    assert run(*files, "--metrics", "all") == 0


def test_parts_that_are_there_make_the_mixtures(monkeypatch):
    some = Scores(0.5, np.array([0.4, 0.6, 0.5]))
    monkeypatch.setattr("tfcap.text.evaluation.spice", lambda *a, **k: some)
    monkeypatch.setattr("tfcap.text.evaluation.meteor", lambda *a, **k: some)
    report = evaluate_captions(
        [CAPTIONS[i] for i in REFERENCES],
        list(REFERENCES.values()),
        ["spider", "bcmr"],
    )
    assert not report.absent
    consensus = report.scores["cider_d"]
    wanted = (consensus.corpus + 0.5) / 2
    assert report.scores["spider"].corpus == pytest.approx(wanted)
    assert list(report.scores)[-2:] == ["spider", "bcmr"]
    wanted = sum(
        weight * report.scores[f"bleu_{k}"].corpus
        for k, weight in enumerate([0.5, 0.5, 1, 1], 1)
    )
    wanted += consensus.corpus + 2.5 + 2 * report.scores["rouge_l"].corpus
    assert report.scores["bcmr"].corpus == pytest.approx(wanted)


def test_one_image_has_no_document_frequencies(no_meteor):
    report = evaluate_captions(["a cat"], [["a cat"]])
    assert {*report.absent} == {"cider_d", "meteor", "spice"}
    assert "Score several images" in str(report.absent["cider_d"])
    assert report.scores["bleu_1"].corpus == pytest.approx(1)


def test_a_subset_is_scored_on_request(files, capsys):
    entries = json.loads(files["results"].read_text())
    files["results"].write_text(json.dumps(entries[:2]))
    files = files["results"], files["coco"]
    assert run(*files, *PYTHON) == 2
    assert "1 of 3 images have none (2)" in capsys.readouterr().err
    assert run(*files, *PYTHON, "--subset") == 0
    assert "2 images, 4 references" in capsys.readouterr().out


def test_references_without_words_are_left_out_on_request(
    files, tmp_path, capsys
):
    content, out = json.loads(files["coco"].read_text()), tmp_path / "out.json"
    content["images"].append({"id": 5})
    content["annotations"] += [
        {"image_id": i, "caption": text} for i, text in [(4, " "), (5, "")]
    ]
    files["coco"].write_text(json.dumps(content))
    results = json.loads(files["results"].read_text())
    results.append({"image_id": 5, "caption": "a"})
    files["results"].write_text(json.dumps(results))
    command = files["results"], files["coco"], *PYTHON, "--json", out
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
    files = files["results"], files["coco"]
    assert run(*files, "--metrics", "cider,cider_d") == 0
    assert note in capsys.readouterr().out
    assert run(*files, "--metrics", "cider_d") == 0
    assert note not in capsys.readouterr().out
    with pytest.raises(SystemExit):
        run("--help")
    told = " ".join(capsys.readouterr().out.split())
    assert "What papers and leaderboards call CIDEr is cider_d" in told


def test_captions_without_words_are_scored(files, capsys):
    entries = json.loads(files["results"].read_text())
    entries[0]["caption"], entries[1]["caption"] = "", "...\u2028"
    files["results"].write_text(json.dumps(entries))
    files = files["results"], files["coco"]
    assert run(*files, *PYTHON) == 2
    assert "`caption` is empty. Give" in capsys.readouterr().err
    assert run(*files, *PYTHON, "--allow-empty") == 0


@pytest.mark.parametrize(
    "content, told",
    [
        ("[{", "cut off or damaged"),
        ("[]", "there is no list of results"),
        ('{"images": []}', "as in a file of references"),
        ('[{"image_id": 4}]', "entry 0, image 4 `caption` is missing"),
        (
            '[{"image_id": 5, "caption": "a"}]',
            "again (5), while there are",
        ),
        (
            '[{"image_id": "b4", "caption": "a"}]',
            "again (b4), while",
        ),
    ],
)
def test_bad_input_is_told_in_one_sentence(files, capsys, content, told):
    files["results"].write_text(content)
    assert run(files["results"], files["coco"], *PYTHON) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: `") and told in error
    assert str(files["results"]) in error and "Traceback" not in error


def test_a_place_that_cannot_be_written_to_is_told_first(files, capsys):
    more = [*PYTHON, "--json", "/no/folder/out.json"]
    assert run(files["results"], files["coco"], *more) == 2
    assert "`--json` must be a file in a folder" in capsys.readouterr().err
    assert run("/no/results.json", files["coco"]) == 2
    assert "No such file" in capsys.readouterr().err


def test_names_must_be_those_of_metrics(files):
    asked = "--metrics", "bertscore"
    assert run(files["results"], files["coco"], *asked) == 2
    with pytest.raises(ValueError, match="must be names of"):
        evaluate_captions(["a"], [["a"]], ["bertscore"])
    with pytest.raises(ValueError, match="same length.*Received: 1 cand"):
        evaluate_captions(["a"], [["a"], ["b"]])


def test_an_absence_says_what_to_do():
    missing_score = MissingScoreError("SPICE", "there is none", "Get it.")
    assert str(missing_score) == "SPICE is absent: there is none. Get it."


@pytest.mark.slow
def test_french_captions_score_as_in_pycocoevalcap():
    said = [
        "c'est un homme qui s'est assis",
        "l'enfant n'a qu'un jouet",
        "c'est aujourd'hui",
    ]
    references = [
        ["c'est un homme assis", "un homme s'est assis"],
        ["l'enfant a un jouet"],
        ["c'est la f\xeate"],
    ]
    report = evaluate_captions(said, references, ["bleu", "rouge_l", "cider_d"])
    wanted = {
        "bleu_1": 0.666667,
        "bleu_2": 0.471405,
        "bleu_3": 0.366881,
        "bleu_4": 0.000054,
        "rouge_l": 0.624262,
        "cider_d": 1.899015,
    }
    corpus = {name: scores.corpus for name, scores in report.scores.items()}
    assert corpus == pytest.approx(wanted, abs=1e-6)


def test_real_captions_score_as_in_pycocoevalcap(shared_data, tmp_path):
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
    images, annotations, results = [], [], []
    with gzip.open(shared_data / "coco" / "captions.jsonl.gz", "rt") as file:
        for image in map(json.loads, file):
            if "karpathy_test" in image["sets"]:
                rows = [
                    {"image_id": image["id"], "caption": caption}
                    for caption in image["captions"]
                ]
                images.append({"id": image["id"]})
                results.append(rows[0])
                annotations += rows[1:]
    paths = [tmp_path / name for name in ("r.json", "a.json", "out.json")]
    paths[0].write_text(json.dumps(results))
    content = {"images": images, "annotations": annotations}
    paths[1].write_text(json.dumps(content))
    assert run(*paths[:2], *PYTHON, "--quiet", "--json", paths[2]) == 0
    corpus = json.loads(paths[2].read_text())["corpus"]
    assert corpus == pytest.approx(wanted, abs=1e-6)


@pytest.mark.slow
def test_the_command_does_without_tensors(files):
    command = [sys.executable, "-X", "importtime", "-m", "tfcap.evaluate"]
    done = subprocess.run(
        [*command, str(files["results"]), str(files["coco"]), *PYTHON],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "CIDEr-D" in done.stdout
    loaded = {line.rsplit("|")[-1].strip() for line in done.stderr.splitlines()}
    assert "tfcap.text.scores" in loaded
    assert not {"keras", "tensorflow", "jax", "torch"} & loaded


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
    outs = []
    captions = dict(CAPTIONS)
    for odd in (False, True):
        entries = [
            {
                "image_id": i,
                "caption": text.replace(" ", " \u2028\U0001f600\t") * odd
                or text,
                **{"id": i, "score": [None, {"a": 1e999}], "": ""},
            }
            for i, text in reversed(captions.items())
        ]
        content = json.dumps(entries, ensure_ascii=False)
        content = content.replace("Infinity", "1e999").encode("utf-8-sig")
        path, out = tmp_path / f"odd{odd}.gz", tmp_path / f"out{odd}.json"
        path.write_bytes(gzip.compress(content) if odd else content)
        more = [*PYTHON, "--json", out]
        assert run(path, files["coco"], *more) == 0
        outs.append(json.loads(out.read_text()))
    plain, strange = outs
    assert strange["corpus"] == plain["corpus"] and not strange["wordless"]
    assert [row["image_id"] for row in strange["each"]] == list(REFERENCES)
    assert "\u2028" in strange["each"][0]["caption"]
    assert "without words" not in capsys.readouterr().out


def test_captions_of_emoji_and_of_thousands_of_words_are_named(
    files, tmp_path, capsys, monkeypatch
):
    entries = json.loads(files["results"].read_text())
    entries[1]["caption"] = "\U0001f600\u2028"
    files["results"].write_text(json.dumps(entries))
    out, paths = tmp_path / "out.json", (files["results"], files["coco"])
    assert run(*paths, *PYTHON, "--json", out) == 0
    note = "Captions without words, scored as empty: 1, the first is number 1."
    assert note in capsys.readouterr().out
    content = json.loads(out.read_text())
    assert content["wordless"] == [9]
    assert content["each"][0]["cider_d"] == 0.0
    entries[2]["caption"] = "word " * 10_000
    files["results"].write_text(json.dumps(entries))
    assert run(*paths, *PYTHON) == 2
    assert "must have at most 1,000 words" in capsys.readouterr().err
    monkeypatch.setenv("TFCAP_MAX_WORDS", "10000")
    assert run(*paths, *PYTHON) == 0


def test_two_files_are_compared(files, tmp_path, capsys):
    other, out = tmp_path / "other.json", tmp_path / "out.json"
    entries = [{"image_id": i, "caption": "a bus"} for i in CAPTIONS]
    other.write_text(json.dumps(entries))
    paths = files["results"], files["coco"]
    more = [*PYTHON, "--against", other, "--json", out]
    assert run(*paths, *more) == 0
    table = capsys.readouterr().out
    assert f"Minus {other}, paired bootstrap over 3 images" in table
    found = json.loads(out.read_text())["against"]
    assert run(other, files["coco"], *PYTHON, "--json", out) == 0
    alone = json.loads(out.read_text())["corpus"]
    assert found["corpus"] == alone and {*found["differences"]} == {*alone}
    wanted = cider_d(*tokenized()).corpus - alone["cider_d"]
    difference = found["differences"]["cider_d"]
    assert difference["difference"] == pytest.approx(wanted)
    assert difference["low"] <= wanted <= difference["high"]
    assert f"CIDEr-D   {wanted:+10.4f}" in table
    wordless = [{**entries[0], "caption": "\U0001f600"}, *entries[1:]]
    other.write_text(json.dumps(wordless))
    assert run(*paths, *more) == 0
    capsys.readouterr()
    other.write_text(json.dumps(entries[:2]))
    assert run(*paths, *more) == 2
    assert "1 of 3 images have none (2)" in capsys.readouterr().err
    kept = json.loads(files["results"].read_text())
    files["results"].write_text(json.dumps(kept[:2]))
    assert run(*paths, *more, "--subset") == 0
    assert "2 images, 4 references" in capsys.readouterr().out
    files["results"].write_text(json.dumps([{**entries[2], "caption": "a"}]))
    assert run(*paths, *more, "--subset") == 2
    assert "results of the same images" in capsys.readouterr().err


def test_what_decoding_left_is_told(files, tmp_path, capsys):
    other, out = tmp_path / "other.json", tmp_path / "out.json"
    entries = json.loads(files["results"].read_text())
    entries = [{**x, "caption": f"{x['caption']} <end>"} for x in entries]
    other.write_text(json.dumps(entries))
    told = "3 of 3 results have markers (<end>). Markers count as words"
    assert run(other, files["coco"], *PYTHON, "--json", out) == 0
    assert told in capsys.readouterr().out
    assert told in json.loads(out.read_text())["remarks"][0]
    paths = files["results"], files["coco"], *PYTHON
    assert run(*paths, "--against", other) == 0
    assert f"Of {other}:\n{told}" in capsys.readouterr().out
    assert run(*paths) == 0
    assert "markers" not in capsys.readouterr().out


def test_objects_that_are_not_there_are_counted(files, tmp_path, capsys):
    paths = files["results"], files["coco"], "--metrics", "chair"
    synonyms, instances = tmp_path / "list.txt", tmp_path / "instances.json"
    synonyms.write_text("cat\ndog\nmat\nbus\n")
    content = {
        "images": [{"id": i} for i in REFERENCES],
        "annotations": [],
        "categories": [{"id": 1, "name": "cat"}],
    }
    instances.write_text(json.dumps(content))
    entries = [{"image_id": i, "caption": "a cat"} for i in CAPTIONS]
    files["results"].write_text(json.dumps(entries))
    assert run(*paths) == 1
    assert "CHAIR is absent: no list of objects" in capsys.readouterr().out
    assert run(*paths, "--instances", instances) == 2
    assert "`--instances` must come with a list" in capsys.readouterr().err
    paths += "--objects", synonyms
    assert run(*paths) == 0
    assert "CHAIR-s     0.6667" in capsys.readouterr().out
    content["annotations"] = [{"image_id": 4, "category_id": 1}]
    instances.write_text(json.dumps(content))
    assert run(*paths, "--instances", instances) == 0
    assert "CHAIR-s     0.3333" in capsys.readouterr().out
    content["images"] = [{"id": 4}]
    instances.write_text(json.dumps(content))
    assert run(*paths, "--instances", instances) == 2
    assert "2 of 3 are missing (9, 2)" in capsys.readouterr().err
