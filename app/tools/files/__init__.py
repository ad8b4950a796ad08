"""Reading, writing and finding files, inside the work folder unless the person allowed otherwise."""
