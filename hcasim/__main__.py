"""`python -m hcasim` is the command line."""

from hcasim.cli import main

if __name__ == "__main__":
    main()
