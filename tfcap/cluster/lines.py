"""Lines of a launcher and its workers, each written whole."""

import sys
import threading

#: Held while a line is written, so that no two share one.
_LINE = threading.Lock()


def tell(text: str):
    """Prints a sentence of the launcher."""
    _write(sys.stderr, f"tfcap.launch: {text}")


def forward(index: int, stream):
    """Prints what a worker prints, its number before every line."""
    for line in stream:
        text = line.decode(errors="replace").rstrip("\n")
        _write(sys.stdout, f"[{index}] {text}")


def _write(stream, text):
    """Writes a line by one call, which `print()` does not."""
    with _LINE:
        stream.write(f"{text}\n")
        stream.flush()
