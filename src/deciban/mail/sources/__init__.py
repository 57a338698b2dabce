"""Where messages lie: folders, mbox files, streams and IMAP."""
