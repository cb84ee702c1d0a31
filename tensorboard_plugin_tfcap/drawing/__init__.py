"""Drawings of figures for files: SVG by ourselves, PDF and PNG by Matplotlib.

A figure is the dict that Plotly draws in the tab; a `Drawing` is what is left
when all is placed: paths, marks and texts. One unit is a point of print.
"""
