"""Ground truth of synthetic videos: scenes in which one thing changes."""

import dataclasses

import numpy as np

from reproduce.world.render import render
from reproduce.world.scene import IMAGE_SIZE
from reproduce.world.scene import Scene
from reproduce.world.scene import Thing
from reproduce.world.scene import scene_from_dict
from reproduce.world.scene import scene_to_dict

#: What may happen in a video; in `"turns"`, a thing takes another color.
MOTIONS = (
    "left",
    "right",
    "up",
    "down",
    "grows",
    "shrinks",
    "turns",
    "appears",
    "disappears",
    "still",
)
#: Motions that take a thing to another place.
MOVES = MOTIONS[:4]


@dataclasses.dataclass(frozen=True)
class Video:
    """What a video shows, exactly: the truth that its captions are held to.

    Args:
        scene: `Scene` of all things, as they are in the beginning or, for one
            that appears, when it does.
        motion: String, one of `MOTIONS`.
        mover: Integer, the thing that it happens to.
        end: `Thing`, what becomes of it.
        when: Float, share of the video after which it turns, appears or
            disappears at once; other things happen all the while.

    Example:

    >>> from reproduce.world import Video, Scene, Thing
    >>> ball = Thing("ball", "red", "large", "plain", 20.0, 30.0, 9.0)
    >>> video = Video(Scene("grass", (ball,)), "disappears", 0, ball)
    >>> [len(scene.things) for scene in video.frames(4)]
    [1, 1, 0, 0]
    """

    scene: Scene
    motion: str
    mover: int
    end: Thing
    when: float = 0.5

    def scene_at(self, share):
        """The `Scene` at a share of the video, from 0 to 1."""
        begin, end, later = self.start, self.end, share > self.when
        if self.motion == ("disappears" if later else "appears"):
            shown = ()
        else:
            look = end if later else begin
            middle = {
                name: getattr(begin, name)
                + share * (getattr(end, name) - getattr(begin, name))
                for name in ("x", "y", "radius")
            }
            shown = (dataclasses.replace(look, **middle),)
        things = self.scene.things
        return Scene(
            self.scene.background,
            (*things[: self.mover], *shown, *things[self.mover + 1 :]),
        )

    def frames(self, count=8):
        """The scenes of some frames, the first and the last among them."""
        return [
            self.scene_at(share) for share in np.linspace(0, 1, count).tolist()
        ]

    @property
    def start(self):
        """The thing that it happens to, as it is in the beginning."""
        return self.scene.things[self.mover]


def render_videos(videos, frames=8):
    """Draws videos, frame by frame on one background.

    Args:
        videos: Sequence of `Video`.
        frames: Integer `F`. Defaults to `8`.

    Returns:
        Uint8 array of shape `(B, F, 64, 64, 3)`, RGB.

    Example:

    >>> from reproduce.world import render_videos, sample_video
    >>> video = sample_video(np.random.default_rng(0))
    >>> render_videos([video], frames=3).shape
    (1, 3, 64, 64, 3)
    """
    scenes = [scene for video in videos for scene in video.frames(frames)]
    grounds = [video.scene for video in videos for _ in range(frames)]
    shape = len(videos), frames, IMAGE_SIZE, IMAGE_SIZE, 3
    return render(scenes, grounds).reshape(shape)


def video_to_dict(video):
    """Turns a `Video` into a nest of plain values, ready for JSON."""
    return {
        "scene": scene_to_dict(video.scene),
        "motion": video.motion,
        "mover": video.mover,
        "end": dataclasses.asdict(video.end),
        "when": video.when,
    }


def video_from_dict(values):
    """Turns what `video_to_dict()` returned into the same `Video` again."""
    scene, end = scene_from_dict(values["scene"]), Thing(**values["end"])
    return Video(**{**values, "scene": scene, "end": end})
