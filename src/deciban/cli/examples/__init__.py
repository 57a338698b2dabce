"""Examples that come with deciban: tables as files, and a mailbox that is put together when it is asked for."""
