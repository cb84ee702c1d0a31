"""Atomic writing and strict reading of files, within limits.

It needs only NumPy: importing it loads neither TensorFlow nor Keras.
"""

from tfcap._io.array_file import load_arrays
from tfcap._io.array_file import save_arrays
from tfcap._io.command import command
from tfcap._io.json_file import malformed
from tfcap._io.json_file import read_json
from tfcap._io.json_file import read_lines
from tfcap._io.json_file import read_sealed
from tfcap._io.json_file import sealed
from tfcap._io.json_file import unsealed
from tfcap._io.whole_file import can_write
from tfcap._io.whole_file import is_full
from tfcap._io.whole_file import make_folder
from tfcap._io.whole_file import partial_path
from tfcap._io.whole_file import remove_abandoned
from tfcap._io.whole_file import rename
from tfcap._io.whole_file import sync_folder
from tfcap._io.whole_file import sync_tree
from tfcap._io.whole_file import told_if_full
from tfcap._io.whole_file import whole_file
from tfcap._io.whole_file import whole_path
