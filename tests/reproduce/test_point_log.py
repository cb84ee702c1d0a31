import numpy as np

from reproduce.point_log import kept_report
from reproduce.point_log import log_point
from reproduce.point_log import log_sweep
from reproduce.psst.paper import PSST
from reproduce.world import Scene
from reproduce.world import Thing
from reproduce.world.truth import Truth
from tensorboard_plugin_tfcap.query import Query
from tensorboard_plugin_tfcap.report import read_log
from tensorboard_plugin_tfcap.samples_view import samples_view
from tensorboard_plugin_tfcap.sources import Sources
from tests.reproduce.captioning.tiny_records import RECORDS
from tfcap.training import SpeakerReport

POINT = {"method": "luo2018", "lambda": 0.001, "seed": 0}


def report(text="a dog"):
    one = np.ones(1)
    return SpeakerReport({}, [7], [text], [["A dog."]], one, one, {}, {})


def test_a_sweep_that_was_made_before_is_written(tmp_path):
    log_sweep(tmp_path, PSST, {tmp_path / "sweep": RECORDS})
    points = Sources(read_log(tmp_path)).chosen().dataset(Query()).points
    assert len(points) == len(RECORDS)
    assert {p.params.get("rho") for p in points} == {None, 0.25, 0.5}
    (run,) = [p for p in points if p.run == "luo2018/lambda=0.001,seed=0"]
    assert run.metrics["r@10"] == 55.0 and not run.samples


def test_captions_that_a_sweep_kept_are_written_with_pictures(tmp_path):
    folder = tmp_path / "seed_0" / "points" / "luo2018_lambda_0.001"
    folder.mkdir(parents=True)
    report().save(folder / "captions.json")
    assert kept_report(tmp_path, PSST, POINT).captions == ["a dog"]
    assert kept_report(tmp_path, PSST, {**POINT, "seed": 1}) is None
    logs = tmp_path / "logs"
    record = {**POINT, "cider_d": 1.0, "r@10": 9.0}
    images = np.zeros((1, 8, 8, 3), "uint8")
    log_sweep(logs, PSST, {tmp_path: [record]}, lambda row: images[row])
    run = "luo2018/lambda=0.001,seed=0"
    (item,) = samples_view(read_log(logs), run, None, 0, {})["items"]
    assert item["caption"] == "a dog" and item["image"].startswith("blob?")


def test_where_the_truth_is_known_false_claims_are_marked(tmp_path):
    ball = Thing("ball", "red", "large", "plain", 20.0, 30.0, 9.0)
    truth = Truth([Scene("grass", (ball,))])
    result = {"cider_d": 1.0, "r@10": 9.0}
    log_point(tmp_path, POINT, result, report("a blue ball on"), None, truth)
    run = "luo2018/lambda=0.001,seed=0"
    (item,) = samples_view(read_log(tmp_path), run, None, 0, {})["items"]
    assert item["pieces"][1] == ("blue", "ball: blue")
    assert item["claims"] == {"true": 1, "count": 2, "false": ["ball: blue"]}
    assert item["missing"][:2] == ["on grass", "ball: red"]
