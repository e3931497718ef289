"""Pictures that only pages have: what a format looks like."""
