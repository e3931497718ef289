"""The poll: independent answers and a rule that counts them."""
