"""DISCRIMINATIVE, the partner: forms fitted to tell the classes apart, in place of forms that a ledger is solved into."""
