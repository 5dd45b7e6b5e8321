"""Command lines of ramet, run in this process."""

from ramet.commands.main import main


def run(capsys, *argv) -> tuple[int, str, str]:
    """(exit status, output, errors)."""
    try:
        status = main([str(word) for word in argv])
    except SystemExit as stop:  # argparse's way
        status = stop.code
    return status, *capsys.readouterr()


def error_of(capsys, *argv) -> str:
    """The one line that a failing command prints."""
    status, out, err = run(capsys, *argv)
    assert (status, out, err.count("\n")) == (2, "", 1), (argv, out, err)
    assert err.startswith("ramet: error: ")
    return err
