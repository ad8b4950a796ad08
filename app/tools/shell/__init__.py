"""Commands: the sandbox they run in, how they are run and stopped, and the tools over them."""
