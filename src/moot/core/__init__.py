"""What a debate is and how it is played: pure, but for the engine's loop."""
