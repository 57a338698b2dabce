"""A message as data: headers, parts, decoded text, HTML, links, and the digest it is recognised by."""
