import numpy as np
import pytest

import tests.testing as contract
from tests import captions
from tests.java_programs import SPICE as PROGRAM
from tfcap.rewards import SPICE
from tfcap.text import JavaError

BATCH = captions.Batch(images=3)
#: By the program of `tests.java_programs`: words in tenths.
WANTED = np.array(
    [[len(caption) / 10 for caption in r] for r in BATCH.captions]
)
WORKING = PROGRAM.replace("VERSION", "1.8.0_312")


def test_values_are_those_of_the_program_in_the_order_of_the_captions(
    fake_java, fake_package, spice_models
):
    fake_java(WORKING)
    reward = SPICE(captions.VOCABULARY, home=spice_models, cache=None)
    assert reward.name == "spice" and not reward.differentiable

    def episode(rows):
        return captions.episode(BATCH.human[rows])

    rollout = captions.rollout(BATCH.tokens)
    found = reward(rollout, episode(slice(None)))
    np.testing.assert_allclose(found, WANTED, rtol=1e-6, atol=1e-6)
    contract.check_reward(reward, rollout, episode, on_host=True)


def test_options_reach_the_program(fake_java, fake_package, spice_models):
    fake_java("import sys; sys.exit('java version \"1.8\"')")
    reward = SPICE(captions.VOCABULARY, home=spice_models, heap="3G")
    fake_java("import sys; sys.exit(' '.join(sys.argv))")
    with pytest.raises(JavaError, match="prints no version"):
        reward(captions.rollout(BATCH.tokens), captions.episode(BATCH.human))


def test_what_is_missing_is_told_where_it_is_made(fake_java, fake_package):
    with pytest.raises(JavaError, match="SPICE.*no Java.*Install"):
        SPICE(captions.VOCABULARY, java="/no/java")
    fake_java(WORKING)
    with pytest.raises(JavaError, match="its models are not in.*Download http"):
        SPICE(captions.VOCABULARY)
    fake_java(PROGRAM.replace("VERSION", "17.0.15"))
    with pytest.raises(JavaError, match="no JavaScript engine.*nashorn"):
        SPICE(captions.VOCABULARY)
