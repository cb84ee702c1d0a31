"""Starting workers: addresses, a network of their own, who has come."""
