import pytest

from tensorboard_plugin_tfcap.notebook import show_tradeoff


def methods(curves_log, **options):
    rows = show_tradeoff(curves_log, **options).tables[-1].rows
    return list(dict.fromkeys(row[0] for row in rows))


@pytest.mark.parametrize(
    "options, cure",
    [
        ({"x": "nope"}, "`x` must be a metric of the log"),
        ({"order": "nope"}, "`order` must be"),
        ({"at": "first"}, "`at` must be one of"),
        ({"seeds": "all"}, "`seeds` must be one of points"),
        ({"along": "z"}, "`along` must be"),
        ({"level": "2"}, "`level` must be"),
        ({"level": "a"}, "`level` must be a number"),
        ({"value": "nan"}, "`value` must be"),
        ({"preset": "fig9"}, "`preset` must be one of fig3"),
        ({"dark": "yes"}, "`dark` must be"),
        ({"pareto": "yes"}, "`pareto` must be 0 or 1"),
        ({"runs": "a" * 501}, "`runs` must have at most 500"),
        ({"center": "median", "bounds": "student"}, "must be 'bootstrap'"),
        ({"xscale": "square"}, "`xscale` must be one of"),
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
def test_what_a_log_has_not_is_refused(curves_log, options, cure):
    with pytest.raises(ValueError, match=cure):
        show_tradeoff(curves_log, **options)


def test_hiding_all_methods_is_said(curves_log):
    with pytest.raises(ValueError, match="`hide` must leave at least one"):
        show_tradeoff(curves_log, hide=methods(curves_log))


def test_methods_that_other_options_leave_out_may_be_named(curves_log):
    first, *others = methods(curves_log)
    left = methods(curves_log, runs="psst", hide=[*others][-1:], focus=[first])
    assert set(left) < {first, *others}
