"""Truth of captions as a reward, on the embedded world."""
