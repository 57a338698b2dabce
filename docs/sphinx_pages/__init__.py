"""Pages of the site that are generated, and the extension of Sphinx that writes them (`extension`)."""
