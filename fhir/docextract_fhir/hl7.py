"""HL7 v2.5.1: messages."""
import base64
import re
from collections.abc import Iterator, Sequence
from typing import Union

from .document import NOTE, Document, Measurement
from .text import hl7_text
from .values import to_text

NTE_CHARS = 8000  # an escaped character has up to 7, and a field 65,536

# A tuple has the components of a field, and in it one of subcomponents.
Field = Union[str, Sequence['Field']]


def join(separators: str, value: Field) -> str:
    if isinstance(value, str):
        return hl7_text(value)
    text = separators[0].join(join(separators[1:], each) for each in value)
    return text.rstrip(separators[0])


def segment(name: str, *fields: Field) -> str:
    return '|'.join([name, *(join('^&', each) for each in fields)]).rstrip('|')


def hl7_time(time: str) -> str:
    return re.sub('[-T:Z]', '', time) + '+0000'


def authority(system: str) -> Field:
    """HD: namespace, universal id, and the type of that."""
    for prefix, kind in (('urn:oid:', 'ISO'), ('urn:uuid:', 'UUID')):
        if system.startswith(prefix):
            return '', system[len(prefix):], kind
    return '', system, 'URI'


def notes(lines: list[tuple[str, object]]) -> list[str]:
    texts = [f'{name}: {to_text(value)}' for name, value in lines]
    chunks = [text[at:at + NTE_CHARS] for text in texts
              for at in range(0, len(text), NTE_CHARS)]
    return [segment('NTE', str(i), '', chunk)
            for i, chunk in enumerate(chunks, 1)]


def observation(number: int, m: Measurement) -> str:
    return segment('OBX', str(number), 'NM' if m.value.is_plain() else 'ST',
                   ('', m.name), '', m.value.text,
                   (m.ucum or '', m.unit or '', 'UCUM' if m.ucum else ''),
                   m.range_text(), '', '', '', 'P')


def make_message(document: Document) -> str:
    """ORU^R01; without PID unless the patient is known."""
    case, patient = document.case, document.patient
    time = hl7_time(case.time)
    key = document.uuid('document')
    # MSH-10 has at most 20 characters.
    control_id = base64.b32encode(key.bytes).decode()[:20]
    segments = [r'MSH|^~\&|' + segment(
        'DOCEXTRACT', '', '', '', time, '', ('ORU', 'R01', 'ORU_R01'),
        control_id, 'P', '2.5.1', '', '', '', '', '', 'UNICODE UTF-8')]
    if patient:
        name = patient.last_name or '', patient.first_name or ''
        segments.append(segment(
            'PID', '1', '', (patient.mrn, '', '', authority(patient.system),
                             'MR'), '',
            name if any(name) else ('', '', '', '', '', '', 'U'), '',
            patient.birth_date.replace('-', '')))
    segments.append(segment(
        'OBR', '1', '', (str(key), 'DOCEXTRACT'), ('', 'Extracted data'),
        *[''] * 17, time, '', '', 'P'))
    segments += notes([
        ('note', NOTE), *document.about(), *document.rest()])
    segments += [observation(i, m)
                 for i, m in enumerate(document.measurements, 1)]
    return ''.join(each + '\r' for each in segments)


def make_hl7(document: Document, _: bool) -> Iterator[tuple[str, bytes]]:
    """Yields the name and the content of a file."""
    yield f'{document.uuid("document")}.hl7', make_message(document).encode()
