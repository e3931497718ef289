"""Who runs debates when nobody watches."""
