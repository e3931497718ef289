"""Reading documents, and finding text by words and meaning: sources, passages, embedders, reasoning templates."""
