"""Better Captioning with Sequence-Level Exploration, CVPR 2020."""
