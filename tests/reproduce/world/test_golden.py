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
    pairs = zip(scenes, captions)
    dialogs = [make_dialog(scene, five[0], rng) for scene, five in pairs]
    options = build_options(dialogs, rng)
    videos = [sample_video(rng) for _ in range(20)]
    told = [describe_video(video, rng) for video in videos]
    rounds = [r for dialog in dialogs for r in dialog.rounds]
    said = [(r.question, r.answer, r.target, bool(r.pronoun)) for r in rounds]
    all_told = sum(told, [])
    grades = [judge_video(video, text) for video in videos for text in all_told]
    assert (
        [
            digest([*map(dataclasses.asdict, scenes)]),
            digest(captions),
            digest(said),
            digest(options.indices.tolist()),
            digest(options.relevance.tolist()),
            digest([*map(dataclasses.asdict, videos)]),
            digest(told),
            digest(grades),
        ]
        == """
        a5b654090557cb37 13db3a4bdfe19650 7f95a5dd8c29cc54 108092a8dff57e25
        a806556a864f20cc d66dad9f737e588c de9affde71b15004 b1d82581cd1daf43
    """.split()
    )
