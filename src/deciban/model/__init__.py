"""THE NOUN: named columns with roles, and what was learned of them."""
