"""Table models: columns with roles, and what was learned of them."""
