"""The command `python -m reproduce evaluate`."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from reproduce import evaluate
from tests.eager import run_eagerly
from tfcap.data import CaptionBatches
from tfcap.data import EncodedCaptions
from tfcap.data import build_vocabulary
from tfcap.data import load_captions
from tfcap.data import save_features
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.models import RetrievalListener
from tfcap.models import ShowTellSpeaker
from tfcap.training import Evaluator
from tfcap.training import SpeakerReport

LENGTH = 5
WORDS = "a the dog cat runs sits red on in mat".split()
#: Where a word must have a value.
FEATURES = 4


@pytest.fixture(scope="module", autouse=True)
def eagerly():
    with run_eagerly():
        yield


@pytest.fixture(autouse=True)
def without_java(monkeypatch):
    monkeypatch.setenv("PATH", "")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Files of a tiny data set and networks, and what is in them."""
    folder = tmp_path_factory.mktemp("world")
    rng = np.random.default_rng(0)

    def say():
        return " ".join(rng.choice(WORDS, rng.integers(1, 5)))

    images = [
        {
            "imgid": 10 + i,
            "filename": f"{10 + i}_abc.jpg",
            "split": "test" if i % 2 else "train",
            "sentences": [{"raw": say()} for _ in range(2)],
        }
        for i in range(12)
    ]
    (folder / "captions.json").write_text(json.dumps({"images": images}))
    features = rng.normal(size=(12, 2, FEATURES)).astype("float16")
    path = folder / "features.npy"
    save_features(path, range(10, 22), features)
    train = load_captions(folder / "captions.json", "train")
    vocabulary = build_vocabulary(train, min_count=1)
    vocabulary.save(folder / "vocabulary.json")
    test = load_captions(folder / "captions.json", "test")
    batches = CaptionBatches(
        EncodedCaptions.from_split(test, vocabulary, LENGTH), features[1::2], 4
    )
    example = batches.inputs(np.arange(2))
    speaker = ShowTellSpeaker(
        vocabulary.size, units=8, embeddings_initializer="orthogonal"
    )
    networks = {
        "speaker": speaker,
        "listener": RetrievalListener(vocabulary.size, 8, 8),
        "other": RetrievalListener(vocabulary.size, 8, 8),
    }
    for name, network in networks.items():
        network(example)
        # As loud as they get when they are trained.
        network.set_weights([4 * w for w in network.get_weights()])
        network.save(folder / f"{name}.keras")
    narrow = {
        "speaker": ShowTellSpeaker(vocabulary.size, units=8),
        "listener": RetrievalListener(vocabulary.size, 8, 8),
    }
    for name, network in narrow.items():
        network({**example, "image": example["image"][..., :-1]})
        network.save(folder / f"narrow_{name}.keras")
    return {
        "folder": folder,
        "batches": batches,
        **{
            f"narrow_{name}": folder / f"narrow_{name}.keras" for name in narrow
        },
        "train": train,
        "features": features,
        **networks,
    }


@pytest.fixture
def run(world, tmp_path):
    def run(*more, **files):
        names = {
            "speaker": "speaker.keras",
            "listener": "listener.keras",
            "captions": "captions.json",
            "features": "features.npy",
            "vocabulary": "vocabulary.json",
            **files,
        }
        paths = {k: str(world["folder"] / v) for k, v in names.items() if v}
        vocabulary = paths.pop("vocabulary")
        return evaluate.main(
            [
                *paths.values(),
                f"--vocabulary={vocabulary}",
                f"--max-length={LENGTH}",
                "--quiet",
                *map(str, more),
            ]
        )

    return run


def check_same(path, report):
    found = SpeakerReport.load(path)
    assert found.captions == report.captions
    assert found.image_ids == [11, 13, 15, 17, 19, 21]
    np.testing.assert_allclose(found.ranks, report.ranks)
    assert found.result() == pytest.approx(report.result())


def directly(world, **arguments):
    return Evaluator(
        world["speaker"], world["batches"], world["listener"], **arguments
    )()


def test_the_table_and_the_file_are_those_of_the_networks(
    run, world, tmp_path, capsys
):
    out = tmp_path / "out.json"
    assert run("--split=test", "--json", out) == 0
    report = directly(world)
    assert capsys.readouterr().out == f"{report.table()}\n"
    check_same(out, report)
    assert len(set(report.captions)) > 1


def test_naturalness_needs_no_listener(run, world, tmp_path, capsys):
    out = tmp_path / "out.json"
    assert run("--split=test", "--json", out, listener=None) == 0
    found = SpeakerReport.load(out)
    report = Evaluator(world["speaker"], world["batches"])()
    assert found.captions == report.captions
    assert found.result() == pytest.approx(report.result())
    assert "cider_d" in found.result() and "r@1" not in found.result()
    table = capsys.readouterr().out
    assert table == f"{report.table()}\n" and "CIDEr-D" in table
    # Another one may still be asked.
    other = f"--other=fixed={world['folder'] / 'other.keras'}"
    assert run("--split=test", "--json", out, other, listener=None) == 0
    assert "fixed_r@1" in SpeakerReport.load(out).result()


def test_options_may_stand_between_the_files(world, tmp_path):
    folder, out = world["folder"], tmp_path / "out.json"
    parts = ["speaker.keras", "--quiet", "listener.keras", "captions.json"]
    parts += ["--split=test", "features.npy"]
    arguments = [p if p[0] == "-" else str(folder / p) for p in parts]
    more = [f"--vocabulary={folder / 'vocabulary.json'}", f"--json={out}"]
    assert evaluate.main([*arguments, *more, f"--max-length={LENGTH}"]) == 0
    check_same(out, directly(world))


def test_all_that_can_be_asked_for(run, world, tmp_path):
    out = tmp_path / "out.json"
    other = world["folder"] / "other.keras"
    more = [f"--other=fixed={other}", "--beam=3", "--training=train"]
    assert run("--split=test", "--json", out, *more, "--metrics=cider") == 0
    train = world["train"].captions
    report = directly(
        world,
        decoder=BeamSearch(3, LENGTH, suppress=(3,)),
        metrics=["cider"],
        training_captions=[text for texts in train for text in texts],
        other_listeners={"fixed": world["other"]},
    )
    check_same(out, report)
    assert {"fixed_r@1", "novelty", "cider"} < {*report.result()}


@pytest.mark.parametrize(
    ("arguments", "decoder", "several", "title"),
    [
        (
            ["--several=3", "--top-k=4", "--seed=7"],
            Greedy(LENGTH, suppress=(3,)),
            Sample(Categorical(seed=7), 3, LENGTH, suppress=(3,), top_k=4),
            "3 random captions of every image",
        ),
        (
            ["--several=2", "--beam=4", "--groups=2", "--length-penalty=1"],
            BeamSearch(4, LENGTH, 1.0, (3,), groups=2),
            BeamSearch(4, LENGTH, 1.0, (3,), groups=2, num_samples=2),
            "2 beams of every image",
        ),
    ],
)
def test_several_captions_are_told_beside_the_report(
    run, world, tmp_path, capsys, arguments, decoder, several, title
):
    out = tmp_path / "out.json"
    assert run("--split=test", "--json", out, *arguments) == 0
    report = directly(world, decoder=decoder)
    # Chance is drawn batch by batch: one, as the command has it.
    found = Evaluator(world["speaker"], world["batches"], batch_size=6)
    found = found.diversity(several)
    table = f"{report.table()}\n\n{title}\n{found.table()}\n"
    assert capsys.readouterr().out == table
    scores = {**report.result(), **found.scores}
    assert SpeakerReport.load(out).result() == pytest.approx(scores)


def test_features_are_prepared_as_for_training(run, world, tmp_path):
    out = tmp_path / "out.json"
    more = ["--pooled", "--standardize=train", "--json", out]
    assert run("--split=test", *more) == 0
    pooled = world["features"].astype("float32").mean(axis=1, keepdims=True)
    train = pooled[::2]
    ready = (pooled[1::2] - train.mean(axis=0)) / train.std(axis=0)
    batches = CaptionBatches(world["batches"].captions, ready, 4)
    report = Evaluator(world["speaker"], batches, world["listener"])()
    check_same(out, report)
    assert report.captions != directly(world).captions


def test_images_may_be_listed_and_captions_be_those_of_flickr(
    run, world, tmp_path
):
    content = json.loads((world["folder"] / "captions.json").read_text())
    lines, listed = [], []
    for image in content["images"]:
        if image["split"] == "test":
            listed.append(f"{image['filename']}\n")
        for i, sentence in enumerate(image["sentences"]):
            lines.append(f"{image['filename']}#{i}\t{sentence['raw']}\n")
    token, names = tmp_path / "tiny.token.txt", tmp_path / "test.txt"
    token.write_text("".join(lines))
    names.write_text("".join(listed))
    out = tmp_path / "out.json"
    assert run("--images", names, "--json", out, captions=token) == 0
    check_same(out, directly(world))


def test_a_metric_that_is_asked_for_and_absent_is_a_failure(run, capsys):
    assert run("--split=test", "--metrics=spice") == 1
    assert "SPICE is absent: there is no `java`" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "files", "told"),
    [
        ([], {}, "`split` must be given"),
        (["--split=val"], {}, "must name splits of the file"),
        (["--split=test"], {"speaker": "listener.keras"}, "SPEAKER must be"),
        (["--split=test"], {"listener": "speaker.keras"}, "LISTENER must be"),
        (["--split=test"], {"speaker": "no.keras"}, "no.keras"),
        (["--split=test"], {"speaker": "captions.json"}, "that Keras can load"),
        (["--split=test"], {"captions": "no.json"}, "No such file"),
        (["--split=test"], {"features": "captions.json"}, "`path` must name"),
        (["--split=test"], {"vocabulary": "captions.json"}, "other JSON"),
        (["--split=test", "--json=/no/out.json"], {}, "`--json` must be"),
        (["--split=test", "--import=no_such_module"], {}, "no_such_module"),
        (["--split=test", "--groups=2"], {}, "`--groups` must come with"),
        (["--split=test", "--max-length=1"], {}, "`max_length` must be"),
    ],
)
def test_bad_input_is_told_and_not_thrown(run, capsys, more, files, told):
    assert run(*more, **files) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and told in error


def test_another_vocabulary_is_refused(run, world, tmp_path, capsys):
    content = json.loads((world["folder"] / "vocabulary.json").read_text())
    content["words"].append("zeppelin")
    del content["sha256"]
    path = tmp_path / "vocabulary.json"
    path.write_text(json.dumps(content))
    assert run("--split=test", vocabulary=path) == 2
    assert "`--vocabulary` must be the listener's" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["listener", "other", "speaker"])
def test_features_of_another_kind_are_refused(run, world, capsys, kind):
    narrow, more = {"speaker": world["narrow_speaker"]}, []
    if kind != "speaker":
        narrow = {"listener": world["narrow_listener"]}
    if kind == "other":
        more, narrow = [f"--other=it={narrow['listener']}"], {}
    assert run("--split=test", *more, **narrow) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "FEATURES must be of the kind" in error and "(2, 4)" in error
    assert f"narrow_{'speaker' if kind == 'speaker' else 'listener'}" in error


def test_arguments_are_checked_at_once(run, capsys):
    for more, told in [
        ("--metrics=bertscore", "must be among"),
        ("--other=listener.keras", "must be a name, =, and a file"),
    ]:
        with pytest.raises(SystemExit):
            run(more)
        assert told in capsys.readouterr().err


def test_networks_of_a_module_of_ones_own_are_found(run, tmp_path, monkeypatch):
    (tmp_path / "own_networks.py").write_text("IMPORTED = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert run("--split=test", "--import=own_networks") == 0
    assert sys.modules["own_networks"].IMPORTED


@pytest.mark.slow
def test_it_runs_as_a_command():
    done = subprocess.run(
        [sys.executable, "-m", "reproduce", "evaluate", "--help"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert "SPEAKER" in done.stdout.upper() and "Warning" not in done.stderr
