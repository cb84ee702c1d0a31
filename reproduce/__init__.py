"""The laboratory: the five papers' experiments, run with the kit."""

from reproduce.sweep import load_records
