"""The pages of the lectures: their scripts are run, and their numbers compared with independent ones."""
