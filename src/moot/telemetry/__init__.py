"""What a process tells of its work to those who run it: lines in a log, numbers, spans. Never a text of a debate."""
