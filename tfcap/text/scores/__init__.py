"""Scores of captions on the host: exact to the reference codes."""
