"""`python -m tileblas` is the `tileblas` command."""

from tileblas.cli import main

if __name__ == "__main__":
    main()
