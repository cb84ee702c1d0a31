"""Experiments of the five papers, run with tfcap."""

from reproduce.sweep import load_records
