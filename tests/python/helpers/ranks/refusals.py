"""Calls that fail, as ranks tell a test of them."""


def error_of(call) -> str:
    """The type and the message of what a call raises; nothing where it raises nothing."""
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""
