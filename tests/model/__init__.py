"""The table model."""
