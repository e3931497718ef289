"""Text and files that can do no harm: printable, contained, whole, in any language. Knows nothing of debates."""
