"""Recipes: one function a published row."""

from tfcap.recipes.dialog_data import DialogData
from tfcap.recipes.visdial import ROWS
from tfcap.recipes.visdial_data import visdial_data
from tfcap.recipes.visdial_data import world_data
from tfcap.recipes.visdial_networks import ENCODERS
from tfcap.recipes.visdial_networks import make_discriminator
from tfcap.recipes.visdial_networks import make_generator
from tfcap.recipes.visdial_page import write_page
from tfcap.recipes.visdial_partner import DialogPartner
from tfcap.recipes.visdial_settings import PUBLISHED
from tfcap.recipes.visdial_settings import QUICK
from tfcap.recipes.visdial_settings import SETTINGS
from tfcap.recipes.visdial_settings import SMALL_REAL
from tfcap.recipes.visdial_settings import WORLD
from tfcap.recipes.visdial_settings import WORLD_LONG
from tfcap.recipes.visdial_settings import DialogSettings
from tfcap.recipes.visdial_study import DialogStudy
from tfcap.recipes.visdial_tables import PUBLISHED_FIGURES
from tfcap.recipes.visdial_tables import dialog_tables
from tfcap.recipes.visdial_tables import sample_table
