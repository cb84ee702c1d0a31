import pytest

from tensorboard_plugin_tfcap.notebook import show_tradeoff
from tests.tensorboard_plugin_tfcap.serving import write_curves


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    return write_curves(tmp_path_factory.mktemp("logs"))


def methods(logdir, **options):
    rows = show_tradeoff(logdir, **options).tables[-1].rows
    return list(dict.fromkeys(row[0] for row in rows))


@pytest.mark.parametrize(
    "options, cure",
    [
        ({"hide": "nobody"}, "`hide` must be one of .*Received: hide='nobody'"),
        ({"focus": "nobody"}, "`focus` must be one of "),
        ({"higher": "nothing"}, "`higher` must be one of "),
        ({"lower": "nothing"}, "`lower` must be one of "),
        ({"by": "nothing"}, "`by` must be one of "),
        ({"curve": "nothing"}, "`curve` must be one of "),
        ({"baseline": "nobody"}, "`baseline` must be one of "),
        ({"usual": "0.5"}, "`usual` must come with a `preset`"),
        ({"group": "(?P<x"}, "`group` must be"),
        ({"runs": "zzz"}, "No run matches 'zzz'"),
        ({"where": "lambda=77"}, "No run has lambda=77"),
    ],
)
def test_what_a_log_has_not_is_refused(logdir, options, cure):
    with pytest.raises(ValueError, match=cure):
        show_tradeoff(logdir, **options)


def test_hiding_all_methods_is_said(logdir):
    with pytest.raises(ValueError, match="`hide` must leave a method"):
        show_tradeoff(logdir, hide=methods(logdir))


def test_methods_that_other_options_leave_out_may_be_named(logdir):
    first, *others = methods(logdir)
    left = methods(logdir, runs="psst", hide=[*others][-1:], focus=[first])
    assert set(left) < {first, *others}
