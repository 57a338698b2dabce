"""Every kernel against its definition."""
