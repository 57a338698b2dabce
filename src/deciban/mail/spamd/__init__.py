"""A server for SpamAssassin's `spamc`."""
