"""The evaluation: an idea defended, attacked and scored."""
