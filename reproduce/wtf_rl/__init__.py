"""Distinctive Image Captioning with ground truth captions, 2024."""
