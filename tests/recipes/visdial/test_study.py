import json

import pytest

from tensorboard_plugin_tfcap.query import Query
from tensorboard_plugin_tfcap.report import read_log
from tensorboard_plugin_tfcap.sources import Sources
from tests.recipes.visdial.tiny_study import study
from tfcap.recipes.study import Study
from tfcap.training import fit


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A folder in which one row has been trained and ranked."""
    folder = tmp_path_factory.mktemp("study")
    study(folder).result("lf_g")
    return folder


def test_a_study_goes_on_in_its_own_folder_only(done):
    study(done)
    for change in ({"seed": 4}, {"units": 7}):
        with pytest.raises(ValueError, match="another study's se"):
            study(done, **change)


def test_settings_that_came_later_do_not_matter(done, tmp_path):
    about = json.loads((done / "study.json").read_text())
    del about["settings"]["corrupted_negatives"]
    (tmp_path / "study.json").write_text(json.dumps(about))
    study(tmp_path)


def test_greedy_answers_are_kept(done, monkeypatch):
    fresh = study(done)
    kept = fresh.answers("lf_g")
    rounds = fresh.data.test.rounds
    assert len(kept) == len(fresh.data.test) * rounds
    assert fresh.answers("lf_g", limit=2) == kept[: 2 * rounds]
    (done / "lf_g" / "answers.json").unlink()
    assert fresh.answers("lf_g") == kept
    assert fresh.answers("lf_g", limit=2) == kept[: 2 * rounds]


def test_ranks_are_points_for_tensorboard(done):
    log = Sources(read_log(done)).chosen()
    points = {p.run: p for p in log.dataset(Query()).points}
    (test,) = [p for name, p in points.items() if "test_generative" in name]
    assert test.method == "lf_g" and test.seed == 3
    assert test.params == {"ranking": "generative", "split": "test"}
    found = study(done).result("lf_g")["generative"]
    for name in ("mrr", "r@1", "r@5", "r@10", "mean_rank"):
        assert test.metrics[name] == pytest.approx(found[name])
    (held,) = [p for name, p in points.items() if "validation" in name]
    assert held.step == 1 and "mean_rank" in held.metrics


def test_a_report_says_what_the_figures_depend_on(done):
    report = study(done).report(["lf_g"])
    assert report["rows"]["lf_g"] == study(done).result("lf_g")
    assert report["seed"] == 3 and report["data"] == "tiny"
    assert report["settings"]["units"] == 6
    assert report["dialogs"] == {"train": 8, "test": 8}
    assert json.loads(json.dumps(report)) == report


def test_networks_that_are_not_all_there_are_not_loaded(done):
    path = done / "lf_g" / "networks.json"
    assert json.loads(path.read_text()) == ["generator"]
    whole = path.read_text()
    path.unlink()
    # What is not whole is trained again.
    again = study(done).networks("lf_g")["generator"]
    assert path.read_text() == whole
    loaded = study(done).networks("lf_g")["generator"]
    for a, b in zip(again.get_weights(), loaded.get_weights()):
        assert (a == b).all()


@pytest.mark.parametrize("limit, ranked", [(3, 3), (100, 8), (0, None)])
def test_few_dialogs_are_ranked_after_an_epoch(
    tmp_path, monkeypatch, limit, ranked
):
    seen = {}

    def spy(*args, callbacks, **kwargs):
        found = [c.evaluate() for c in callbacks if hasattr(c, "evaluate")]
        seen["count"] = found[0].result()["count"] if found else None
        return fit(*args, callbacks=[], **kwargs)

    monkeypatch.setitem(Study.fit.__globals__, "fit", spy)
    made = study(tmp_path, validation_dialogs=limit)
    made.networks("lf_g")
    index = made.data.validation.question_index
    wanted = None if ranked is None else int((index[:ranked] >= 0).sum())
    assert seen["count"] == wanted
