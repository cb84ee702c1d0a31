"""Files: written whole or not at all, read strictly, within limits.

NumPy alone: importing it loads neither TensorFlow nor Keras.
"""

from tfcap.io.array_file import append_seal
from tfcap.io.array_file import is_sealed
from tfcap.io.array_file import load_arrays
from tfcap.io.array_file import save_arrays
from tfcap.io.command import command
from tfcap.io.durable import has_ended
from tfcap.io.durable import make_folder
from tfcap.io.durable import partial_path
from tfcap.io.durable import remove_abandoned
from tfcap.io.durable import rename
from tfcap.io.durable import sync_folder
from tfcap.io.durable import sync_tree
from tfcap.io.durable import this_machine
from tfcap.io.file_limits import check_dense
from tfcap.io.file_limits import check_regular
from tfcap.io.json_file import malformed
from tfcap.io.json_file import paused_collection
from tfcap.io.json_file import read_json
from tfcap.io.json_file import read_sealed
from tfcap.io.json_file import sealed
from tfcap.io.json_file import unsealed
from tfcap.io.passing_errors import DiskError
from tfcap.io.passing_errors import is_there
from tfcap.io.passing_errors import named
from tfcap.io.passing_errors import status
from tfcap.io.passing_errors import tried_again
from tfcap.io.text_file import read_lines
from tfcap.io.whole_file import can_write
from tfcap.io.whole_file import is_full
from tfcap.io.whole_file import told_if_full
from tfcap.io.whole_file import whole_file
from tfcap.io.whole_file import whole_path
from tfcap.io.whole_file import write_whole
from tfcap.io.whole_file import write_whole_path
