"""Figure 3 and Tables 1 to 3 of PSST, from the results of a sweep."""

from reproduce.psst_figures.comparison import write_psst_comparison
from reproduce.psst_figures.figure import curve_figure
from reproduce.psst_figures.figure import curve_panels
from reproduce.psst_figures.figure import listener_panels
from reproduce.psst_figures.figure import write_curve_figure
from reproduce.psst_figures.methods import DECODINGS
from reproduce.psst_figures.methods import HUMAN
from reproduce.psst_figures.methods import TITLES
from reproduce.psst_figures.methods import method_title
from reproduce.psst_figures.methods import published_references
from reproduce.psst_figures.tables import curve_tables
