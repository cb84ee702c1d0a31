"""Bias and variance of every estimator, where all captions can be listed."""
