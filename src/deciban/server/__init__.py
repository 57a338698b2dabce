"""A REST service of table models: predictions, explanations, exact learning and forgetting."""
