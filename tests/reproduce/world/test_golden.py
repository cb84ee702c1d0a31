"""The drawn world stays the same for a seed, since results were drawn of it."""

import dataclasses
import hashlib
import json

import numpy as np

from reproduce.world import describe
from reproduce.world import describe_video
from reproduce.world import judge_video
from reproduce.world import sample_scene
from reproduce.world import sample_video
from reproduce.world.candidates import build_options
from reproduce.world.dialogs import make_dialog


def digest(values):
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]


def test_scenes_captions_dialogs_and_videos_are_those_of_before():
    rng = np.random.default_rng(11)
    scenes = [sample_scene(rng) for _ in range(60)]
    captions = [describe(scene, rng) for scene in scenes]
    dialogs = [
        make_dialog(scene, five[0], rng)
        for scene, five in zip(scenes, captions)
    ]
    options = build_options(dialogs, rng)
    videos = [sample_video(rng) for _ in range(20)]
    told = [describe_video(video, rng) for video in videos]
    rounds = [
        (r.question, r.answer, r.target, bool(r.pronoun))
        for dialog in dialogs
        for r in dialog.rounds
    ]
    grades = [
        judge_video(video, caption)
        for video in videos
        for caption in sum(told, [])
    ]
    assert {
        "scenes": digest(list(map(dataclasses.asdict, scenes))),
        "captions": digest(captions),
        "rounds": digest(rounds),
        "candidates": digest(options.indices.tolist()),
        "relevance": digest(options.relevance.tolist()),
        "videos": digest(list(map(dataclasses.asdict, videos))),
        "video captions": digest(told),
        "grades": digest(grades),
    } == {
        "scenes": "a5b654090557cb37",
        "captions": "13db3a4bdfe19650",
        "rounds": "7f95a5dd8c29cc54",
        "candidates": "108092a8dff57e25",
        "relevance": "a806556a864f20cc",
        "videos": "d66dad9f737e588c",
        "video captions": "de9affde71b15004",
        "grades": "b1d82581cd1daf43",
    }
