"""`python -m deciban` is the command `deciban`."""

from deciban.cli.main import main

if __name__ == "__main__":
    main()
