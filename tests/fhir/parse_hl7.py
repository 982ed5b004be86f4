"""parse_hl7.py DIRECTORY - parses the messages in it with python3-hl7, and
compares them with the transactions beside them. Prints each difference, and the
numbers of messages, patients, and observations."""
import json
import os
import re
import sys
import typing

import hl7  # type: ignore[import]

Resource = dict[str, typing.Any]

directory = sys.argv[1]
counts = {'messages': 0, 'PID': 0, 'OBX': 0}


def compare(name: str, resources: list[Resource], message: typing.Any) -> None:
    def differs(what: str, got: object, wanted: object) -> None:
        if got != wanted:
            print(f'{name}: {what} is {got!r}, not {wanted!r}')

    def text(value: object) -> str:
        return message.unescape(str(value))  # type: ignore[no-any-return]

    def comparable(value: str) -> str:
        """Controls are escaped in one format, and replaced in the other."""
        return re.sub('[\0-\x1f\x7f-\xff␀-␟\ufffd]+', '.', value)

    segments = [str(segment[0]) for segment in message]
    differs('the order of segments', re.fullmatch(
        'MSH (PID )?OBR (NTE )+(OBX )*', ''.join(s + ' ' for s in segments))
        is not None, True)
    differs('the type', str(message.segment('MSH')[9]), 'ORU^R01^ORU_R01')
    differs('the character set', str(message.segment('MSH')[18]),
            'UNICODE UTF-8')
    differs('the version', str(message.segment('MSH')[12]), '2.5.1')
    differs('OBR-25', str(message.segment('OBR')[25]), 'P')
    document = next(r for r in resources
                    if r['resourceType'] == 'DocumentReference')
    differs('OBR-3', f'urn:uuid:{message.segment("OBR")[3][0][0]}',
            document['identifier'][0]['value'])
    patients = [r for r in resources if r['resourceType'] == 'Patient']
    observations = [r for r in resources if r['resourceType'] == 'Observation']
    differs('the number of PID', segments.count('PID'), len(patients))
    for patient in patients:
        pid = message.segment('PID')
        differs('PID-3', text(pid[3][0][0]),
                patient['identifier'][0]['value'])
        differs('PID-7', str(pid[7]), patient['birthDate'].replace('-', ''))
        human = patient.get('name', [{}])[0]
        family, given = map(text, f'{pid[5]}^'.split('^')[:2])
        if 'name' in patient:
            differs('PID-5.1', comparable(family),
                    comparable(human.get('family', '')))
            differs('PID-5.2', comparable(given),
                    comparable(human.get('given', [''])[0]))
    obx = [s for s in message if str(s[0]) == 'OBX']
    for segment in obx:
        differs('OBX-11', str(segment[11]), 'P')
    if patients:
        differs('the number of OBX', len(obx), len(observations))
        for segment, observation in zip(obx, observations):
            differs('OBX-3', str(segment[3]), '^' + observation['code']['text'])
            quantity = observation.get('valueQuantity')
            value = str(quantity['value']) if quantity else \
                observation['valueString'].partition(' ')[0]
            differs('OBX-5', str(segment[5]), value)
            differs('OBX-2', str(segment[2]), 'NM' if quantity else 'ST')
            if quantity and 'code' in quantity:
                differs('OBX-6', str(segment[6][0][0]), quantity['code'])
    counts['messages'] += 1
    counts['PID'] += len(patients)
    counts['OBX'] += len(obx)


class Digits(str):
    """A number as it is written."""


def read_resources(name: str) -> list[Resource]:
    with open(os.path.join(directory, name), encoding='utf-8') as file:
        bundle = json.load(file, parse_float=Digits, parse_int=Digits)
    return [entry['resource'] for entry in bundle['entry']]


names = os.listdir(directory)
for name in sorted(names):
    if name.endswith('.hl7'):
        with open(os.path.join(directory, name), encoding='utf-8',
                  newline='') as file:
            message = hl7.parse(file.read())
        transaction = name.removesuffix('hl7') + 'fhir.json'
        resources = read_resources(transaction)
        if f'patient-{transaction}' in names:
            resources += read_resources(f'patient-{transaction}')
        compare(name, resources, message)
print(', '.join(f'{count} {what}' for what, count in counts.items()))
