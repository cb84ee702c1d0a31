"""Joint Optimization for Cooperative Image Captioning, ICCV 2019."""
