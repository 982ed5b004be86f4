"""Manifests: the cases, and the documents that were sent; see
docextract-results(5)."""
import datetime
import os
import re
from typing import Type, TypeVar

from .failure import Failure
from .text import short
from .values import Number

T = TypeVar('T')


def invalid(text: str) -> Failure:
    return Failure(os.EX_DATAERR, f'the manifest is invalid: {text}')


def get(data: object, name: str, kind: Type[T], pattern: str = '') -> T:
    """A member of the manifest; the pattern is that of a text."""
    value = data.get(name) if isinstance(data, dict) else None
    if not isinstance(value, kind) or \
            isinstance(value, str) and not re.search(pattern, value):
        raise invalid(f'"{name}"')
    return value


class File:
    """A document that was sent."""

    def __init__(self, data: object) -> None:
        self.number = get(data, 'document', Number).text
        self.sha256 = get(data, 'sha256', str, r'\A([0-9a-f]{64})?\Z')
        self.size = get(data, 'bytes', Number)
        fields = data if isinstance(data, dict) else {}
        self.name = short(fields.get('name'))
        content_type = fields.get('content_type')
        self.type = content_type if isinstance(content_type, str) else ''


class Case:
    """A case of a manifest."""

    def __init__(self, manifest: object, data: object, time: str) -> None:
        self.time = time
        self.source_id = get(manifest, 'source_id', str, '.')
        self.job_key = get(get(manifest, 'job', dict), 'key', str,
                           r'\A[0-9a-f]{32}\Z')
        self.files = [File(file) for file in get(manifest, 'files', list)]
        self.case_id = get(data, 'case_id', str, '.')
        self.file = get(data, 'file', str, r'\A[^/.][^/\0]*\.json\Z')
        self.sha256 = get(data, 'sha256', str, r'\A[0-9a-f]{64}\Z')


def read_time(manifest: object) -> str:
    times = get(manifest, 'times', dict)
    for name in ('extracted_at', 'complete_at', 'uploaded_at', 'received_at'):
        text = times.get(name)
        if not isinstance(text, str) or not re.fullmatch(
                r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ', text, re.ASCII):
            continue
        try:
            datetime.datetime.strptime(text, '%Y-%m-%dT%H:%M:%SZ')
        except ValueError:
            continue
        return text
    raise invalid('"times"')


def read_cases(manifest: object) -> list[Case]:
    if get(manifest, 'schema', Number).text != '2':
        raise invalid('its schema is not 2')
    outcome = get(manifest, 'outcome', str, r'\A(extracted|failed)\Z')
    is_final = get(manifest, 'final', bool)
    if outcome != 'extracted' or not is_final:
        raise Failure(os.EX_OK, 'nothing is converted: the outcome is '
                      + outcome + ('' if is_final else ', and not final'))
    time = read_time(manifest)
    cases = [Case(manifest, each, time)
             for each in get(manifest, 'cases', list)]
    if not cases:
        raise Failure(os.EX_OK, 'nothing is converted: there are no cases')
    return cases
