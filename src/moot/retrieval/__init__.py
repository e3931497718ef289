"""Finding text by meaning: embedders, stores of vectors, passages of a long text and the reasoning templates."""
