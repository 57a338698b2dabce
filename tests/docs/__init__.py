"""What is written down is true of the code."""
