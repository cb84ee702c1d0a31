"""The laboratory: the five papers' experiments, run with the kit."""

from reproduce.sweep_records import load_records
