"""Improved Image Captioning via Policy Gradient of SPIDEr, ICCV 2017."""
