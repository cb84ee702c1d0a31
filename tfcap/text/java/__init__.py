"""Programs for Java that COCO caption evaluations call, so that none hangs."""

from tfcap.text.java.meteor import meteor_java
from tfcap.text.java.ptb_tokenizer import ptb_tokenize
from tfcap.text.java.runtime import JavaError
from tfcap.text.java.spice import spice
