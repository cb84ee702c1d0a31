"""Best of Both Worlds: visual dialog, one function a published row."""

from tfcap.recipes.visdial.dialog_data import DialogData
from tfcap.recipes.visdial.load_data import challenge_data
from tfcap.recipes.visdial.load_data import challenge_path
from tfcap.recipes.visdial.load_data import visdial_data
from tfcap.recipes.visdial.load_data import world_data
from tfcap.recipes.visdial.networks import ENCODERS
from tfcap.recipes.visdial.networks import make_discriminator
from tfcap.recipes.visdial.networks import make_generator
from tfcap.recipes.visdial.page import write_page
from tfcap.recipes.visdial.partner import DialogPartner
from tfcap.recipes.visdial.ranks import write_ranks
from tfcap.recipes.visdial.rows import ROWS
from tfcap.recipes.visdial.settings import PUBLISHED
from tfcap.recipes.visdial.settings import QUICK
from tfcap.recipes.visdial.settings import SETTINGS
from tfcap.recipes.visdial.settings import SMALL_REAL
from tfcap.recipes.visdial.settings import WORLD
from tfcap.recipes.visdial.settings import WORLD_LONG
from tfcap.recipes.visdial.settings import DialogSettings
from tfcap.recipes.visdial.study import DialogStudy
from tfcap.recipes.visdial.tables import PUBLISHED_FIGURES
from tfcap.recipes.visdial.tables import dialog_tables
from tfcap.recipes.visdial.tables import sample_table
