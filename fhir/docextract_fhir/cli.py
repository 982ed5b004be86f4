"""The program."""
import argparse
import fcntl
import os
import re
import sys
import syslog
from typing import NoReturn, Optional

from .document import NOT_IN_TOKEN, read_documents
from .failure import Failure, printable, reason
from .fhir import make_fhir
from .files import open_directory, read_input, write_file
from .hl7 import make_hl7
from .manifest import read_cases
from .values import parse_json


def convert(path: str, output: int, options: argparse.Namespace) -> None:
    parent, name = os.path.split(path)
    try:
        directory = open_directory(parent or '.')
    except OSError as error:
        raise Failure(os.EX_NOINPUT, 'cannot open its directory: '
                      + reason(error)) from None
    try:
        manifest = parse_json(read_input(directory, name, 'the manifest'),
                              'the manifest')
        for case in read_cases(manifest):
            content = read_input(directory, case.file,
                                 f'result {printable(case.file)}')
            for document in read_documents(case, content, options.mrn_system):
                for make in options.formats:
                    for file in make(document, options.existing_patient):
                        write_file(output, *file)
    finally:
        os.close(directory)


def uri(text: str) -> str:
    if not re.fullmatch(r'[A-Za-z][A-Za-z0-9+.-]*:[!-~]+', text) or \
            re.search(NOT_IN_TOKEN, text):
        raise argparse.ArgumentTypeError(
            'not an absolute URI, or with one of \\ , | $')
    return text


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(os.EX_USAGE, f'{self.prog}: {message}\n{self.format_usage()}')


def read_options(arguments: list[str], version: str) -> argparse.Namespace:
    parser = Parser(prog='docextract-fhir', allow_abbrev=False,
                    description='Converts results of docextract to FHIR R4 and '
                    'HL7 v2.')
    parser.add_argument('--output', metavar='DIR', required=True,
                        help='directory for the converted documents')
    parser.add_argument('--mrn-system', metavar='URI', type=uri,
                        help='identifier system of the medical record numbers; '
                        'without it, no patient is identified')
    parser.add_argument('--existing-patient', action='store_true',
                        help='write no transactions that create patients')
    parser.add_argument('--fhir', action='append_const', dest='formats',
                        const=make_fhir, help='write FHIR R4 transactions')
    parser.add_argument('--hl7', action='append_const', dest='formats',
                        const=make_hl7,
                        help='write HL7 v2.5.1 messages (default: both)')
    parser.add_argument('--syslog', action='store_true',
                        help='send messages to syslog instead of stderr')
    parser.add_argument('--version', action='version',
                        version=f'docextract-fhir {version}')
    parser.add_argument('manifest', metavar='MANIFEST', nargs='+')
    options = parser.parse_args(arguments)
    options.formats = options.formats or [make_fhir, make_hl7]
    return options


def run(path: str, output: int,
        options: argparse.Namespace) -> tuple[int, Optional[str]]:
    """Returns a status and, unless all is well, a message."""
    try:
        convert(path, output, options)
    except Failure as failure:
        return failure.status, str(failure)
    except Exception as error:  # its text could contain patient data
        trace = error.__traceback__
        while trace and trace.tb_next:
            trace = trace.tb_next
        where = f'{os.path.basename(trace.tb_frame.f_code.co_filename)}, ' \
                f'line {trace.tb_lineno}' if trace else 'an unknown file'
        return os.EX_SOFTWARE, \
            f'internal error, {type(error).__name__} in {where}'
    return os.EX_OK, None


def main(arguments: list[str], version: str) -> int:
    """Returns the exit status; exits itself if the arguments are invalid, and
    after --help and --version."""
    options = read_options(arguments, version)
    syslog.openlog('docextract-fhir', syslog.LOG_PID)

    def say(text: str) -> None:
        if options.syslog:
            syslog.syslog(syslog.LOG_NOTICE, text)
        else:
            print(f'docextract-fhir: {text}', file=sys.stderr)

    try:
        output = open_directory(options.output)
    except OSError as error:
        say(f'cannot open the output directory: {reason(error)}')
        return os.EX_CANTCREAT
    first = os.EX_OK
    try:
        fcntl.flock(output, fcntl.LOCK_EX)
        for path in options.manifest:
            status, text = run(path, output, options)
            first = first or status
            if text:
                say(f'{printable(os.path.basename(path))}: {text}')
    finally:
        os.close(output)
    return first
