"""Best of Both Worlds: visual dialog, its published rows and tables."""

from reproduce.visdial.command import main
from reproduce.visdial.data import DialogData
from reproduce.visdial.data import challenge_data
from reproduce.visdial.data import visdial_data
from reproduce.visdial.data import world_data
from reproduce.visdial.experiment import DialogExperiment
from reproduce.visdial.page import sample_table
from reproduce.visdial.page import write_page
from reproduce.visdial.rows import ENCODERS
from reproduce.visdial.rows import ROWS
from reproduce.visdial.rows import make_discriminator
from reproduce.visdial.rows import make_generator
from reproduce.visdial.settings import PUBLISHED
from reproduce.visdial.settings import SETTINGS
from reproduce.visdial.settings import DialogSettings
from reproduce.visdial.summary import summary_tables
