"""Time of `import tfcap` beside `import keras`, each in a fresh process.

python benchmarks/start_up.py --rounds 9
"""

import subprocess
import sys

from paired import Row
from paired import main


def importing(name):
    command = [sys.executable, "-c", f"import {name}"]
    options = {"check": True, "stderr": subprocess.DEVNULL}
    return lambda: subprocess.run(command, **options)


def contestants():
    return {name: importing(name) for name in ("keras", "tfcap")}


ROWS = [Row("import", "tfcap", "keras", floor=1 / 1.15)]

if __name__ == "__main__":
    main(contestants, ROWS)
