"""Debates as a model for any OpenAI client."""
