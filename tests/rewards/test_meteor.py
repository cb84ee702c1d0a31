import importlib.util
import os
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest
import tensorflow as tf

import tests.testing as contract
from tests import captions
from tests.java_programs import METEOR as WORKING
from tfcap import text
from tfcap.rewards import METEOR

BATCH = captions.Batch()
#: By the program of `tests.java_programs`: words in tenths.
WANTED = np.array(
    [[len(caption) / 10 for caption in r] for r in BATCH.captions]
)


def score(reward, batch=BATCH):
    rollout = captions.rollout(batch.tokens)
    return np.asarray(reward(rollout, captions.episode(batch.human)))


@pytest.fixture
def reward(fake_java, fake_package):
    fake_java(WORKING)
    return METEOR(captions.VOCABULARY)


def test_values_are_those_of_the_program_in_the_order_of_the_captions(reward):
    np.testing.assert_allclose(score(reward), WANTED, rtol=1e-6, atol=1e-6)


def test_it_is_a_reward_like_any_other(reward):
    def episode(rows):
        return captions.episode(BATCH.human[rows])

    rollout = captions.rollout(BATCH.tokens)
    contract.check_reward(reward, rollout, episode, on_host=True)
    assert reward.name == "meteor" and not reward.differentiable


def test_an_image_without_references_is_worth_nothing(reward):
    batch = captions.Batch()
    batch.human[2] = 0
    wanted = WANTED.copy()
    wanted[2] = 0
    np.testing.assert_allclose(
        score(reward, batch), wanted, rtol=1e-6, atol=1e-6
    )


def test_threads_wait_for_each_other(reward):
    found = {}

    def run(k):
        found[k] = score(reward)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for k in range(3):
        np.testing.assert_allclose(found[k], WANTED, rtol=1e-6, atol=1e-6)


def test_a_program_that_hangs_ends_the_step_and_the_next_starts_it_again(
    fake_java, fake_package
):
    fake_java("import time; time.sleep(300)")
    reward = METEOR(captions.VOCABULARY, timeout=1.0)
    rollout = captions.rollout(BATCH.tokens)
    step = tf.function(lambda: reward(rollout, captions.episode(BATCH.human)))
    with pytest.raises(tf.errors.OpError, match="did not answer for 1 s"):
        step()
    fake_java(WORKING)
    reward.scorer.timeout = 60.0
    np.testing.assert_allclose(step(), WANTED, rtol=1e-6, atol=1e-6)


#: Ways for Python to end, and whether the program answers until then.
ENDINGS = {
    "score(reward)": True,
    "score(reward); os.kill(os.getpid(), 9)": True,
    # The step is waited for, as by Ctrl-C; then Python ends.
    """
reward.scorer.timeout = 5.0
threading.Timer(1.0, lambda: os.kill(os.getpid(), 2)).start()
tf.function(lambda: reward(captions.rollout(BATCH.tokens), captions.episode(
    BATCH.human)))()
""": False,
}


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
def test_the_program_ends_with_python(
    fake_java, fake_package, tmp_path, gone, ending
):
    pid = tmp_path / "pid"
    fake_java(f"""
    import os, time
    with open({str(pid)!r}, "w") as file:
        print(os.getpid(), file=file)
    {WORKING if ENDINGS[ending] else "time.sleep(300)"}
    """)
    source = f"""
import signal
from tests.rewards.test_meteor import *
# A shell's background jobs begin with Ctrl-C ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
reward = METEOR(captions.VOCABULARY)
{ending}
"""
    paths = [str(fake_package.parent), *sys.path]
    done = subprocess.run(
        [sys.executable, "-c", source],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert "Exception ignored" not in done.stderr
    assert ("KeyboardInterrupt" in done.stderr) != ENDINGS[ending]
    assert gone(pid)


def test_what_is_missing_is_told_before_anything_starts(
    fake_java, fake_package
):
    with pytest.raises(text.JavaError, match="METEOR.*no Java.*Install"):
        METEOR(captions.VOCABULARY, java="/no/java")
    fake_java("open('started', 'w')")
    METEOR(captions.VOCABULARY)
    assert not (fake_package / "meteor" / "started").exists()
    (fake_package / "meteor" / "meteor-1.5.jar").unlink()
    with pytest.raises(text.JavaError, match="jar' is missing.*pip install"):
        METEOR(captions.VOCABULARY)


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("java") is None
    or importlib.util.find_spec("pycocoevalcap") is None,
    reason="needs Java and pycocoevalcap",
)
def test_values_are_those_of_an_evaluation():
    said, human = BATCH.aligned(eos=False)
    decode = captions.VOCABULARY.decode
    report = text.evaluate_captions(
        [decode(ids) for ids in said],
        [[decode(ids) for ids in rows] for rows in human],
        metrics=["meteor"],
    )
    found = score(METEOR(captions.VOCABULARY))
    wanted = report.scores["meteor"].each
    assert wanted.max() > 3 * wanted.mean() > 0
    np.testing.assert_allclose(found.ravel(), wanted, rtol=1e-6, atol=1e-6)
