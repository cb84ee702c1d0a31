"""Recipes: one function a published row, a package a paper."""

from tfcap.recipes import captioning
from tfcap.recipes import distinctive
from tfcap.recipes import sequence_level
from tfcap.recipes import visdial
