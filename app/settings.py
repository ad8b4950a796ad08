"""Settings: read once, passed as values."""
