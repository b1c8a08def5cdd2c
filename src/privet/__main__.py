"""``python -m privet`` is the command line."""

from privet.cli import main

if __name__ == "__main__":
    main()
