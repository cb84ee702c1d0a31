"""The command `python -m reproduce caption`."""

import json

import keras
import numpy as np
import pytest

from reproduce import caption
from tests.data.tiny_captions import tiny_captions
from tests.eager import run_eagerly
from tests.reproduce.captioning.tiny_files import study
from tests.reproduce.captioning.tiny_files import write_files
from tfcap.data import save_features
from tfcap.data.result_files import load_results
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.models import Att2inSpeaker
from tfcap.models import RetrievalListener
from tfcap.text import Vocabulary
from tfcap.training import Evaluator

IDS = [100 + i for i in range(11)]
GRIDS = np.random.default_rng(0).normal(0, 3, size=(11, 4, 3))
GRIDS = GRIDS.astype("float16")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A speaker, its vocabulary, and a feature file."""
    folder = tmp_path_factory.mktemp("caption")
    captions = tiny_captions()
    captions.vocabulary.save(folder / "vocabulary.json")
    size = captions.vocabulary.size
    speaker = Att2inSpeaker(size, 8, embeddings_initializer="orthogonal")
    networks = {"speaker": speaker, "listener": RetrievalListener(size, 4, 4)}
    for name, network in networks.items():
        network({"image": GRIDS, "caption": captions.references})
        # As loud as they get when they are trained.
        network.set_weights([4 * w for w in network.get_weights()])
        network.save(folder / f"{name}.keras")
    save_features(folder / "features.npy", IDS, GRIDS)
    return folder


def run(folder, *more, speaker="speaker", features="features.npy"):
    vocabulary = f"--vocabulary={folder / 'vocabulary.json'}"
    arguments = [folder / f"{speaker}.keras", folder / features, vocabulary]
    return caption.main([*map(str, [*arguments, "--max-length=5", *more])])


def said(folder, image, decoder, **more):
    speaker = keras.saving.load_model(folder / "speaker.keras")
    vocabulary = Vocabulary.load(folder / "vocabulary.json")
    inputs = {"image": np.asarray(image, "float32"), **more}
    found = decoder.decode(speaker, speaker.begin(inputs))
    return vocabulary.decode_batch(found.tokens.numpy()[:, 0])


def test_a_feature_file_is_captioned_in_cocos_format(folder, tmp_path, capsys):
    out = tmp_path / "out.json"
    assert run(folder, "--json", out, "--batch-size=4") == 0
    wanted = said(folder, GRIDS, Greedy(5, suppress=(3,)))
    assert len(set(wanted)) > 1
    assert load_results(out, allow_empty=True) == dict(zip(IDS, wanted))
    lines = [f"{i}\t{text}\n" for i, text in zip(IDS, wanted)]
    assert capsys.readouterr().out == "".join(lines)
    assert run(folder, "--json", out, "--beam=3") == 0
    wanted = said(folder, GRIDS, BeamSearch(3, 5, suppress=(3,)))
    assert load_results(out, allow_empty=True) == dict(zip(IDS, wanted))


def test_a_speaker_does_not_look_at_padding(folder, tmp_path):
    file, out = tmp_path / "regions.npy", tmp_path / "out.json"
    counts = np.arange(11) % 4 + 1
    mask = np.arange(4) < counts[:, None]
    image = 4 * GRIDS * mask[..., None]
    save_features(file, IDS, image, counts=counts)
    assert run(folder, "--json", out, "--batch-size=4", features=file) == 0
    wanted = said(folder, image, Greedy(5, suppress=(3,)), image_mask=mask)
    assert load_results(out, allow_empty=True) == dict(zip(IDS, wanted))


@pytest.mark.filterwarnings("ignore:Even though the `tf.config")
def test_a_kept_speaker_says_what_its_study_found(tmp_path, capsys):
    root, folder = write_files(tmp_path), tmp_path / "study"
    with run_eagerly():
        made = study(root, folder, speaker_epochs=3)
        speaker = made.networks("speaker_mle")["speaker"]
        test = made.batches("test", shuffle=False)
        wanted = Evaluator(speaker, test, decoder=made.greedy, verbose=0)()
        kept = folder / "speaker_mle" / "speaker.keras"
        vocabulary = f"--vocabulary={folder / 'vocabulary.json'}"
        files = [str(kept), str(root / "features.npy"), vocabulary]
        assert caption.main([*files, "--max-length=6"]) == 0
    lines = capsys.readouterr().out.splitlines()
    # The images of the test split are the last.
    assert [x.partition("\t")[2] for x in lines[-3:]] == wanted.captions


def test_what_does_not_fit_is_told_and_not_thrown(folder, tmp_path, capsys):
    narrow = tmp_path / "narrow.npy"
    save_features(narrow, IDS, GRIDS[..., :2])
    content = json.loads((folder / "vocabulary.json").read_text())
    del content["sha256"]
    content["words"].append("zeppelin")
    other = tmp_path / "vocabulary.json"
    other.write_text(json.dumps(content))
    for more, files, told in [
        ([], {"speaker": "listener"}, "SPEAKER must be an autoregressive"),
        ([f"--vocabulary={other}"], {}, "saved beside the speaker"),
        ([], {"speaker": "no"}, "no.keras"),
        ([], {"features": "no.npy"}, "no.npy"),
        ([], {"features": narrow}, "with features of shape (4, 2)"),
        (["--json=/no/out.json"], {}, "`--json` must be a file"),
    ]:
        assert run(folder, *more, **files) == 2
        error = capsys.readouterr().err
        assert error.startswith("error: ") and told in error
