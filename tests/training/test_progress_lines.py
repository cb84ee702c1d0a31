import itertools
import re
import time

import keras
import numpy as np
import pytest

from tfcap.training import ProgressLines


def fit(callback, epochs=2, **options):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=True)
    x, y = np.ones((6, 2)), np.ones(6)
    model.fit(x, y, 2, epochs, callbacks=[callback], verbose=0, **options)


def test_every_epoch_is_a_line_with_its_loss_and_its_time():
    lines = []
    fit(ProgressLines("speaker_mle", tell=lines.append))
    assert len(lines) == 2
    told = r"speaker_mle: epoch 2 of 2, \d+ s, loss \d"
    assert re.match(told, lines[1])


def test_a_long_epoch_is_told_of_every_minute(monkeypatch):
    # Every look at the clock is 25 seconds later.
    clock = itertools.count(0, 25)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    lines = []
    fit(ProgressLines("it", tell=lines.append), epochs=1)
    assert [line.split(", loss")[0] for line in lines] == [
        "it: epoch 1 of 1, step 3 of 3",
        "it: epoch 1 of 1, 100 s",
    ]


def test_a_run_that_goes_on_counts_from_where_it_was():
    lines = []
    fit(ProgressLines("it", tell=lines.append), 5, initial_epoch=4)
    assert lines[0].startswith("it: epoch 5 of 5")


def test_lines_are_printed_whole(capsys):
    fit(ProgressLines("it"), epochs=1)
    out = capsys.readouterr().out
    assert re.fullmatch(r"it: epoch 1 of 1, \d+ s, loss [\d.]+\n", out)
    with pytest.raises(ValueError, match="`every` must be positive"):
        ProgressLines("it", every=0)
