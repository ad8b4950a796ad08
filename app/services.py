"""Builds every collaborator once and passes it down; nobody below takes `Services`."""
