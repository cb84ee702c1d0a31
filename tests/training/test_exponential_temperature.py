import math

import pytest

from tfcap.training import ExponentialTemperature


def test_temperature_cools_to_its_floor():
    schedule = ExponentialTemperature(2.0, rate=0.1, minimum=0.5)
    for step in range(30):
        expected = max(0.5, 2.0 * math.exp(-0.1 * step))
        assert float(schedule(step)) == pytest.approx(expected)
    assert float(schedule(29)) == 0.5


@pytest.mark.parametrize("minimum", [0.0, 1.5])
def test_a_floor_above_the_start_or_at_zero_is_refused(minimum):
    with pytest.raises(ValueError, match="`minimum` must be positive and at"):
        ExponentialTemperature(1.0, minimum=minimum)
