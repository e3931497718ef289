"""Pictures that only pages have: the map of claims, and what a format looks like."""
