"""Synthetic scenes and videos, with captions and dialogs, drawn by seed."""

from reproduce.world.captions import describe
from reproduce.world.captions import describe_video
from reproduce.world.clips import MOTIONS
from reproduce.world.clips import Video
from reproduce.world.clips import judge_video
from reproduce.world.clips import motion_scores
from reproduce.world.clips import render_videos
from reproduce.world.clips import sample_video
from reproduce.world.render import render
from reproduce.world.scene_encoder import SceneEncoder
from reproduce.world.scene_encoder import dense_targets
from reproduce.world.scenes import BACKGROUNDS
from reproduce.world.scenes import COLORS
from reproduce.world.scenes import COLUMNS
from reproduce.world.scenes import ROWS
from reproduce.world.scenes import SHAPES
from reproduce.world.scenes import SIZES
from reproduce.world.scenes import TEXTURES
from reproduce.world.scenes import Scene
from reproduce.world.scenes import Thing
from reproduce.world.scenes import sample_scene
from reproduce.world.world import SPLITS
from reproduce.world.world import VideoWorld
from reproduce.world.world import World
from reproduce.world.world import load_video_world
from reproduce.world.world import load_world
