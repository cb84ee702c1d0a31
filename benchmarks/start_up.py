"""Time of imports, each in a fresh process.

All rooms beside `import keras`, and those that need NumPy alone beside
`import numpy`.

python benchmarks/start_up.py --rounds 9
"""

import subprocess
import sys

from paired import Row
from paired import main

ROOMS = (
    *("curves", "data", "decoding", "layers", "losses", "methods"),
    *("metrics", "models", "objectives", "rewards", "text", "training"),
)
IMPORTS = {
    "keras": "import keras",
    "all rooms": f"from tfcap import {', '.join(ROOMS)}",
    "numpy": "import numpy",
    "tfcap.text": "import tfcap.text",
    "tfcap.curves": "import tfcap.curves",
}


def importing(source):
    command = [sys.executable, "-c", source]
    options = {"check": True, "stderr": subprocess.DEVNULL}
    return lambda: subprocess.run(command, **options)


def contestants():
    return {name: importing(source) for name, source in IMPORTS.items()}


ROWS = [
    Row("import", "all rooms", "keras", floor=1 / 1.15),
    Row("import", "tfcap.text", "numpy", floor=1 / 2),
    Row("import", "tfcap.curves", "numpy", floor=1 / 2),
]

if __name__ == "__main__":
    main(contestants, ROWS)
