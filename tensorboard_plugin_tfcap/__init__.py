"""A TensorBoard plugin that draws recall against naturalness.

It starts without Keras, TensorFlow and tfcap: whatever is installed beside it,
TensorBoard starts, too.
"""
