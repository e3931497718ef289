"""Text and files that can do no harm: printable, contained, whole. Knows nothing of debates."""
