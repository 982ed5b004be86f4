"""JSON, without the loss of a digit or of a member that is repeated."""
import json
import os
import re
from collections.abc import Iterator
from typing import NoReturn

from .failure import Failure

DIGITS_MAX = 15  # a number with more may be rounded by a receiver


class Number:
    """A JSON number as it is written: no digit is lost."""

    def __init__(self, text: str) -> None:
        self.text = text

    def is_plain(self) -> bool:
        """True if every receiver can represent it exactly."""
        return (re.fullmatch(r'-?[0-9]+(\.[0-9]+)?', self.text) is not None and
                sum(map(str.isdigit, self.text)) <= DIGITS_MAX)


class Repeated(list[object]):
    """All values of a member that occurs several times in an object. This is
    the wrong type for every field, so that none of the values is selected."""


def make_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result: dict[str, object] = {}
    for name, value in pairs:
        earlier = result.get(name)
        if name not in result:
            result[name] = value
        elif isinstance(earlier, Repeated):
            earlier.append(value)
        else:
            result[name] = Repeated([earlier, value])
    return result


def no_constant(_: str) -> NoReturn:
    raise ValueError('NaN and Infinity are not JSON')


def parse_json(content: bytes, what: str, errors: str = 'strict') -> object:
    try:
        value: object = json.loads(
            content.decode('utf-8-sig', errors), parse_int=Number,
            parse_float=Number, parse_constant=no_constant,
            object_pairs_hook=make_object)
    except (ValueError, RecursionError):
        raise Failure(os.EX_DATAERR, f'{what} is not JSON') from None
    return value


def members(value: dict[str, object]) -> Iterator[tuple[str, object]]:
    for name, member in value.items():
        for each in member if isinstance(member, Repeated) else [member]:
            yield name, each


def to_json(value: object) -> str:
    if isinstance(value, Number):
        return value.text
    if isinstance(value, dict):
        return '{' + ','.join(f'{to_json(name)}:{to_json(member)}'
                              for name, member in members(value)) + '}'
    if isinstance(value, list):
        return '[' + ','.join(map(to_json, value)) + ']'
    return json.dumps(value, ensure_ascii=False)


def to_text(value: object) -> str:
    return value if isinstance(value, str) else to_json(value)
