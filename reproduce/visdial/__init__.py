"""Best of Both Worlds: visual dialog, its published rows and tables."""

from reproduce.visdial.command import main
from reproduce.visdial.data import DialogData
from reproduce.visdial.data import challenge_data
from reproduce.visdial.data import challenge_path
from reproduce.visdial.data import visdial_data
from reproduce.visdial.data import world_data
from reproduce.visdial.experiment import DialogExperiment
from reproduce.visdial.networks import ENCODERS
from reproduce.visdial.networks import make_discriminator
from reproduce.visdial.networks import make_generator
from reproduce.visdial.page import write_page
from reproduce.visdial.partner import DialogPartner
from reproduce.visdial.partner import partner_of
from reproduce.visdial.ranks import write_ranks
from reproduce.visdial.rows import ROWS
from reproduce.visdial.settings import PUBLISHED
from reproduce.visdial.settings import SETTINGS
from reproduce.visdial.settings import DialogSettings
from reproduce.visdial.tables import PUBLISHED_FIGURES
from reproduce.visdial.tables import dialog_tables
from reproduce.visdial.tables import sample_table
