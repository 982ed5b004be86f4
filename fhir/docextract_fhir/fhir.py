"""FHIR R4: transactions."""
import base64
import hashlib
import re
import urllib.parse
from collections.abc import Iterator
from typing import Optional

from .document import NOTE, Document, Measurement, Patient, make_uuid
from .manifest import File
from .text import fhir_line, fhir_text, short
from .values import Number, to_json, to_text

Element = dict[str, object]
URI_SYSTEM = 'urn:ietf:rfc:3986'


def element(**values: object) -> Element:
    """FHIR has no empty elements."""
    return {name: value for name, value in values.items()
            if value not in (None, '', [], {})}


def query(name: str, system: str, value: str) -> str:
    """A search parameter of type token, whose parts have no NOT_IN_TOKEN."""
    return f'{name}={urllib.parse.quote(f"{system}|{value}", safe="")}'


def uri_identifier(uri: str, text: Optional[str] = None) -> Element:
    return element(type=text and {'text': text}, system=URI_SYSTEM, value=uri)


def text_identifier(text: str, value: Optional[str]) -> list[Element]:
    return [{'type': {'text': text}, 'value': fhir_text(value)}] \
        if short(value) else []


def hash_uri(sha256: str) -> str:
    """RFC 6920."""
    digest = base64.urlsafe_b64encode(bytes.fromhex(sha256)).decode()
    return f'ni:///sha-256;{digest.rstrip("=")}'


def fhir_patient(patient: Patient) -> Element:
    name = element(family=fhir_text(patient.last_name),
                   given=patient.first_name and
                   [fhir_text(patient.first_name)])
    return element(
        resourceType='Patient',
        identifier=[{'type': {'text': 'Medical record number'},
                     'system': patient.system, 'value': patient.mrn}],
        name=name and [name], birthDate=patient.birth_date)


def quantity(m: Measurement, number: Number) -> Element:
    return element(value=number, unit=fhir_text(m.unit),
                   system=m.ucum and 'http://unitsofmeasure.org', code=m.ucum)


def observation(document: Document, m: Measurement, subject: Element,
                source: Element, urn: str) -> Element:
    values: Element = {}
    limits: Element = {}
    if m.value.is_plain():
        values['valueQuantity'] = quantity(m, m.value)
    else:
        values['valueString'] = fhir_text(
            f'{m.value.text} {m.unit}' if m.unit else m.value.text)
    if m.range_text() and m.range_is_plain():
        limits = element(low=m.low and quantity(m, m.low),
                         high=m.high and quantity(m, m.high))
    elif m.range_text():
        limits = {'text': m.range_text()}
    return element(
        resourceType='Observation', identifier=[uri_identifier(urn)],
        status='preliminary', code={'text': m.name}, subject=subject,
        issued=document.case.time, **values,
        note=[{'text': NOTE}],
        referenceRange=limits and [limits], derivedFrom=[source])


def listing(document: Document) -> Element:
    """Everything as text: a line for each field."""
    lines = [fhir_line(f'{name}: {to_text(value)}')
             for name, value in [*document.about(), *document.all]]
    data = ('\n'.join(lines) + '\n').encode()
    sha1 = hashlib.sha1(data, usedforsecurity=False).digest()
    return {'contentType': 'text/plain; charset=utf-8',
            'data': base64.b64encode(data).decode(), 'size': len(data),
            'hash': base64.b64encode(sha1).decode(), 'title': 'Extracted data'}


def attachment(file: File) -> Element:
    """A document that was sent; its data are not in it."""
    # No `hash`: in FHIR R4, it is a SHA-1.
    fits = file.sha256 and re.fullmatch('[0-9]{1,9}', file.size.text)
    known = re.fullmatch('[a-z]+/[a-z0-9.+-]+', file.type)
    return element(contentType=file.type if known else None,
                   size=file.size if fits else None,
                   title=fhir_text(file.name))


def document_reference(document: Document, subject: Element,
                       urn: str) -> Element:
    case = document.case
    return element(
        resourceType='DocumentReference',
        identifier=[
            uri_identifier(urn),
            *text_identifier('source id', case.source_id),
            *text_identifier('case id', case.case_id),
            *text_identifier('document id', document.document_id),
            *(uri_identifier(hash_uri(file.sha256),
                             f'SHA-256 of document {file.number}')
              for file in case.files if file.sha256)],
        status='current', docStatus='preliminary',
        type={'text': 'Automatically extracted data'}, subject=subject,
        date=case.time, description=fhir_text(document.case_name),
        content=[{'attachment': listing(document)},
                 *({'attachment': attachment(file)} for file in case.files
                   if attachment(file))])


def provenance(document: Document, targets: list[Element],
               tag: str) -> Element:
    case = document.case
    return element(
        resourceType='Provenance',
        meta={'tag': [{'system': URI_SYSTEM, 'code': tag}]},
        target=targets, recorded=case.time,
        activity={'text': 'Automatic data extraction'},
        agent=[{'type': {'text': 'extraction'},
                'who': {'display': 'Document Extraction Service'}},
               {'type': {'text': 'conversion'},
                'who': {'display': 'docextract-fhir'}}],
        entity=[{'role': 'source',
                 'what': {'identifier': uri_identifier(hash_uri(sha256)),
                          'display': text}}
                for text, sha256 in [
                    *((f'document {file.number}', file.sha256)
                      for file in case.files if file.sha256),
                    ('response of the service', case.sha256)]])


class Transaction:
    """Every resource is only created if it does not exist, so that a repeated
    transaction changes nothing."""

    def __init__(self) -> None:
        self.entries: list[Element] = []

    def add(self, resource: Element, condition: str) -> Element:
        """Returns a reference. It has no identifier's value, because servers
        replace it everywhere."""
        url = make_uuid('entry', condition).urn
        self.entries.append({
            'fullUrl': url, 'resource': resource,
            'request': {'method': 'POST', 'url': resource['resourceType'],
                        'ifNoneExist': condition}})
        return {'reference': url}

    def content(self) -> bytes:
        bundle = {'resourceType': 'Bundle', 'type': 'transaction',
                  'entry': self.entries}
        return (to_json(bundle) + '\n').encode()


def patient_condition(patient: Patient) -> str:
    return query('identifier', patient.system, patient.mrn)


def make_patient(patient: Patient) -> bytes:
    """A transaction of its own: some servers resolve the reference to the
    patient before they create anything."""
    transaction = Transaction()
    transaction.add(fhir_patient(patient), patient_condition(patient))
    return transaction.content()


def make_document(document: Document) -> bytes:
    transaction = Transaction()
    subject: Element = {}
    if document.patient:
        # The patient with the number may have another date of birth: then the
        # server finds none, and must reject the transaction.
        subject = {'reference': f'Patient?{patient_condition(document.patient)}'
                                f'&birthdate={document.patient.birth_date}'}
    urn = document.uuid('document').urn
    source = transaction.add(document_reference(document, subject, urn),
                             query('identifier', URI_SYSTEM, urn))
    targets = [source]
    for m in document.measurements if subject else []:
        urn = document.uuid('observation', m.name).urn
        targets.append(transaction.add(
            observation(document, m, subject, source, urn),
            query('identifier', URI_SYSTEM, urn)))
    urn = document.uuid('provenance').urn  # it has no identifier, but a tag
    transaction.add(provenance(document, targets, urn),
                    query('_tag', URI_SYSTEM, urn))
    return transaction.content()


def make_fhir(document: Document,
              existing_patient: bool) -> Iterator[tuple[str, bytes]]:
    """Yields names and contents of files."""
    key = document.uuid('document')
    if document.patient and not existing_patient:
        yield f'patient-{key}.fhir.json', make_patient(document.patient)
    yield f'{key}.fhir.json', make_document(document)
