"""The mail reader, compiled: the tokens that `deciban.mail.numbering` gives, sooner."""
