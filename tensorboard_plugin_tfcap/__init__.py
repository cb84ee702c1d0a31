"""A TensorBoard plugin that plots recall against naturalness.

It loads without Keras and TensorFlow, so that TensorBoard starts whatever else
is installed.
"""
