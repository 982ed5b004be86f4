"""A document of a case: its patient, its measurements, and the rest."""
import datetime
import decimal
import hashlib
import json
import os
import re
import unicodedata
import uuid
from collections.abc import Iterator
from typing import Optional

from .failure import Failure, printable
from .manifest import Case
from .text import short
from .ucum import ucum
from .values import Number, members, parse_json

DOCUMENTS_MAX = 10000  # of a case
NUMBER_MAX_CHARS = 64
BIRTH_YEAR_MIN = 1850
NOT_IN_TOKEN = r'[\\,|$]'  # not every server understands them with a backslash

# Of the ids of all resources; never to be changed.
NAMESPACE = uuid.UUID('6f2d6a0c-31c5-4a7e-9c1f-0b8f5d1f4e7a')
PATIENT_FIELDS = ('patient_first_name', 'patient_last_name', 'patient_mrn',
                  'patient_dob')
MEASUREMENTS = ('wbc_count', 'hemoglobin')
NOTE = 'Extracted automatically from a document; not verified.'


def make_uuid(*names: Optional[str]) -> uuid.UUID:
    return uuid.uuid5(NAMESPACE, json.dumps(names))


def read_mrn(value: object) -> Optional[str]:
    """A medical record number that identifies one patient: not "N/A" or "0000",
    nothing invisible, and nothing that means more than itself in a search."""
    text = short(value)
    if not text or not re.search('[1-9]', text) or \
            text != text.strip() or re.search(NOT_IN_TOKEN, text) or \
            any(unicodedata.category(c)[0] in 'CZ' and c != ' ' for c in text):
        return None
    return text


def read_date(value: object, latest: str) -> Optional[str]:
    """The ISO form of month/day/year without zero padding."""
    match = re.fullmatch('([1-9][0-9]?)/([1-9][0-9]?)/([1-9][0-9]{3})',
                         value if isinstance(value, str) else '')
    try:
        month, day, year = map(int, match.groups()) if match else (0, 0, 0)
        date = datetime.date(year, month, day)
    except ValueError:
        return None
    text = date.isoformat()
    return text if date.year >= BIRTH_YEAR_MIN and text <= latest else None


def read_number(value: object) -> Optional[Number]:
    return value if isinstance(value, Number) and \
        len(value.text) <= NUMBER_MAX_CHARS else None


class Measurement:
    """A measurement object whose value is a number. `rest` has the members that
    are not mapped."""

    def __init__(self, name: str, value: Number,
                 data: dict[str, object]) -> None:
        self.name = name
        self.value = value
        self.unit = short(data.get('measurement_unit'))
        self.ucum = ucum(self.unit)
        limits = data.get('range')
        limits = limits if isinstance(limits, dict) else {}
        self.low = read_number(limits.get('min'))
        self.high = read_number(limits.get('max'))
        known = {'value', 'measurement_unit'} if self.unit else {'value'}
        known |= {'range'} if limits else set()
        self.rest = [(f'{name}.{member}', value)
                     for member, value in members(data) if member not in known]
        known = {member for member, limit in (('min', self.low),
                                              ('max', self.high)) if limit}
        self.rest += [(f'{name}.range.{member}', value)
                      for member, value in members(limits)
                      if member not in known]

    def range_text(self) -> str:
        """As in OBX-7; "" if there is no range."""
        if self.low and self.high:
            return f'{self.low.text}-{self.high.text}'
        return f'>{self.low.text}' if self.low else \
            f'<{self.high.text}' if self.high else ''

    def range_is_plain(self) -> bool:
        if not all(limit.is_plain() for limit in (self.low, self.high)
                   if limit):
            return False
        return not self.low or not self.high or decimal.Decimal(
            self.low.text) <= decimal.Decimal(self.high.text)


def read_measurements(fields: dict[str, object]) -> Iterator[Measurement]:
    for name in MEASUREMENTS:
        data = fields.get(name)
        value = read_number(data.get('value')) if isinstance(data, dict) \
            else None
        if isinstance(data, dict) and value:
            yield Measurement(name, value, data)


class Patient:
    """What identifies a patient, and the name."""

    def __init__(self, system: str, mrn: str, birth_date: str,
                 fields: dict[str, object]) -> None:
        self.system = system
        self.mrn = mrn
        self.birth_date = birth_date
        self.first_name = short(fields.get('patient_first_name'))
        self.last_name = short(fields.get('patient_last_name'))


def read_patient(fields: dict[str, object], latest: str,
                 system: Optional[str]) -> Optional[Patient]:
    mrn = read_mrn(fields.get('patient_mrn'))
    birth_date = read_date(fields.get('patient_dob'), latest)
    if system is None or mrn is None or birth_date is None:
        return None
    return Patient(system, mrn, birth_date, fields)


class Document:
    """A document of a case. Without an id: what the case has besides its
    documents, or a case without documents."""

    def __init__(self, case: Case, case_name: Optional[str],
                 document_id: Optional[str], data: object,
                 mrn_system: Optional[str]) -> None:
        fields = data if isinstance(data, dict) else {}
        self.case = case
        self.case_name = case_name
        self.document_id = document_id
        self.patient = read_patient(fields, case.time[:10], mrn_system)
        self.measurements = list(read_measurements(fields))
        self.all: list[tuple[str, object]] = list(members(data)) \
            if isinstance(data, dict) else [('data', data)]

    def rest(self) -> list[tuple[str, object]]:
        """What is not mapped. Null is no information."""
        known = {m.name for m in self.measurements}
        if self.patient:
            known |= {'patient_mrn', 'patient_dob'}
            known |= {'patient_first_name'} if self.patient.first_name \
                else set()
            known |= {'patient_last_name'} if self.patient.last_name else set()
        rest = [(name, value) for name, value in self.all if name not in known]
        for m in self.measurements:
            rest += m.rest
        return [(name, value) for name, value in rest if value is not None]

    def about(self) -> Iterator[tuple[str, object]]:
        """Where it comes from."""
        case = self.case
        yield 'source_id', case.source_id
        yield 'case_id', case.case_id
        if self.document_id is not None:
            yield 'document_id', self.document_id
        if self.case_name is not None:
            yield 'case_name', self.case_name
        yield 'job', case.job_key
        for file in case.files:
            if file.sha256:
                yield f'sha256 of document {file.number}', file.sha256

    def uuid(self, kind: str, *names: str) -> uuid.UUID:
        """The same for the same document, however often and wherever it is
        delivered."""
        return make_uuid(kind, self.case.case_id, self.document_id, *names)


def common_patient(data: dict[str, object]) -> dict[str, object]:
    """The fields of the patient that are the same in all documents."""
    first, *others = data.values() or [{}]
    return {name: first[name] for name in PATIENT_FIELDS
            if isinstance(first, dict) and short(first.get(name)) and
            all(isinstance(other, dict) and other.get(name) == first[name]
                for other in others)}


def read_documents(case: Case, content: bytes,
                   mrn_system: Optional[str]) -> list[Document]:
    """The documents of a case; the content is that of its result."""
    what = f'result {printable(case.file)}'
    if hashlib.sha256(content).hexdigest() != case.sha256:
        raise Failure(os.EX_DATAERR, f'{what} is damaged')
    root = parse_json(content, what, 'replace')
    results = root.get('results') if isinstance(root, dict) else None
    if not isinstance(results, dict) or results.get('status') != 'complete':
        raise Failure(os.EX_DATAERR, f'{what} is not a result of the service')
    data = results.get('medical_data')
    data = data if isinstance(data, dict) else {}
    if len(data) > DOCUMENTS_MAX:
        raise Failure(os.EX_DATAERR,
                      f'{what} has more than {DOCUMENTS_MAX} documents')
    case_name = short(results.get('case_name'))
    known = {'status', 'id', 'source_id'}
    known |= {'case_name'} if case_name else set()
    known |= {'medical_data'} if data else set()
    others = {f'results.{name}': value for name, value in results.items()
              if name not in known}
    documents: list[tuple[Optional[str], object]] = list(data.items())
    if others or not documents:
        documents.append((None, common_patient(data) | others))
    return [Document(case, case_name, document_id, document, mrn_system)
            for document_id, document in documents]
