"""Trade-off curves: recall against naturalness, intervals, areas, bands.

NumPy alone: importing it loads neither TensorFlow nor Keras.
"""

from tfcap.curves.aggregate import mean_interval
from tfcap.curves.areas import operating_point
from tfcap.curves.comparison import compare_curves
from tfcap.curves.comparison import curve_overlap
from tfcap.curves.comparison import group_curves
from tfcap.curves.curve import Curve
from tfcap.curves.lines import mean_line
