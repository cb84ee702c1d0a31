"""The embedded world: scenes and clips, captions and dialogs, drawn by seed."""

from tfcap.data.world.captions import describe
from tfcap.data.world.clip_captions import describe_clip
from tfcap.data.world.clip_judging import judge_clip
from tfcap.data.world.clip_judging import motion_of
from tfcap.data.world.clip_sampler import sample_clip
from tfcap.data.world.clip_world import ClipWorld
from tfcap.data.world.clip_world import load_clip_world
from tfcap.data.world.clips import MOTIONS
from tfcap.data.world.clips import Clip
from tfcap.data.world.clips import clip_from_dict
from tfcap.data.world.clips import clip_to_dict
from tfcap.data.world.clips import render_clips
from tfcap.data.world.render import render
from tfcap.data.world.scene import BACKGROUNDS
from tfcap.data.world.scene import COLORS
from tfcap.data.world.scene import SHAPES
from tfcap.data.world.scene import SIZES
from tfcap.data.world.scene import TEXTURES
from tfcap.data.world.scene import Scene
from tfcap.data.world.scene import Thing
from tfcap.data.world.scene import scene_from_dict
from tfcap.data.world.scene import scene_to_dict
from tfcap.data.world.scene_sampler import sample_scene
from tfcap.data.world.targets import dense_targets
from tfcap.data.world.world import World
from tfcap.data.world.world import load_world
