"""THE FRONT DOOR: from a table to a model and a judgement of it; every "auto" is settled here."""
