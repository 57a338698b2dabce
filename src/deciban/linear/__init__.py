"""The partner: score forms fitted to tell the classes apart, in place of those that a ledger is solved into."""
