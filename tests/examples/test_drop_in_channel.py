import pathlib
import runpy

PATH = pathlib.Path(__file__).parents[2] / "examples" / "drop_in_channel.py"


def test_speaker_and_listener_agree_on_words():
    told = runpy.run_path(str(PATH))["main"](epochs=5)
    assert len(told) == 2
    # Chance is one thing of 64.
    assert min(told.values()) > 0.25
