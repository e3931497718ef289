"""A debate in forms that leave moot."""
