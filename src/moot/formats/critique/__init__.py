"""The critique: a proposer answers with reasoning templates, a skeptic attacks, a synthesizer writes the answer."""
