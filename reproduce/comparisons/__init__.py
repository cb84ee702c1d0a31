"""Comparisons of methods, estimators, truth and held-out listeners."""
