"""How far an outcome can be relied on, computed from turns. Pure: knows no format, store or model."""
