"""Training where the data is: the statistics of a table are computed by GROUP BY inside its database."""
