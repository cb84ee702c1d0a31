"""All methods of the toolkit on the same axes, from the same networks."""
