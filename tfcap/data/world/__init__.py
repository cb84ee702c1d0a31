"""The embedded world: scenes, their captions and dialogs, drawn by seed."""

from tfcap.data.world.captions import describe
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
