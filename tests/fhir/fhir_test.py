"""fhir_test.py PROGRAM - unit tests of docextract-fhir."""
import base64
import codecs
import contextlib
import hashlib
import http.server
import io
import json
import os
import re
import shutil
import socketserver
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, NoReturn

from docextract_fhir import cli, fhir  # type: ignore[import]
from generate import deliver, generate

Resource = dict[str, Any]
Bundle = dict[str, Any]
Answer = Callable[[Bundle], tuple[int, object]]
ExcInfo = tuple[type[BaseException], BaseException, TracebackType] | \
    tuple[None, None, None]

PROGRAM = os.path.abspath(sys.argv[1])
TOP = os.path.dirname(os.path.abspath(__file__)) + '/../..'
EXAMPLES = TOP + '/doc/examples'
SYSTEM = 'urn:oid:1.2.3'
PATIENT = {'patient_first_name': 'Ann', 'patient_last_name': 'Ahrens',
           'patient_mrn': 'A-1', 'patient_dob': '3/7/1984'}
WBC = '{"value": 6.50, "measurement_unit": "10^3/uL", ' \
      '"range": {"min": 4.5, "max": 11.0}}'


class Digits(str):
    """A number as it is written."""


def read_bundle(path: str) -> Any:
    with open(path, encoding='utf-8') as file:
        return json.load(file, parse_float=Digits, parse_int=Digits)


class Converted:
    """What was written for one document, and the transaction that creates its
    patient."""

    def __init__(self, directory: str, name: str) -> None:
        path = os.path.join(directory, name + '.fhir.json')
        with open(path, encoding='utf-8') as file:
            self.text = file.read()
        with open(os.path.join(directory, name + '.hl7'), encoding='utf-8',
                  newline='') as file:
            self.message = file.read()
        self.bundle = read_bundle(path)
        self.resources = [e['resource'] for e in self.bundle['entry']]
        self.document = self.of('DocumentReference')[0]
        self.subject = self.document.get('subject', {}).get('reference')
        path = os.path.join(directory, f'patient-{name}.fhir.json')
        self.patients = [read_bundle(path)] if os.path.exists(path) else []
        self.resources += [bundle['entry'][0]['resource']
                           for bundle in self.patients]
        self.listing = base64.b64decode(
            self.document['content'][0]['attachment']['data']).decode()

    def of(self, kind: str) -> list[Resource]:
        return [r for r in self.resources if r['resourceType'] == kind]

    def segments(self, name: str) -> list[list[str]]:
        return [segment.split('|') for segment in self.message.split('\r')
                if segment.startswith(name + '|')]

    def notes(self) -> list[str]:
        return [note[3] for note in self.segments('NTE')]


def strings(value: object) -> Iterator[str]:
    """All strings, in any depth, but no numbers; an empty one for what is empty
    or null."""
    if value in ({}, [], None):
        yield ''
    elif isinstance(value, dict):
        for member in value.values():
            yield from strings(member)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, str) and not isinstance(value, Digits):
        yield value


class Test(unittest.TestCase):
    maxDiff = None

    def setUp(self) -> None:
        self.dir = self.enterContext(tempfile.TemporaryDirectory())
        self.results = self.new_directory('results')
        self.out = self.new_directory('out')

    def new_directory(self, name: str) -> str:
        path = os.path.join(self.dir, name)
        os.mkdir(path)
        return path

    def run_main(self, *arguments: str) -> object:
        """Returns the status; self.said has the messages."""
        said = io.StringIO()
        with contextlib.redirect_stderr(said), \
                contextlib.redirect_stdout(said):
            try:
                status = cli.main(list(arguments), '1.2.3')
            except SystemExit as error:
                status = error.code
        self.said = said.getvalue()
        return status

    def convert(self, *manifests: str,
                options: Sequence[str] = ('--mrn-system', SYSTEM),
                out: str | None = None) -> object:
        return self.run_main('--output', out or self.out, *options, *manifests)

    def deliver(self, results: str, source: str = 'S', case: str = 'C',
                **changes: object) -> str:
        """The result, as JSON without its end."""
        content = f'{{"status": 200, "results": {{"status": "complete", ' \
                  f'{results}}}}}'
        return deliver(self.results, source,
                       {case: content.encode('utf-8', 'surrogatepass')},
                       **changes)

    def deliver_document(self, **fields: str) -> str:
        """With fields as JSON."""
        text = ', '.join(f'"{name}": {value}' for name, value in fields.items())
        return self.deliver(f'"medical_data": {{"D": {{{text}}}}}')

    def patient_fields(self, **changes: object) -> dict[str, str]:
        return {name: json.dumps(value)
                for name, value in (PATIENT | changes).items()}

    def outputs(self, out: str | None = None) -> list[Converted]:
        names = sorted(name.removesuffix('.hl7')
                       for name in os.listdir(out or self.out)
                       if name.endswith('.hl7'))
        return [Converted(out or self.out, name) for name in names]

    def one(self, **fields: str) -> Converted:
        """The conversion of a document with these fields, as JSON."""
        out = tempfile.mkdtemp(dir=self.dir)
        self.assertEqual(self.convert(self.deliver_document(**fields),
                                      out=out), 0, getattr(self, 'said', ''))
        converted, = self.outputs(out)
        return converted

    def contents(self, directory: str) -> dict[str, bytes]:
        def content(name: str) -> bytes:
            with open(os.path.join(directory, name), 'rb') as file:
                return file.read()
        return {name: content(name) for name in os.listdir(directory)}


class Patients(Test):
    def test_patient_is_only_created_if_the_number_does_not_exist(self) -> None:
        one = self.one(**self.patient_fields(patient_mrn='A 1&b=c'))
        patient, = one.of('Patient')
        self.assertEqual(patient['identifier'][0]['system'], SYSTEM)
        self.assertEqual(patient['identifier'][0]['value'], 'A 1&b=c')
        self.assertEqual(patient['name'],
                         [{'family': 'Ahrens', 'given': ['Ann']}])
        self.assertEqual(patient['birthDate'], '1984-03-07')
        bundle, = one.patients
        self.assertEqual(bundle['type'], 'transaction')
        self.assertEqual(len(bundle['entry']), 1)
        request = bundle['entry'][0]['request']
        self.assertEqual(request['method'], 'POST')
        self.assertEqual(urllib.parse.parse_qs(request['ifNoneExist']),
                         {'identifier': [f'{SYSTEM}|A 1&b=c']})
        pid, = one.segments('PID')
        self.assertEqual(pid[3], r'A 1\T\b=c^^^&1.2.3&ISO^MR')
        self.assertEqual(pid[5], 'Ahrens^Ann')
        self.assertEqual(pid[7], '19840307')

    def test_everything_is_only_created_and_only_if_it_does_not_exist(
            self) -> None:
        one = self.one(wbc_count=WBC, **self.patient_fields())
        self.assertEqual(one.bundle['type'], 'transaction')
        for entry in one.bundle['entry'] + one.patients[0]['entry']:
            self.assertEqual(entry['request']['method'], 'POST')
            self.assertRegex(entry['request']['ifNoneExist'],
                             '^(identifier|_tag)=urn%3A[^&]+$')

    def test_only_a_patient_with_number_and_birth_date_is_referred_to(
            self) -> None:
        path = self.deliver_document(wbc_count=WBC, **self.patient_fields())
        options: Any  # the lists have different types
        for options, n_patients in ([], 1), (['--existing-patient'], 0):
            out = tempfile.mkdtemp(dir=self.dir)
            self.convert(path, options=[*options, '--mrn-system', SYSTEM],
                         out=out)
            one, = self.outputs(out)
            self.assertEqual(len(one.of('Patient')), n_patients)
            for resource in one.of('Observation') + one.of('DocumentReference'):
                self.assertEqual(
                    resource['subject']['reference'],
                    'Patient?identifier=urn%3Aoid%3A1.2.3%7CA-1'
                    '&birthdate=1984-03-07')

    def assert_by_hand(self, one: Converted) -> None:
        self.assertEqual([r['resourceType'] for r in one.resources],
                         ['DocumentReference', 'Provenance'])
        self.assertNotIn('subject', one.document)
        self.assertEqual(one.segments('PID'), [])

    def test_number_that_does_not_identify_a_patient_is_not_used(self) -> None:
        for mrn in ('null', '""', '" "', '1', '["1"]', '{"a": "1"}', '"N/A"',
                    '"unknown"', '"0000"', '"1|2"', '"1,2"', '"1$2"',
                    r'"1\\2"', '" 1"', '"1 "', r'"1\n"', r'"1\u0000"',
                    r'"1\u200b2"', r'"1\u202e2"', r'"1\u00a02"', r'"\ud8001"',
                    json.dumps('1' * 300)):
            with self.subTest(mrn=mrn[:20]):
                self.assert_by_hand(self.one(**self.patient_fields() | {
                    'patient_mrn': mrn, 'wbc_count': WBC}))

    def test_date_of_birth_is_a_date_in_the_documented_form(self) -> None:
        for text, date in (
                ('3/7/1984', '1984-03-07'), ('12/31/1999', '1999-12-31'),
                ('2/29/2000', '2000-02-29'), ('1/15/2027', '2027-01-15'),
                ('1/1/1850', '1850-01-01')):
            one = self.one(**self.patient_fields(patient_dob=text))
            self.assertEqual(one.of('Patient')[0]['birthDate'], date)
        for text in ('"2/30/2020"', '"2/29/1900"', '"13/1/2020"', '"1/1/0001"',
                     '"1/1/1849"', '"1/16/2027"', '"03/07/1984"',
                     '"1984-03-07"', '"3/7/84"', '"3/7/1984 "', '"٣/٧/١٩٨٤"',
                     '"0/0/0000"', '"3/7/1984 12:00"', '""', 'null',
                     '19840307', '[]', r'"3/7/1984\n"'):
            with self.subTest(text=text):
                self.assert_by_hand(self.one(**self.patient_fields() | {
                    'patient_dob': text, 'wbc_count': WBC}))

    def test_without_a_system_there_is_no_patient(self) -> None:
        path = self.deliver_document(wbc_count=WBC, **self.patient_fields())
        self.assertEqual(self.convert(path, options=()), 0)
        self.assert_by_hand(self.outputs()[0])

    def test_what_is_matched_by_hand_has_all_values_as_text(self) -> None:
        one = self.one(wbc_count=WBC, **self.patient_fields(patient_mrn=''))
        self.assertIn('patient_last_name: Ahrens\n', one.listing)
        self.assertIn('patient_dob: 3/7/1984\n', one.listing)
        self.assertIn('wbc_count: {"value":6.50,', one.listing)
        self.assertIn('patient_last_name: Ahrens', one.notes())
        self.assertEqual(one.segments('OBX')[0][5], '6.50')

    def test_documents_of_a_case_are_independent(self) -> None:
        ann, ben, unknown = (json.dumps(
            PATIENT | change) for change in (  # type: ignore[operator]
            {}, {'patient_mrn': 'B-2', 'patient_first_name': 'Ben'},
            {'patient_mrn': None}))
        self.convert(self.deliver(
            f'"case_name": "chart", "medical_data": '
            f'{{"1": {ann}, "2": {ben}, "3": {unknown}}}'))
        found = set()
        for one in self.outputs():
            text = one.text + one.listing + one.message + str(one.patients)
            mrns = [p['identifier'][0]['value'] for p in one.of('Patient')]
            found.add((*mrns, *(word for word in ('A-1', 'B-2')
                                if word in text)))
        self.assertEqual(found, {('A-1', 'A-1'), ('B-2', 'B-2'), ()})

    def test_patient_of_all_documents_is_that_of_the_rest_of_the_case(
            self) -> None:
        for mrn, n_patients in (('A-1', 2), ('B-2', 2), (None, 1)):
            with self.subTest(mrn=mrn):
                out = self.new_directory(f'out-{mrn}')
                ann, other = (json.dumps(PATIENT | {'patient_mrn': m})
                              for m in ('A-1', mrn))
                self.convert(self.deliver(
                    f'"extra": "Ann", "patient_mrn": "C-3", "medical_data": '
                    f'{{"1": {ann}, "2": {other}}}'), out=out)
                rest, = [o for o in self.outputs(out)
                         if 'results.extra: Ann' in o.listing]
                self.assertEqual(len(rest.of('Patient')), mrn == 'A-1')
                self.assertNotIn('C-3', rest.text)
                self.assertIn('results.patient_mrn: C-3', rest.listing)
                self.assertEqual(
                    sum(len(o.of('Patient')) for o in self.outputs(out)),
                    n_patients + (mrn == 'A-1'))

    def test_name_may_be_missing(self) -> None:
        one = self.one(patient_mrn='"1"', patient_dob='"3/7/1984"')
        self.assertNotIn('name', one.of('Patient')[0])
        self.assertEqual(one.segments('PID')[0][5], '^^^^^^U')

    def test_assigning_authority_has_the_type_of_the_uri(self) -> None:
        path = self.deliver_document(**self.patient_fields())
        for system, authority in (
                ('urn:oid:1.2', '&1.2&ISO'), ('urn:uuid:1-2', '&1-2&UUID'),
                ('https://h.example/a&b', r'&https://h.example/a\T\b&URI')):
            self.convert(path, options=['--mrn-system', system])
            self.assertEqual(self.outputs()[0].segments('PID')[0][3],
                             f'A-1^^^{authority}^MR')


class Measurements(Test):
    def values(self, value: str, unit: str = '"g/dL"',
               limits: str = '{}') -> tuple[Converted, Resource, list[str]]:
        one = self.one(**self.patient_fields(), hemoglobin=(
            f'{{"value": {value}, "measurement_unit": {unit}, '
            f'"range": {limits}}}'))
        return one, one.of('Observation')[0], one.segments('OBX')[0]

    def test_observation_is_preliminary_and_has_only_text_as_its_code(
            self) -> None:
        one = self.one(wbc_count=WBC, **self.patient_fields())
        observation, = one.of('Observation')
        self.assertEqual(observation['status'], 'preliminary')
        self.assertEqual(observation['code'], {'text': 'wbc_count'})
        self.assertEqual(observation['issued'], '2027-01-15T08:00:08Z')
        self.assertEqual(one.document['docStatus'], 'preliminary')
        self.assertNotIn('"coding"', one.text)
        quantity = {'unit': '10^3/uL', 'system': 'http://unitsofmeasure.org',
                    'code': '10*3/uL'}
        self.assertEqual(observation['valueQuantity'],
                         {'value': '6.50', **quantity})
        self.assertEqual(observation['referenceRange'],
                         [{'low': {'value': '4.5', **quantity},
                           'high': {'value': '11.0', **quantity}}])
        self.assertEqual(one.message.split('\r')[-2], 'OBX|1|NM|^wbc_count||'
                         r'6.50|10*3/uL^10\S\3/uL^UCUM|4.5-11.0||||P')
        self.assertEqual(one.segments('OBR')[0][25], 'P')

    def test_number_keeps_its_digits(self) -> None:
        for number in ('0', '-0', '0.10', '6.50', '-1.5', '0.000', '100.00',
                       '999999999999999', '0.12345678901234'):
            with self.subTest(number=number):
                one, observation, obx = self.values(number)
                self.assertEqual(observation['valueQuantity']['value'], number)
                self.assertIn(f'"value":{number},', one.text)
                self.assertEqual(obx[2:6], ['NM', '^hemoglobin', '', number])

    def test_number_that_a_receiver_could_change_is_text(self) -> None:
        for number in ('1e400', '-1E-400', '1e3', '1e999999999999999999999',
                       '1000000000000000', '0.123456789012345678901234567890',
                       '123456789012345678901234567890'):
            with self.subTest(number=number):
                one, observation, obx = self.values(number)
                self.assertNotIn('valueQuantity', observation)
                self.assertEqual(observation['valueString'], f'{number} g/dL')
                self.assertEqual(obx[2:7], ['ST', '^hemoglobin', '', number,
                                            'g/dL^g/dL^UCUM'])

    def test_known_unit_has_a_ucum_code(self) -> None:
        for unit, code in (
                ('g/dL', 'g/dL'), ('g/dl', 'g/dL'), ('10^3/uL', '10*3/uL'),
                ('10^3/µL', '10*3/uL'), ('10^3/μL', '10*3/uL'),
                ('x10³/µL', '10*3/uL'), ('K/uL', '10*3/uL'), (' g/L ', 'g/L'),
                ('10^9/L', '10*9/L'), ('cells/uL', '/uL')):
            with self.subTest(unit=unit):
                _, observation, obx = self.values('1', json.dumps(unit))
                quantity = observation['valueQuantity']
                self.assertEqual(quantity['code'], code)
                self.assertEqual(quantity['unit'], unit)
                self.assertEqual(obx[6].split('^')[0], code)

    def test_unknown_unit_is_text(self) -> None:
        for unit in ('furlong', 'G', 'mg/dL', '10^3', 'M/uL'):
            _, observation, obx = self.values('1', json.dumps(unit))
            self.assertEqual(observation['valueQuantity'],
                             {'value': '1', 'unit': unit})
            self.assertEqual(obx[6], '^' + unit.replace('^', '\\S\\'))

    def test_unit_that_is_none_is_kept_as_text(self) -> None:
        for unit in ('1', '[]', '"  "', json.dumps('x' * 300)):
            one, observation, obx = self.values('1', unit)
            self.assertEqual(observation['valueQuantity'], {'value': '1'})
            self.assertEqual(obx[6], '')
            self.assertIn('hemoglobin.measurement_unit: ' + unit.strip('"'),
                          one.notes())

    def test_range_is_mapped_if_it_is_one(self) -> None:
        def low_and_high(limits: str) -> tuple[object, str, list[str]]:
            one, observation, obx = self.values('1', 'null', limits)
            fhir, = observation.get('referenceRange', [None])
            return fhir, obx[7] if len(obx) > 7 else '', one.notes()[6:]
        one, two = {'value': '1'}, {'value': '2.0'}
        self.assertEqual(low_and_high('{"min": 1, "max": 2.0}'),
                         ({'low': one, 'high': two}, '1-2.0', []))
        self.assertEqual(low_and_high('{"min": 1}'), ({'low': one}, '>1', []))
        self.assertEqual(low_and_high('{"min": null, "max": 2.0}'),
                         ({'high': two}, '<2.0', []))
        self.assertEqual(low_and_high('{"min": 1, "max": 1}'),
                         ({'low': one, 'high': one}, '1-1', []))
        self.assertEqual(low_and_high('{"min": 2.0, "max": 1}'),
                         ({'text': '2.0-1'}, '2.0-1', []))
        self.assertEqual(low_and_high('{"min": 1, "max": 1e400}'),
                         ({'text': '1-1e400'}, '1-1e400', []))
        self.assertEqual(low_and_high('{"min": "1", "max": 2.0, "x": [1.0]}'),
                         ({'high': two}, '<2.0', [
                             'hemoglobin.range.min: 1',
                             'hemoglobin.range.x: [1.0]']))
        self.assertEqual(low_and_high('null'), (None, '', []))
        self.assertEqual(low_and_high('"1-2"'),
                         (None, '', ['hemoglobin.range: 1-2']))

    def test_what_is_no_measurement_is_kept_as_text(self) -> None:
        for value in ('"6.5"', '6.5', '[6.5]', '{"value":"6.5"}',
                      '{"value":[6.5]}', '{"x":6.50}', '{"value":6,"value":7}',
                      '{"value":' + '9' * 100 + '}', 'true'):
            with self.subTest(value=value):
                one = self.one(hemoglobin=value, **self.patient_fields())
                self.assertEqual(one.of('Observation'), [])
                self.assertEqual(one.segments('OBX'), [])
                text = f'hemoglobin: {value.strip(chr(34))}'
                self.assertIn(text + '\n', one.listing)
                self.assertIn(text, one.notes())

    def test_other_fields_with_the_form_of_a_measurement_are_text(self) -> None:
        one = self.one(platelets=WBC, **self.patient_fields())
        self.assertEqual(one.of('Observation'), [])
        self.assertIn('platelets: {"value":6.50,"measurement_unit":"10^3/uL",'
                      '"range":{"min":4.5,"max":11.0}}\n', one.listing)


class Texts(Test):
    def test_repeated_member_is_ambiguous_and_none_is_selected(self) -> None:
        path = self.deliver(
            '"medical_data": {"D": {"patient_mrn": "1", "patient_mrn": "2", '
            f'"patient_dob": "3/7/1984", "wbc_count": {WBC}, '
            '"wbc_count": {"value": 7}}}')
        self.convert(path)
        one, = self.outputs()
        self.assertEqual(one.of('Patient'), [])
        self.assertEqual(one.segments('OBX'), [])
        self.assertEqual(re.findall('patient_mrn: (.)', one.listing),
                         ['1', '2'])
        self.assertIn('wbc_count: {"value":7}', one.notes())

    def test_nested_members_are_kept_with_their_digits(self) -> None:
        value = '{"a":[1.50,1e400,{"b":null}],"a":"é😀","c":{}}'
        one = self.one(unknown=value, **self.patient_fields())
        self.assertIn(f'unknown: {value}\n', one.listing)
        self.assertIn(f'unknown: {value}', one.notes())

    def test_line_break_does_not_begin_what_looks_like_another_field(
            self) -> None:
        for end in (r'\n', r'\r', r'\u0085', r'\u2028', r'\u000b'):
            one = self.one(**self.patient_fields(), note=(
                f'"x{end}patient_mrn: 666"'))
            self.assertEqual(sum(line.startswith('patient_mrn: ')
                                 for line in one.listing.splitlines()), 1)

    def test_hl7_delimiters_and_controls_are_escaped(self) -> None:
        one = self.one(**self.patient_fields(
            patient_last_name='|^&~\\', patient_first_name='a\rPID|\n\x85é'))
        self.assertEqual(one.segments('PID')[0][5],
                         '\\F\\\\S\\\\T\\\\R\\\\E\\'
                         '^a\\X0D\\PID\\F\\\\X0A\\\\XC285\\é')
        self.assertEqual(len(one.segments('PID')), 1)
        self.assertNotIn('\n', one.message)
        self.assertEqual(one.segments('MSH')[0][17], 'UNICODE UTF-8')
        self.assertTrue(one.message.startswith('MSH|^~\\&|DOCEXTRACT|'))

    def test_no_value_means_delete_in_hl7(self) -> None:
        one = self.one(**self.patient_fields(patient_first_name='""',
                                             patient_last_name='""'))
        self.assertEqual(one.segments('PID')[0][5],
                         r'\X22\\X22\^\X22\\X22\ '.strip())
        one = self.one(**self.patient_fields(), hemoglobin=(
            r'{"value": 1, "measurement_unit": "\"\""}'))
        self.assertNotRegex(one.message, r'[|^]""[|^\r]')

    def test_long_text_is_divided_into_notes(self) -> None:
        text = '\x85' * 30000
        one = self.one(long=json.dumps(text), **self.patient_fields())
        notes = one.notes()[6:]
        self.assertEqual(''.join(notes), 'long: ' + '\\XC285\\' * 30000)
        self.assertTrue(all(len(note.encode()) < 65536 for note in notes))

    def test_text_that_reverses_others_is_replaced(self) -> None:
        one = self.one(**self.patient_fields(patient_last_name='a\u202eb'),
                       x=r'"\u2066c"')
        for text in (one.text, one.message, one.listing):
            self.assertNotRegex(text, '[\u202a-\u202e\u2066-\u2069]')
        self.assertEqual(one.of('Patient')[0]['name'][0]['family'],
                         'a\ufffdb')

    def test_right_to_left_text_and_emoji_are_kept(self) -> None:
        one = self.one(**self.patient_fields(patient_last_name='כהן 😀'))
        self.assertEqual(one.of('Patient')[0]['name'][0]['family'], 'כהן 😀')
        self.assertIn('כהן 😀^', one.segments('PID')[0][5])

    def test_hostile_results_conform_to_the_rules_of_fhir(self) -> None:
        for path in generate(self.results, 200):
            self.assertEqual(self.convert(path), 0, self.said)
        outputs = self.outputs()
        self.assertGreater(len(outputs), 300)
        self.assertGreater(sum(len(o.of('Observation')) for o in outputs), 99)
        for one in outputs:
            urls = [entry['fullUrl'] for entry in one.bundle['entry']]
            self.assertEqual(len(urls), len(set(urls)))
            for text in strings(one.bundle):
                self.assertTrue(text.strip(), repr(text))
                self.assertNotRegex(text, '[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f'
                                    '\ud800-\udfff\ufffe\uffff]')
                if text.startswith('urn:uuid:'):
                    self.assertRegex(text, '^urn:uuid:[0-9a-f-]{36}$')
            for reference in re.findall('"reference":"([^"]*)"', one.text):
                self.assertIn(reference, {*urls, one.subject})
            for entry in (e for bundle in one.patients for e in bundle['entry']):
                self.assertEqual(
                    one.subject,
                    f"Patient?{entry['request']['ifNoneExist']}&birthdate="
                    f"{entry['resource']['birthDate']}")
            self.assertRegex(one.message, r'\A(?:[A-Z]{3}\|[^\0-\x1f\x7f-\x9f'
                             r'\ud800-\udfff]+\r)+\Z')
            self.assertEqual(
                [s[:3] for s in one.message.split('\r')[:-1]],
                ['MSH', *['PID'] * len(one.of('Patient')), 'OBR',
                 *['NTE'] * len(one.segments('NTE')),
                 *['OBX'] * len(one.segments('OBX'))])


class Documents(Test):
    def test_document_reference_has_the_hash_of_what_was_sent(self) -> None:
        one = self.one(**self.patient_fields())
        sha256 = hashlib.sha256(b'S').digest()
        uri = 'ni:///sha-256;' + \
            base64.urlsafe_b64encode(sha256).decode().rstrip('=')
        self.assertIn({'type': {'text': 'SHA-256 of document 1'},
                       'system': 'urn:ietf:rfc:3986', 'value': uri},
                      one.document['identifier'])
        self.assertIn(f'sha256 of document 1: {sha256.hex()}\n', one.listing)
        self.assertIn(f'sha256 of document 1: {sha256.hex()}', one.notes())
        listing, sent = (c['attachment'] for c in one.document['content'])
        data = base64.b64decode(listing['data'])
        self.assertEqual(listing['hash'], base64.b64encode(
            hashlib.sha1(data).digest()).decode())
        self.assertEqual(listing['size'], str(len(data)))
        self.assertEqual(sent, {'contentType': 'application/pdf', 'size': '1',
                                'title': 'Secret file.pdf'})

    def test_provenance_has_sources_and_targets(self) -> None:
        one = self.one(wbc_count=WBC, **self.patient_fields())
        provenance, = one.of('Provenance')
        urls = [entry['fullUrl'] for entry in one.bundle['entry']]
        self.assertEqual([t['reference'] for t in provenance['target']],
                         urls[:2])
        self.assertEqual(provenance['recorded'], '2027-01-15T08:00:08Z')
        self.assertEqual([e['what']['display'] for e in provenance['entity']],
                         ['document 1', 'response of the service'])
        self.assertEqual(one.of('Observation')[0]['derivedFrom'],
                         [{'reference': urls[0]}])

    def test_case_without_documents_is_matched_by_hand(self) -> None:
        for data in ('"medical_data": {}', '"medical_data": null', '"x": 1',
                     '"id": "C"',
                     '"medical_data": [1]',
                     '"medical_data": {"D": {}}, "medical_data": {"D": 1}'):
            with self.subTest(data=data):
                out = tempfile.mkdtemp(dir=self.dir)
                self.convert(self.deliver(data), out=out)
                one, = self.outputs(out)
                self.assertEqual(one.of('Patient'), [])
                self.assertIn('case_id: C\n', one.listing)

    def test_document_that_is_no_object_is_kept_as_text(self) -> None:
        self.convert(self.deliver('"medical_data": {"D": [1.50, "x"]}'))
        one, = self.outputs()
        self.assertIn('data: [1.50,"x"]\n', one.listing)
        self.assertIn('data: [1.50,"x"]', one.notes())

    def test_ids_depend_only_on_the_case_and_the_document(self) -> None:
        document = json.dumps(PATIENT)[:-1] + f', "wbc_count": {WBC}}}'
        def identities(source: str, case: str = 'C',
                       document_id: str = 'D') -> tuple[str, list[Any], str]:
            out = tempfile.mkdtemp(dir=self.dir)
            self.convert(self.deliver(
                f'"medical_data": {{"{document_id}": {document}}}', source,
                case), out=out)
            one, = self.outputs(out)
            name, = {name.removeprefix('patient-')[:36]
                     for name in os.listdir(out)}
            return name, [
                (e['fullUrl'], e['request']['ifNoneExist'])
                for e in one.patients[0]['entry'] + one.bundle['entry']], \
                one.segments('MSH')[0][9]
        first = identities('S1')
        self.assertEqual(first, identities('S2'))
        patient = first[1][0]
        for other in (identities('S1', case='C2'),
                      identities('S1', document_id='D2')):
            self.assertNotEqual(first[0], other[0])
            self.assertNotEqual(first[2], other[2])
            self.assertEqual(set(first[1]) & set(other[1]), {patient})

    def test_control_id_has_at_most_20_characters(self) -> None:
        one = self.one(**self.patient_fields())
        self.assertRegex(one.segments('MSH')[0][9], '^[A-Z2-7]{20}$')

    def test_too_many_documents_are_refused(self) -> None:
        documents = ','.join(f'"{i}":{{}}' for i in range(10001))
        self.assertEqual(self.convert(self.deliver(
            f'"medical_data": {{{documents}}}')), os.EX_DATAERR)
        self.assertEqual(os.listdir(self.out), [])


class Files(Test):
    def test_byte_order_mark_is_ignored(self) -> None:
        manifest = deliver(self.results, 'S', {'C': codecs.BOM_UTF8 + json.dumps(
            {'status': 200, 'results': {'status': 'complete', 'medical_data': {
                'D': PATIENT}}}).encode()})
        self.assertEqual(self.convert(manifest), 0)
        self.assertEqual(len(self.outputs()), 1)

    def test_same_input_gives_the_same_bytes(self) -> None:
        paths = generate(self.results, 50)
        other = self.new_directory('other')
        subprocess.run([PROGRAM, '--output', other, '--mrn-system', SYSTEM,
                        *paths], check=True, env={'PYTHONHASHSEED': '1',
                                                  'TZ': 'Asia/Tokyo'})
        self.convert(*paths)
        self.assertEqual(self.contents(self.out), self.contents(other))

    def test_unchanged_file_is_not_written_again(self) -> None:
        path = self.deliver_document(**self.patient_fields())
        def state() -> set[tuple[str, int]]:
            return {(name, os.stat(os.path.join(self.out, name)).st_ino)
                    for name in os.listdir(self.out)}
        self.convert(path)
        before = state()
        self.convert(path)
        self.assertEqual(before, state())
        name = min(before)[0]
        with open(os.path.join(self.out, name), 'a', encoding='ascii') as file:
            file.write('x')
        self.convert(path)
        self.assertNotEqual(before, state())
        self.outputs()

    def test_results_are_not_changed(self) -> None:
        path = self.deliver_document(**self.patient_fields())
        before = self.contents(self.results)
        self.convert(path)
        self.assertEqual(self.contents(self.results), before)

    def test_file_has_its_mode_whatever_the_umask(self) -> None:
        umask = os.umask(0o077)
        self.addCleanup(os.umask, umask)
        self.convert(self.deliver_document())
        os.umask(0)
        self.convert(self.deliver('"medical_data": {}', 'S2', 'C2'))
        modes = {oct(os.stat(os.path.join(self.out, name)).st_mode)
                 for name in os.listdir(self.out)}
        self.assertEqual(modes, {'0o100640'})

    def test_link_in_the_place_of_an_output_is_replaced(self) -> None:
        path = self.deliver_document(**self.patient_fields())
        self.convert(path)
        before = self.contents(self.out)
        victim = os.path.join(self.dir, 'victim')
        with open(victim, 'w', encoding='ascii') as file:
            file.write('x')
        for name in list(before):
            os.unlink(os.path.join(self.out, name))
            os.symlink(victim, os.path.join(self.out, name))
            os.symlink(victim, os.path.join(self.out, f'.{name}.new'))
        self.assertEqual(self.convert(path), 0)
        self.assertEqual(self.contents(self.out), before)
        with open(victim, encoding='ascii') as file:
            self.assertEqual(file.read(), 'x')

    def test_failed_write_leaves_the_earlier_file_and_nothing_else(
            self) -> None:
        path = self.deliver_document(**self.patient_fields())
        self.convert(path, options=())
        before = self.contents(self.out)
        fsync = os.fsync
        self.addCleanup(setattr, os, 'fsync', fsync)
        def full(_: object) -> NoReturn:
            raise OSError(28, 'No space left on device')
        os.fsync = full  # type: ignore[assignment]
        self.assertEqual(self.convert(path), os.EX_CANTCREAT)
        self.assertIn('No space left on device', self.said)
        self.assertEqual(self.contents(self.out), before)

    def test_missing_output_directory_is_an_error(self) -> None:
        path = self.deliver_document()
        self.assertEqual(self.convert(path, out=self.dir + '/no'),
                         os.EX_CANTCREAT)

    def test_format_can_be_selected(self) -> None:
        path = self.deliver_document()
        for options, suffixes in (
                (['--fhir'], {'json'}), (['--hl7'], {'hl7'}),
                (['--fhir', '--hl7'], {'json', 'hl7'})):
            out = tempfile.mkdtemp(dir=self.dir)
            self.convert(path, options=options, out=out)
            self.assertEqual({name.rpartition('.')[2]
                              for name in os.listdir(out)}, suffixes)

    def test_names_and_messages_have_no_patient_data(self) -> None:
        path = self.deliver(
            '"case_name": "Ahrens", "medical_data": {"Ahrens": '
            f'{json.dumps(PATIENT)}}}')
        self.convert(path)
        self.assertNotRegex(' '.join(os.listdir(self.out)), 'Ahrens|A-1|Secret')
        with open(os.path.join(self.results, 'S-C.json'), 'a',
                  encoding='ascii') as file:
            file.write('Ahrens')
        self.assertEqual(self.convert(path), os.EX_DATAERR)
        self.assertRegex(self.said, r'^docextract-fhir: S\.job\.json: result '
                         r'S-C\.json is damaged\n$')

    def test_internal_error_does_not_show_the_value(self) -> None:
        path = self.deliver_document(**self.patient_fields())
        self.addCleanup(setattr, fhir, 'make_document', fhir.make_document)
        def fail(document: Any) -> NoReturn:
            raise ValueError(document.patient.last_name)
        fhir.make_document = fail
        self.assertEqual(self.convert(path), os.EX_SOFTWARE)
        self.assertRegex(self.said, 'internal error, ValueError in '
                         r'fhir_test\.py, line \d+\n$')
        self.assertNotIn('Ahrens', self.said)


class Manifests(Test):
    def test_only_a_final_extracted_outcome_is_converted(self) -> None:
        changes: Any
        for changes, text in (
                ({'outcome': 'failed', 'cases': []}, 'the outcome is failed$'),
                ({'outcome': 'failed', 'final': False, 'cases': []},
                 'the outcome is failed, and not final$'),
                ({'final': False}, 'the outcome is extracted, and not final$'),
                ({'cases': []}, 'there are no cases$')):
            with self.subTest(changes=changes):
                path = self.deliver('"medical_data": {}', **changes)
                self.assertEqual(self.convert(path), os.EX_OK)
                self.assertRegex(self.said, f'nothing is converted: {text}')
                self.assertEqual(os.listdir(self.out), [])

    def test_invalid_manifest_is_refused(self) -> None:
        changes: Any
        case = {'case_id': 'C', 'file': 'S-C.json', 'sha256': '0' * 64}
        for changes in (
                {'schema': 3}, {'schema': '2'}, {'schema': None},
                {'outcome': 'maybe'}, {'final': 1}, {'source_id': None},
                {'job': {}}, {'files': {}}, {'files': [{}]}, {'cases': {}},
                {'cases': [case | {'file': '../S-C.json'}]},
                {'cases': [case | {'file': '.S-C.json'}]},
                {'cases': [case | {'file': 'a/S-C.json'}]},
                {'cases': [case | {'file': 'S\0-C.json'}]},
                {'cases': [case | {'sha256': 'x'}]},
                {'cases': [case | {'case_id': ''}]}, {'times': {}},
                {'times': {'extracted_at': '2027-13-01T00:00:00Z'}},
                {'times': {'extracted_at': '2027-1-1T00:00:00Z'}}):
            with self.subTest(changes=changes):
                path = self.deliver('"medical_data": {}', **changes)
                self.assertEqual(self.convert(path), os.EX_DATAERR)
                self.assertIn('the manifest is invalid: ', self.said)
        for content in (b'', b'{', b'[]', b'1', b'\xff{}', b'[' * 100000,
                        b'{"schema": NaN}', b'{"schema": 2, "schema": 2}'):
            with open(path, 'wb') as file:
                file.write(content)
            self.assertEqual(self.convert(path), os.EX_DATAERR)
        self.assertEqual(os.listdir(self.out), [])

    def test_result_that_is_none_is_refused(self) -> None:
        for content in (b'', b'{', b'[]', b'{"results": 1}', b'{"results": {}}',
                        b'{"results": {"status": "processing"}}',
                        b'{"results": {"status": "complete", "x": NaN}}',
                        b'[' * 100000):
            with self.subTest(content=content[:20]):
                path = deliver(self.results, 'S', {'C': content})
                self.assertEqual(self.convert(path), os.EX_DATAERR)
                self.assertEqual(os.listdir(self.out), [])

    def test_only_ordinary_files_are_read(self) -> None:
        def case(replace: Callable[[str], object], status: int,
                 text: str = 'cannot read') -> None:
            path = self.deliver('"medical_data": {}')
            for name in ('S.job.json', 'S-C.json'):
                file = os.path.join(self.results, name)
                os.rename(file, file + '.away')
                replace(file)
                self.assertEqual(self.convert(path), status)
                self.assertIn(text, self.said)
                if os.path.lexists(file):
                    os.rmdir(file) if os.path.isdir(file) else os.unlink(file)
                os.rename(file + '.away', file)
        case(lambda file: None, os.EX_NOINPUT)
        case(lambda file: os.symlink(file + '.away', file), os.EX_NOINPUT)
        case(os.mkfifo, os.EX_NOINPUT)
        case(os.mkdir, os.EX_NOINPUT)
        def large(file: str) -> None:
            with open(file, 'wb') as sparse:
                sparse.truncate(8 * 2 ** 20 + 1)
        case(large, os.EX_DATAERR, 'Larger than 8 MiB')
        self.assertEqual(os.listdir(self.out), [])
        self.assertEqual(self.convert(self.dir + '/no/S.job.json'),
                         os.EX_NOINPUT)

    def test_failure_of_one_manifest_does_not_stop_the_others(self) -> None:
        good = self.deliver_document()
        self.assertEqual(self.convert(self.dir + '/no.job.json', good,
                                      __file__), os.EX_NOINPUT)
        self.assertEqual(len(self.outputs()), 1)

    def test_invalid_utf8_is_replaced(self) -> None:
        path = deliver(self.results, 'S', {'C': (
            b'{"results": {"status": "complete", "medical_data": '
            b'{"D": {"x": "\xff\xc0"}}}}')})
        self.assertEqual(self.convert(path), 0)
        self.assertIn('x: \ufffd\ufffd\n', self.outputs()[0].listing)


class CommandLine(Test):
    def test_wrong_command_line_is_a_usage_error(self) -> None:
        arguments: Any  # the lists have different types
        for arguments in ([], ['x'], ['--output', 'x'], ['--out', 'x', 'y'],
                          ['--output', 'x', '--no', 'y'],
                          ['--output', 'x', '--mrn-system', 'mrn', 'y'],
                          ['--output', 'x', '--mrn-system', 'a:b c', 'y'],
                          ['--output', 'x', '--mrn-system', 'a:b|c', 'y']):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.run_main(*arguments), os.EX_USAGE)

    def test_version_and_help_are_printed(self) -> None:
        self.assertEqual(self.run_main('--version'), 0)
        self.assertEqual(self.said, 'docextract-fhir 1.2.3\n')
        self.assertEqual(self.run_main('--help'), 0)
        self.assertIn('--existing-patient', self.said)

    def test_messages_can_go_to_syslog(self) -> None:
        sent: list[str] = []
        self.addCleanup(setattr, cli.syslog, 'syslog', cli.syslog.syslog)
        cli.syslog.syslog = lambda _, text: sent.append(text)
        path = self.deliver('"medical_data": {}', outcome='failed', cases=[])
        self.convert(path, options=['--syslog'])
        self.assertEqual(sent, ['S.job.json: nothing is converted: the outcome '
                                'is failed'])
        self.assertEqual(self.said, '')

    def test_environment_and_directory_choose_no_code(self) -> None:
        directory = self.new_directory('docextract_fhir')
        with open(os.path.join(directory, '__init__.py'), 'w') as file:
            file.write('raise SystemExit(99)')
        for name in ('argparse.py', 'sitecustomize.py'):
            shutil.copy(os.path.join(directory, '__init__.py'),
                        os.path.join(self.dir, name))
        done = subprocess.run(
            [PROGRAM, '--version'], cwd=self.dir, capture_output=True,
            env={'PYTHONPATH': self.dir, 'PYTHONSAFEPATH': ''})
        self.assertRegex(done.stdout, rb'^docextract-fhir \d+\.\d+\.\d+\n$')

    def test_program_runs_as_a_hook(self) -> None:
        path = self.deliver_document(**self.patient_fields())
        done = subprocess.run(
            [PROGRAM, '--output', self.out, '--mrn-system', SYSTEM, path],
            env={'PATH': '/usr/bin:/bin'}, cwd='/', check=True,
            stdin=subprocess.DEVNULL, capture_output=True, umask=0o077)
        self.assertEqual(done.stdout + done.stderr, b'')
        self.assertEqual(len(self.outputs()[0].of('Patient')), 1)


class Server(http.server.BaseHTTPRequestHandler):
    """Responds as `self.server.answer` says."""

    server: Any

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers['Content-Length']))
        bundle = json.loads(body)
        self.server.received.append(bundle['entry'][0]['resource'])
        status, answer = self.server.answer(bundle)
        content = answer if isinstance(answer, bytes) else \
            json.dumps(answer).encode()
        self.send_response(status)
        self.send_header('Content-Length', str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


class Receiver(socketserver.StreamRequestHandler):
    """Responds as `self.server.answer` says; None closes the connection."""

    server: Any

    def handle(self) -> None:
        message = b''
        while not message.endswith(b'\x1c\r'):
            message += self.request.recv(65536)
        answer = self.server.answer(message.split(b'|')[9])
        if answer is not None:
            self.request.sendall(b'\v' + answer + b'\x1c\r')


class Senders(Test):
    """The examples that send what was converted."""

    def setUp(self) -> None:
        super().setUp()
        self.convert(self.deliver_document(wbc_count=WBC,
                                           **self.patient_fields()))

    def serve(self, server: Any) -> Any:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        server.received = []
        return server

    def send(self, program: str, *address: str) -> tuple[int, list[str]]:
        """Returns the status and the names of the files that are left."""
        done = subprocess.run(
            [os.path.join(EXAMPLES, program), *address, self.out],
            stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.said = done.stdout + done.stderr
        suffix = '.hl7' if 'hl7' in program else '.fhir.json'
        return done.returncode, sorted(name for name in os.listdir(self.out)
                                       if name.endswith(suffix))

    def test_only_transactions_of_which_all_entries_succeed_are_deleted(
            self) -> None:
        server = self.serve(http.server.HTTPServer(('127.0.0.1', 0), Server))
        url = f'http://127.0.0.1:{server.server_port}/r4'
        before = self.send('send-fhir.sh', 'http://127.0.0.1:0/')
        self.assertEqual((before[0], len(before[1])), (1, 2))

        def statuses(*each: str | None) -> Bundle:
            return {'resourceType': 'Bundle', 'type': 'transaction-response',
                    'entry': [{'response': {'status': s}} for s in each]}

        def respond(change: Callable[[int], object],
                    status: int = 200) -> Answer:
            return lambda bundle: (status, change(len(bundle['entry'])))
        for answer in (
                respond(lambda n: statuses(*['201 Created'] * (n - 1), '412')),
                respond(lambda n: statuses(*['201'] * (n - 1), '2010')),
                respond(lambda n: statuses(*['201'] * (n - 1), None)),
                respond(lambda n: statuses(*['201'] * (n - 1))),
                respond(lambda n: statuses(*['201'] * (n + 1))),
                respond(lambda n: statuses()),
                respond(lambda n: statuses(*['201'] * n), 422),
                respond(lambda n: statuses(*['201'] * n), 413),
                respond(lambda n: statuses(*['201'] * n) | {'type': 'x'}),
                respond(lambda n: {'resourceType': 'OperationOutcome'}),
                respond(lambda n: b'<html>Sign in</html>'),
                respond(lambda n: b'')):
            server.answer = answer
            self.assertEqual(self.send('send-fhir.sh', url), before)
            for name in before[1]:
                self.assertIn(f'{name} was not accepted', self.said)
            self.assertNotIn('Ahrens', self.said)
        # An atomic server refuses the document of another patient.
        server.received.clear()
        server.answer = lambda bundle: (
            201 if len(bundle['entry']) == 1 else 412,
            statuses(*['200 OK'] * len(bundle['entry'])))
        self.assertEqual(self.send('send-fhir.sh', url), (1, [
            name for name in before[1] if not name.startswith('patient-')]))
        self.assertEqual([r['resourceType'] for r in server.received],
                         ['Patient', 'DocumentReference'])
        server.answer = respond(
            lambda n: statuses('201 Created', *['200'] * (n - 1)))
        self.assertEqual(self.send('send-fhir.sh', url), (0, []))

    def test_only_messages_that_the_receiver_accepts_are_deleted(self) -> None:
        server = self.serve(socketserver.TCPServer(('127.0.0.1', 0), Receiver))
        address = '127.0.0.1', str(server.server_address[1])
        before = self.send('send-hl7.py', '127.0.0.1', '0')
        self.assertEqual((before[0], len(before[1])), (1, 1))

        def ack(code: bytes, control_id: bytes) -> bytes:
            return b'MSH|^~\\&|X\rMSA|%b|%b|Ahrens\r' % (code, control_id)
        for answer in (
                *(lambda key, code=code: ack(code, key)
                  for code in (b'AE', b'AR', b'CE', b'CR', b'', b'Ahrens')),
                lambda key: ack(b'AA', key[:-1]), lambda key: ack(b'AA', b''),
                lambda key: b'', lambda key: b'MSA', lambda key: b'MSA|AA',
                lambda key: None):
            server.answer = answer
            self.assertEqual(self.send('send-hl7.py', *address), before)
            self.assertIn(f'{before[1][0]} is kept: ', self.said)
            self.assertNotIn('Ahrens', self.said)
        server.answer = lambda key: ack(b'AA', key)
        self.assertEqual(self.send('send-hl7.py', *address), (0, []))
        self.assertEqual(self.said, '')

    def test_message_that_is_too_large_is_kept(self) -> None:
        class Small(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                self.request.recv(100)  # with the rest unread: a reset
        server = self.serve(socketserver.TCPServer(('127.0.0.1', 0), Small))
        self.convert(self.deliver_document(long=json.dumps('x' * 2000000)))
        before = self.outputs()
        status, left = self.send('send-hl7.py', '127.0.0.1',
                                 str(server.server_address[1]))
        self.assertEqual((status, len(left)), (1, len(before)))


class Result(unittest.TestResult):
    """Prints what tests/helper/count.sh prints."""

    passed = failed = 0

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self.is_good = True

    def report(self, test: unittest.TestCase, error: ExcInfo) -> None:
        self.is_good = False
        self.failed += 1
        print(f'not ok - {test}')
        print(re.sub(
            '^', '#   ',
            self._exc_info_to_string(  # type: ignore[attr-defined]
                error, test), flags=re.M))

    def addFailure(self, test: unittest.TestCase, err: ExcInfo) -> None:
        self.report(test, err)

    addError = addFailure

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase,
                   err: ExcInfo | None) -> None:
        if err is not None:
            self.report(subtest, err)

    def stopTest(self, test: unittest.TestCase) -> None:
        super().stopTest(test)
        if self.is_good:
            self.passed += 1
            print('ok -', test.id().split('.test_')[-1].replace('_', ' '))


def main() -> bool:
    result = Result()
    unittest.defaultTestLoader.loadTestsFromModule(
        sys.modules['__main__']).run(result)
    print(f'{result.passed} passed, {result.failed} failed')
    return result.failed > 0 or result.passed == 0


if __name__ == '__main__':
    sys.exit(main())
