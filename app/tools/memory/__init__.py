"""Memories: what the person's own words taught, in every chat."""
