"""The lectures' numbers and identities, each citing the section of the mathematics it comes from."""
