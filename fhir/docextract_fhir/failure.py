"""What the user is told about a manifest that is not converted."""
import re


class Failure(Exception):
    """A manifest that is not converted; the text contains no patient data."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def printable(name: str) -> str:
    return re.sub('[^ -~]', '?', name)


def reason(error: OSError) -> str:
    return error.strerror or 'error'
