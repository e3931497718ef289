"""What fills a seat: a model, a person, a search."""
