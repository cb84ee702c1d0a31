"""Best of Both Worlds: visual dialog, one function a published row."""

from reproduce.visdial.dialog_data import DialogData
from reproduce.visdial.load_data import challenge_data
from reproduce.visdial.load_data import challenge_path
from reproduce.visdial.load_data import visdial_data
from reproduce.visdial.load_data import world_data
from reproduce.visdial.networks import ENCODERS
from reproduce.visdial.networks import make_discriminator
from reproduce.visdial.networks import make_generator
from reproduce.visdial.page import write_page
from reproduce.visdial.partner import DialogPartner
from reproduce.visdial.ranks import write_ranks
from reproduce.visdial.rows import ROWS
from reproduce.visdial.settings import PUBLISHED
from reproduce.visdial.settings import QUICK
from reproduce.visdial.settings import SETTINGS
from reproduce.visdial.settings import SMALL_REAL
from reproduce.visdial.settings import WORLD
from reproduce.visdial.settings import WORLD_LONG
from reproduce.visdial.settings import DialogSettings
from reproduce.visdial.study import DialogStudy
from reproduce.visdial.tables import PUBLISHED_FIGURES
from reproduce.visdial.tables import dialog_tables
from reproduce.visdial.tables import sample_table
