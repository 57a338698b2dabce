"""Side-by-side measurements: speed, memory and start-up against scikit-learn, and figures on real data."""
