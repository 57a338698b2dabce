"""The recipes of docs/guides/mail-recipes.md, taken out of it and run by the programs that they are for."""
