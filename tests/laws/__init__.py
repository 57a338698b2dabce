"""The algebra that every statistic and every ledger obeys."""
