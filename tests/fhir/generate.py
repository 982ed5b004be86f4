"""generate.py DIRECTORY N - makes N results with their manifests, the same
every time, with values that a service should not send."""
import hashlib
import json
import os
import random
import sys

# Values as JSON, because some of them cannot be expressed in Python.
TEXTS = [json.dumps(text, ensure_ascii=False) for text in (
    'Ann', "O'Hara", 'A|B^C&D~E\\F', '"quoted"', '""', '', ' ', '\u00a0',
    'MSH|^~\\&|FAKE\rPID|1||666', 'line\nbreak\r\n\ttab', '\\X0D\\', '\\F\\',
    'Zoë 😀', 'שרה כהן', 'محمد', '\u202egro.live\u202c', 'a\u200bb', '田中',
    '\x7f', '\x85', '\x9f', '\ufffe', '\ufeffBOM', '<b>&amp;</b>', "'; DROP--",
    '$(reboot)', '../../etc/passwd', '%s%n', '{"resourceType":"Patient"}',
    'x' * 300, 'y' * 20000)] + [
    r'"\u0000"', r'"a\u0001b\u001f"', r'"\ud800"', r'"\udc00\ud800"', r'"\/"']
NUMBERS = ['0', '-0', '0.10', '6.50', '-1.5', '1e400', '-1E-400', '1e3',
           '123456789012345678901234567890', '0.123456789012345678901234567890',
           '999999999999999', '1000000000000000', '9' * 5000,
           '1e999999999999999999999']
MRNS = ['"1"', '"00123"', '"A-77/b"', '"12 34"', '"N/A"', '"0000"', '" 1"',
        '"1|2"', '"1,2"', '"1$2"', '"1\\\\2"', '"1&2"', '"1^2~3"', '"١٢"', '12',
        r'"1\u0000"', '"1\u202e2"', '"1\u00a02"', 'null', '[]', '{"a":1}']
DATES = ['"3/7/1984"', '"12/31/1999"', '"2/29/2000"', '"2/29/1900"',
         '"2/30/2020"', '"13/1/2020"', '"1/1/0001"', '"03/07/1984"',
         '"1984-03-07"', '"3/7/84"', '"1/1/9999"', '"3/7/1984 "', '"٣/٧/١٩٨٤"',
         '"0/0/0000"', '""', 'null', '19840307']
UNITS = ['"g/dL"', '"10^3/µL"', '"10^3/μL"', '"10*3/uL"', '"K/uL"', '"10³/µL"',
         '"furlong"', '"10^9/L"', '"G"', 'null', '1', '[]', '"g|dL^&~\\\\"']
WRONG = ['null', 'true', '[]', '{}', '[[[[1]]]]', '"text"', '1.0']


class Generator:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def one_of(self, *lists: list[str]) -> str:
        return self.random.choice(self.random.choice(lists))

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def nested(self, depth: int = 0) -> str:
        kind = self.random.randrange(2 if depth < 5 else 0, 5)
        if kind == 0:
            items = [self.nested(depth + 1)
                     for _ in range(self.random.randrange(4))]
            return '[' + ','.join(items) + ']'
        if kind == 1:
            return '{' + ','.join(
                f'{self.one_of(TEXTS)}:{self.nested(depth + 1)}'
                for _ in range(self.random.randrange(4))) + '}'
        return self.one_of(TEXTS, NUMBERS, WRONG)

    def object(self, pairs: list[tuple[str, str]]) -> str:
        """Members may be missing or occur twice."""
        pairs = [pair for pair in pairs if not self.chance(6)]
        if pairs and self.chance(6):
            pairs.append(self.random.choice(pairs))
        return '{' + ','.join(f'{name}:{value}' for name, value in pairs) + '}'

    def measurement(self) -> str:
        if self.chance(10):
            return self.one_of(WRONG)
        value = self.one_of(NUMBERS, NUMBERS, NUMBERS, WRONG)
        limits = self.object([('"min"', self.one_of(NUMBERS, NUMBERS, WRONG)),
                              ('"max"', self.one_of(NUMBERS, NUMBERS, WRONG))])
        pairs = [('"value"', value), ('"measurement_unit"', self.one_of(UNITS)),
                 ('"range"', limits if self.chance(90) else self.one_of(WRONG))]
        if self.chance(20):
            pairs.append((self.one_of(TEXTS), self.nested()))
        return self.object(pairs)

    def document(self) -> str:
        if self.chance(5):
            return self.one_of(WRONG, NUMBERS)
        good = self.chance(60)
        pairs = [('"patient_first_name"', self.one_of(TEXTS)),
                 ('"patient_last_name"', self.one_of(TEXTS)),
                 ('"patient_mrn"', self.one_of(MRNS[:4] if good else MRNS)),
                 ('"patient_dob"', self.one_of(DATES[:3] if good else DATES)),
                 ('"wbc_count"', self.measurement()),
                 ('"hemoglobin"', self.measurement())]
        if self.chance(40):
            pairs.append((self.one_of(TEXTS), self.nested()))
        if self.chance(2):
            pairs.append(('"huge"', '[' + ','.join(['0.10'] * 50000) + ']'))
        return self.object(pairs)

    def result(self, source: str, case: str) -> str:
        ids = [json.dumps(f'D{i}') if self.chance(80) else self.one_of(TEXTS)
               for i in range(self.random.randrange(4))]
        documents = '{' + ','.join(f'{each}:{self.document()}'
                                   for each in ids) + '}'
        if self.chance(3):
            documents = self.one_of(WRONG)
        pairs = ['"status":"complete"', f'"id":"{case}"',
                 f'"source_id":"{source}"',
                 f'"case_name":{self.one_of(TEXTS, TEXTS, TEXTS, WRONG)}',
                 f'"medical_data":{documents}']
        if self.chance(10):
            pairs.append(f'"other":{self.nested()}')
        return '{"status":200,"results":{' + ','.join(pairs) + '}}'


def make_manifest(source: str, results: dict[str, bytes],
                  **changes: object) -> dict[str, object]:
    """With the results of {case id: content}."""
    sent = source.encode()
    return {
        'schema': 2, 'outcome': 'extracted', 'final': True,
        'reason_code': None, 'reason': None, 'service': 'default',
        'source_id': source,
        'job': {'key': hashlib.md5(sent).hexdigest(), 'queue': 'chart',
                'id': '17', 'uuid': None, 'user': 'ann',
                'title': 'Secret title', 'host': 'front-desk', 'documents': 1},
        'files': [{'document': 1, 'name': 'Secret file.pdf',
                   'content_type': 'application/pdf', 'pages': 3,
                   'bytes': len(sent),
                   'sha256': hashlib.sha256(sent).hexdigest()}],
        'cases': [{'case_id': case, 'file': f'{source}-{case}.json',
                   'bytes': len(content), 'empty': False,
                   'sha256': hashlib.sha256(content).hexdigest()}
                  for case, content in results.items()],
        'times': {'received_at': '2027-01-15T08:00:00Z',
                  'uploaded_at': '2027-01-15T08:00:02Z',
                  'complete_at': '2027-01-15T08:00:07Z',
                  'extracted_at': '2027-01-15T08:00:08Z', 'failed_at': None},
        **changes}


def deliver(directory: str, source: str, results: dict[str, bytes],
            **changes: object) -> str:
    """Returns the path of the manifest."""
    for case, content in results.items():
        with open(os.path.join(directory, f'{source}-{case}.json'), 'wb') as f:
            f.write(content)
    path = os.path.join(directory, f'{source}.job.json')
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(make_manifest(source, results, **changes), file)
    return path


def generate(directory: str, count: int) -> list[str]:
    """Returns the paths of the manifests."""
    def case(i: int) -> str:
        generator = Generator(i)
        return deliver(directory, f'S{i:03}', {f'C{i:03}': generator.result(
            f'S{i:03}', f'C{i:03}').encode('utf-8', 'surrogatepass')})
    return [case(i) for i in range(count)]


if __name__ == '__main__':
    generate(sys.argv[1], int(sys.argv[2]))
