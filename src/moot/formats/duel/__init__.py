"""The duel: pro and con before a judge."""
