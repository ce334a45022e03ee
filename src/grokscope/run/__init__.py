"""A stored run as an object, and its network."""
