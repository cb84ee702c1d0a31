"""Networks: speakers, listeners and image encoders, without losses."""

from tfcap.models.dialog_discriminator import DialogDiscriminator
from tfcap.models.dialog_generator import DialogGenerator
from tfcap.models.scene_encoder import SceneEncoder
