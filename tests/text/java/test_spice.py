import pathlib

import numpy as np
import pytest

from tests.java_programs import SPICE as WORKING
from tfcap.text import JavaError
from tfcap.text import spice
from tfcap.text.java.spice import MODELS

CANDIDATES = [["a"], ["two", "c\nats"]]
REFERENCES = [[["a"], ["the", "a"]], [["cats"]]]


def seen(tmp_path):
    import json

    return json.loads((tmp_path / "seen").read_text())


def test_scores_come_in_the_order_of_the_captions(
    fake_java, fake_package, spice_models, tmp_path
):
    fake_java(WORKING.replace("VERSION", "1.8.0_312"))
    scores = spice(
        CANDIDATES, REFERENCES, spice_models, tmp_path / "kept", heap="1G"
    )
    np.testing.assert_allclose(scores.each, [0.1, 0.3])
    assert scores.corpus == pytest.approx(0.2)
    command, rows = seen(tmp_path)
    assert "--add-opens" not in command and "-Xmx1G" in command
    assert {"-Duser.language=en", "-Duser.country=US"} < {*command}
    assert command[-2:] == ["-cache", str(tmp_path / "kept")]
    assert (tmp_path / "kept").is_dir()
    jars = command[command.index("-cp") + 1].split(":")
    names = [pathlib.Path(jar).name for jar in jars]
    assert names == ["spice-1.0.jar", *MODELS, "fst-2.47.jar"]
    assert rows[1] == {"image_id": 1, "test": "two c ats", "refs": ["cats"]}


def test_the_models_may_be_named_by_the_environment(
    fake_java, fake_package, spice_models, tmp_path, monkeypatch
):
    fake_java(WORKING.replace("VERSION", "11.0.2"))
    monkeypatch.setenv("TFCAP_SPICE_HOME", str(spice_models))
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    assert spice(CANDIDATES, REFERENCES).each[0] == 0.1
    assert seen(tmp_path)[0][-1] == str(tmp_path / "cache" / "spice")
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    spice(CANDIDATES, REFERENCES)
    assert "-cache" not in seen(tmp_path)[0]


def test_models_in_place_are_found(fake_java, fake_package, spice_models):
    fake_java(WORKING.replace("VERSION", "1.8.0_312"))
    for name in MODELS:
        (spice_models / name).rename(fake_package / "spice" / "lib" / name)
    assert spice(CANDIDATES, REFERENCES, cache=None).each[0] == 0.1


def test_without_models_nothing_is_downloaded(fake_java, fake_package):
    fake_java(WORKING.replace("VERSION", "1.8.0_312"))
    with pytest.raises(JavaError) as caught:
        spice(CANDIDATES, REFERENCES)
    assert "no stanford-corenlp-3.6.0.jar" in caught.value.reason
    assert "Download http" in caught.value.hint
    assert "TFCAP_SPICE_HOME" in caught.value.hint


def test_a_cut_off_download_is_told(fake_java, fake_package, spice_models):
    fake_java(WORKING.replace("VERSION", "1.8.0_312"))
    (spice_models / MODELS[1]).write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(JavaError, match="models.jar' is cut off or damaged"):
        spice(CANDIDATES, REFERENCES, spice_models)


def test_a_java_that_cannot_write_the_scores_is_told_before_it_runs(
    fake_java, fake_package, spice_models, tmp_path
):
    fake_java(WORKING.replace("VERSION", "17.0.15"))
    with pytest.raises(JavaError, match="Java 17 has no JavaScript engine"):
        spice(CANDIDATES, REFERENCES, spice_models)
    with pytest.raises(JavaError, match="no stanford.*; and Java 17.*Download"):
        spice(CANDIDATES, REFERENCES)
    (spice_models / "nashorn-core-15.4.jar").touch()
    (spice_models / "asm-9.5.jar").touch()
    assert spice(CANDIDATES, REFERENCES, spice_models).each[0] == 0.1
    command, _ = seen(tmp_path)
    assert "java.base/java.lang=ALL-UNNAMED" in command
    assert "java.base/java.math=ALL-UNNAMED" in command
    assert command[command.index("-cp") + 1].endswith("asm-9.5.jar")


@pytest.mark.parametrize(
    "ending, reason",
    [
        (
            "sys.exit('NoClassDefFoundError')",
            "messages: NoClassDefFoundError",
        ),
        ("sys.exit()", "left no scores.*FileNotFoundError"),
        ("open(sys.argv[-1], 'w').write('[')", "left no scores.*JSONDecode"),
        ("open(sys.argv[-1], 'w').write('[]')", "0 scores for 2 captions"),
        ("open(sys.argv[-1], 'w').write('[7]')", "left no scores.*TypeError"),
        ("import time; time.sleep(300)", "did not answer for 1 s"),
    ],
)
def test_failures_are_told(
    fake_java, fake_package, spice_models, ending, reason
):
    source = f"""
        import sys
        if sys.argv[1] == "-version":
            sys.exit('java version "9"')
        sys.argv.append(sys.argv[sys.argv.index("-out") + 1])
        {ending}
    """
    fake_java(source)
    with pytest.raises(JavaError, match=reason):
        spice(CANDIDATES, REFERENCES, spice_models, cache=None, timeout=1.0)


def test_a_java_without_version_and_a_cache_without_room_are_told(
    fake_java, fake_package, spice_models
):
    fake_java("print('hello')")
    with pytest.raises(JavaError, match="prints no version .'hello'"):
        spice(CANDIDATES, REFERENCES, spice_models)
    fake_java(WORKING.replace("VERSION", "1.8.0"))
    with pytest.raises(JavaError, match="its cache cannot be made"):
        spice(CANDIDATES, REFERENCES, spice_models, cache="/dev/null/x")
