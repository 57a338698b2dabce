"""Sources of mail: folders, mbox files, streams and IMAP."""
