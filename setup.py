"""The README as a package index shows it.

Pictures and links to files need a checkout, and are left out; all else is in
setup.cfg.
"""

import pathlib
import re

from setuptools import setup

TEXT = (pathlib.Path(__file__).parent / "README.md").read_text("utf-8")
TEXT = re.sub(r"!\[[^\]]*\]\((?!https?:)[^)]*\)\n*", "", TEXT)
TEXT = re.sub(r"\[([^\]]*)\]\((?!https?:|#)[^)]*\)", r"\1", TEXT)

setup(long_description=TEXT, long_description_content_type="text/markdown")
