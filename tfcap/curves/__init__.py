"""Trade-off curves: recall against naturalness, intervals, areas, bands.

NumPy alone: importing it loads neither TensorFlow nor Keras.
"""

from tfcap.curves.aggregate import BOUNDS
from tfcap.curves.aggregate import CENTERS
from tfcap.curves.aggregate import Aggregate
from tfcap.curves.areas import common_range
from tfcap.curves.areas import curve_areas
from tfcap.curves.areas import operating_point
from tfcap.curves.comparison import ComparedCurve
from tfcap.curves.comparison import compare_curves
from tfcap.curves.comparison import curve_overlap
from tfcap.curves.comparison import group_curves
from tfcap.curves.curve import CROSSINGS
from tfcap.curves.curve import Curve
from tfcap.curves.curve import pareto_front
from tfcap.curves.hypervolume import hypervolume
from tfcap.curves.intervals import Interval
from tfcap.curves.intervals import mean_interval
from tfcap.curves.intervals import paired_bootstrap
from tfcap.curves.intervals import student_t_quantile
from tfcap.curves.lines import SPREADS
from tfcap.curves.lines import Line
from tfcap.curves.lines import line_band
from tfcap.curves.lines import mean_line
