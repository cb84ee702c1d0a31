"""All methods on the same axes, from the same networks."""
