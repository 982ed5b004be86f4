#!/usr/bin/env python3
"""foreign.py - prints what becomes of files that others made, in one table.

Each file below DIRECTORY is printed as cupsd would print it: cupsfilter, which
has cupsd's code, determines its type and runs the filters of the route, as lp
if this is root. What comes out is compared with the file:

- a PDF: pages, words, and a rendering (tests/helper/same.h)
- PostScript: pages, words, and gray values on a grid, with Ghostscript's own
  conversion
- a picture: pages, and gray values on a grid, with MuPDF's
- text: characters in order. A file in a directory named like an encoding of
  iconv is text in that encoding, and is printed a second time with
  TextEncoding.
- raster: pages, and gray values on a grid, with the converter of CUPS alone

A file that is refused is given to programs that share no code with the filter.
If two of them show it without an error, the refusal is listed.

The first table has a line for each directory in DIRECTORY, the others the files
to look at, with the program that made them. Exit status 1 if any is listed.

Needs cups, poppler-utils, ghostscript, and qpdf; for all kinds also
mupdf-tools, libtiff-tools, libopenjp2-tools, and netpbm. Files whose text is
not embedded need the fonts of their language.
"""
import argparse
import codecs
import collections
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

Head = dict[str, Any]           # of a bundle
Verdict = dict[str, Any]        # of judge()
Row = tuple[str, str, Verdict]  # of a file: the directory, and its name
Source = tuple[object, ...]     # what identifies a file in the cache
Counters = collections.defaultdict[str, collections.Counter[str]]
SELF = open(__file__, 'rb').read()  # its changes make the cache void
MEMORY = 4 << 30  # bytes, of each program that reads a file
GRID = 16         # fields of a picture, in each direction
GRAY = 32         # of 255, by which a field may differ
BEGINNINGS = (    # bytes 0 and following, kind; all else is text
    (b'%!', 'ps'), (b'\x04%!', 'ps'), (b'\xc5\xd0\xd3\xc6', 'ps'),
    (b'II*\0', 'tiff'), (b'MM\0*', 'tiff'),
    (b'II+\0', 'tiff'), (b'MM\0+', 'tiff'), (b'\xff\xd8\xff', 'jpeg'),
    (b'\x89PNG', 'png'), (b'GIF8', 'gif'), (b'BM', 'bmp'),
    (b'\0\0\0\x0cjP', 'jp2'), (b'\xff\x4f\xff\x51', 'jp2'),
    (b'\x59\xa6\x6a\x95', 'sun'), (b'\x1f\x8b', 'gzip'),
    (b'UNIRAST', 'raster'), (b'RaS', 'raster'), (b'2SaR', 'raster'),
    (b'3SaR', 'raster'), (b'P1', 'pnm'), (b'P2', 'pnm'), (b'P3', 'pnm'),
    (b'P4', 'pnm'), (b'P5', 'pnm'), (b'P6', 'pnm'))
TEXT = 'text'
NO_ROUTE = rb'No filter to convert|Unable to determine MIME type'

# Programs that show a kind of file, or say why not.
VIEWERS = {
    'pdf': {'poppler': ['pdftoppm', '-r', '20', '-gray', '{}', '{out}'],
            'MuPDF': ['mutool', 'draw', '-q', '-r', '20', '-F', 'pgm', '-o',
                      '{out}', '{}'],
            'Ghostscript': ['gs', '-q', '-dSAFER', '-dNOPAUSE', '-dBATCH',
                            '-sDEVICE=pgmraw', '-r20', '-o', '{out}', '{}']},
    'ps': {'Ghostscript': ['gs', '-q', '-dSAFER', '-dNOPAUSE', '-dBATCH',
                           '-sDEVICE=pgmraw', '-r20', '-o', '{out}', '{}']},
    'tiff': {'libtiff': ['tiff2rgba', '-c', 'none', '{}', '{out}']},
    'jp2': {'OpenJPEG': ['opj_decompress', '-i', '{}', '-o', '{out}.ppm']},
    'jpeg': {'libjpeg': ['jpegtopnm', '{}']},
    'png': {'libpng': ['pngtopnm', '{}']},
    'gif': {'netpbm': ['giftopnm', '-image=all', '{}']},
}
BY_CUPS = ('jp2',)  # imagetopdf puts them somewhere on a page
# What reads a picture instead of MuPDF.
DECODERS = {
    'tiff': ['tiff2rgba', '-c', 'none', '{}', '{out}'],
    'jp2': ['opj_decompress', '-i', '{}', '-o', '{out}'],
    'jpeg': ['jpegtopnm', '{}'],
    'png': ['pngtopnm', '-background', 'white', '-mix', '{}'],
    'gif': ['giftopnm', '-image=all', '{}'],
    'bmp': ['bmptopnm', '{}'],
    'pnm': ['pamdepth', '255', '{}'],
    'sun': ['rasttopnm', '{}'],
}
PICTURES = ('tiff', 'jpeg', 'png', 'gif', 'bmp', 'jp2', 'pnm', 'sun')
for kind in PICTURES:
    VIEWERS.setdefault(kind, {})['MuPDF'] = [
        'mutool', 'draw', '-q', '-r', '20', '-F', 'pgm', '-o', '{out}', '{}']


class Build:
    """The programs of one build, where cupsd would find them."""

    def __init__(self, path: str, work: str) -> None:
        self.path = os.path.abspath(path)
        self.same = os.path.join(self.path, 'tests/filter/same')
        digest = hashlib.sha256()
        programs: Any  # paths, then paths by their names
        programs = [os.path.join(self.path, name) for name in
                    sorted(os.listdir(self.path))
                    if name.startswith('todocextract') or
                    name == 'docextract-text.so']
        self.ppd = os.path.join(self.path, 'ppd/docextract.ppd')
        for name in programs + [self.ppd, self.same]:
            digest.update(open(name, 'rb').read())
        self.id = digest.hexdigest()[:16]
        self.choices = choices_of(self.ppd)
        self.home = os.path.join(work, self.id)
        programs = {os.path.basename(p): p for p in programs}
        self.filters = os.path.join(run_out(['cups-config', '--serverbin']),
                                    'filter')
        for name in os.listdir(self.filters):
            programs.setdefault(name, os.path.join(self.filters, name))
        self.tmp = os.path.join(self.home, 'tmp')
        for name in ('bin/filter', 'root', 'tmp'):
            os.makedirs(os.path.join(self.home, name), mode=0o755,
                        exist_ok=True)
        if os.geteuid() == 0:
            shutil.chown(self.tmp, 'lp', 'lp')
        for name, real in programs.items():
            # cupsd sets these variables, cupsfilter does not.
            wrapper = os.path.join(self.home, 'bin/filter', name)
            with open(wrapper, 'w') as f:
                f.write(f'#!/bin/sh\nexport TMPDIR={self.tmp} '
                        'DEVICE_URI=docextract://default\n'
                        f'exec {real} "$@"\n')
            os.chmod(wrapper, 0o755)
        with open(os.path.join(self.home, 'conf'), 'w') as f:
            f.write(f'DataDir {run_out(["cups-config", "--datadir"])}\n'
                    f'ServerBin {self.home}/bin\nServerRoot {self.home}/root\n')


def run_out(command: list[str]) -> str:
    return subprocess.run(command, check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()


def run(command: list[str], limit: int,
        stdout: int | IO[bytes] = subprocess.PIPE,
        **more: Any) -> tuple[int | None, bytes, bytes]:
    """(exit status or None if it took too long or is missing, output, errors)"""
    if shutil.which(command[0]) is None:
        return None, b'', b'not installed'
    if command[0] != 'cupsfilter':  # the filters have limits of their own
        command = ['prlimit', f'--as={MEMORY}'] + command
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                 stdout=stdout, stderr=subprocess.PIPE,
                                 start_new_session=True, **more)
        out, err = child.communicate(timeout=limit)
        return child.returncode, out or b'', err
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        return None, b'', b'too slow'


def kind_of(path: str) -> str:
    with open(path, 'rb') as f:
        start = f.read(1024)
    for beginning, kind in BEGINNINGS:
        if start.startswith(beginning):
            return kind
    return 'pdf' if b'%PDF-' in start else TEXT


def encoding_of(path: str) -> str:
    """The encoding that a directory of the path is named after, or ''."""
    for name in reversed(os.path.dirname(path).split(os.sep)):
        if re.match(r'(?i)(ascii|big5|cp|euc|gb|ibm|iso|johab|koi|mac|shift|uhc|'
                    r'utf|windows)', name):
            try:
                return codec_of(name)
            except LookupError:
                pass
    return ''


def codec_of(name: str) -> str:
    """The name of Python. As in WHATWG's standard, some mean a set of Windows,
    which has more characters."""
    codec = codecs.lookup(name).name
    return {'shift_jis': 'cp932', 'euc_kr': 'cp949', 'big5': 'cp950',
            'gb2312': 'gb18030'}.get(codec, codec)


def choices_of(ppd: str) -> dict[str, str]:
    """Choices of TextEncoding in the driver, by their codecs."""
    choices = {}
    for name in re.findall(r'^\*TextEncoding ([^/:]+)', open(ppd).read(), re.M):
        try:
            choices[codec_of(name)] = name
        except LookupError:
            pass
    return choices


# --- comparing ---------------------------------------------------------------

def plane(pgm: bytes) -> tuple[int, int, bytes]:
    """Width, height, and samples of a binary PGM of 8 bits."""
    head: re.Match[bytes] = re.match(  # type: ignore[assignment]
        rb'P5\s+(\d+)\s+(\d+)\s+255\s', pgm)
    return int(head[1]), int(head[2]), pgm[head.end():]


def without_margins(width: int, height: int,
                    samples: bytes) -> tuple[int, int, bytes]:
    """What is not white, and all between."""
    rows = [samples[y * width:(y + 1) * width] for y in range(height)]
    dark = [y for y, row in enumerate(rows) if min(row) < 250]
    columns = [x for x in range(width)
               if any(rows[y][x] < 250 for y in dark)]
    if not dark:
        return width, height, samples
    left, right = columns[0], columns[-1] + 1
    rows = [row[left:right] for row in rows[dark[0]:dark[-1] + 1]]
    return right - left, len(rows), b''.join(rows)


def grid(pgm: bytes, trim: bool) -> list[float]:
    """Means of GRID x GRID fields."""
    width, height, samples = plane(pgm)
    if trim:
        width, height, samples = without_margins(width, height, samples)
    fields = []
    for y in range(GRID):
        rows = range(y * height // GRID,
                     max((y + 1) * height // GRID, y * height // GRID + 1))
        for x in range(GRID):
            left = x * width // GRID
            right = max((x + 1) * width // GRID, left + 1)
            got = [samples[r * width + left:r * width + right] for r in rows]
            count = sum(map(len, got))
            fields.append(sum(map(sum, got))  # type: ignore[arg-type]
                          / count if count else 0)
    return fields


def drawn(path: str, to: str, limit: int) -> tuple[list[str], str]:
    """The pages of a picture or of a PDF as names of PGM files, and errors."""
    os.makedirs(to)
    command = ['mutool', 'draw', '-q', '-w', '240', '-h', '240',
               '-c', 'gray', '-o', f'{to}/%d.pgm', path]
    if kind_of(path) == 'pdf':
        command = ['pdftoppm', '-gray', '-scale-to', '240', path, f'{to}/p']
    status, _, err = run(command, limit)
    names = sorted(os.listdir(to), key=lambda n: int(
        re.search(r'\d+', n)[0]))  # type: ignore[index]
    if status == 0 and command[0] == 'pdftoppm':
        err = b''  # of one PDF as of the other
    return [os.path.join(to, n) for n in names], \
        err.decode('utf8', 'replace') if status == 0 else 'it fails'


def turned(fields: list[float]) -> list[float]:
    """A grid, by 90 degrees to the left."""
    return [fields[x * GRID + GRID - 1 - y]
            for y in range(GRID) for x in range(GRID)]


def pages_differ(before: list[str], after: list[str], moved: bool) -> str:
    """Two lists of PGM files. With `moved`, the picture may be anywhere on its
    page, and upright."""
    if len(before) != len(after):
        return f'pages: {len(after)} instead of {len(before)}'
    for page, names in enumerate(zip(before, after), 1):
        one, other = (grid(open(n, 'rb').read(), moved) for n in names)
        most = min(max(abs(a - b) for a, b in zip(way, other))
                   for way in ([one, turned(one)] if moved else [one]))
        if most > GRAY:
            return f'pixels: page {page}: a field differs by {most:.0f} of 255'
    return ''


def pictures_differ(path: str, body: str, limit: int, work: str) -> str:
    """What differs between a picture and the PDF or picture of it. Decoders
    differ, too: it is enough that one sees the same."""
    kind = kind_of(path)
    if open(path, 'rb').read() == open(body, 'rb').read():
        return ''
    after, error = drawn(body, work + '/drawn', limit)
    if not after:
        return 'unreadable: ' + error[:80]
    found = 'not compared: no program can show it'
    for number, decoder in enumerate([None, DECODERS.get(kind)]):
        name = path
        if number == 1 and decoder:
            name = f'{work}/decoded.' + ('tif' if kind == 'tiff' else 'ppm')
            _, out, _ = run([w.replace('{out}', name).replace('{}', path)
                             for w in decoder], limit)
            if out:
                open(name, 'wb').write(out)
        if not os.path.exists(name) or number == 1 and not decoder:
            break
        before, error = drawn(name, f'{work}/drawn{number}', limit)
        if before and 'error' not in error and 'fails' not in error:
            found = pages_differ(before, after, kind in BY_CUPS)
        if not found:
            break
    return found


def characters(text: str) -> list[str]:
    """What has to be the same in a text and the PDF of it."""
    return [c for c in unicodedata.normalize('NFC', text)
            if unicodedata.category(c)[0] not in 'CZ']


def texts_differ(path: str, body: str, encoding: str, limit: int) -> str:
    data = open(path, 'rb').read()
    for name in [encoding] if encoding else ['utf-8-sig', 'cp1252', 'latin-1']:
        try:
            before = characters(data.decode(name))
            break
        except UnicodeError:
            if encoding:
                return f'not compared: it is not in {encoding}'
    status, out, _ = run(['pdftotext', '-raw', body, '-'], limit)
    if status != 0:
        return 'unreadable'
    after = characters(out.decode())
    if before == after:
        return ''
    if sorted(before) == sorted(after):
        return '' if any(unicodedata.bidirectional(c) in ('R', 'AL')
                         for c in before) else 'order of the characters'
    lost = collections.Counter(before) - collections.Counter(after)
    new = collections.Counter(after) - collections.Counter(before)
    return ('words: lost ' + (''.join(sorted(lost))[:20] or '-') + ', new ' +
            (''.join(sorted(new))[:20] or '-'))


def documents_differ(build: Build, before: str, body: str, limit: int,
                     most: int, work: str) -> str:
    def same(after: str) -> str:
        status, out, _ = run([build.same, '-n', str(most), before, after],
                             limit)
        return out.decode('utf8', 'replace').strip() if status is not None \
            else 'not compared: it takes too long'

    words = same(body)
    if words == 'same':
        return ''
    if words in ('', 'unreadable'):
        return 'not compared: poppler cannot read it'
    if words.startswith(('pixels', 'words')) and \
            same(before).split(':')[0] == words.split(':')[0]:
        # It shows the file in another way each time, as it finds fonts.
        return converted_differ(before, body, limit, work)
    return words


def converted_differ(before: str, body: str, limit: int, work: str) -> str:
    """Two conversions of one document, which may pack pictures differently."""
    words = [characters(run(['pdftotext', name, '-'], limit)[1].decode(
        'utf8', 'replace')) for name in (before, body)]
    if words[0] != words[1]:
        return 'words: they are others'
    return pictures_differ(before, body, limit, work)


def ghostscript(path: str, to: str, limit: int) -> str:
    """Converts PostScript, and says what went wrong."""
    status, out, err = run(['gs', '-q', '-dSAFER', '-dNOPAUSE', '-dBATCH',
                            '-sPAPERSIZE=letter', '-dAutoRotatePages=/None',
                            '-sDEVICE=pdfwrite', '-o', to,
                            path], limit)
    error = re.search(rb'Error: .*', out + err)
    return error[0].decode('utf8', 'replace')[:80] if error else \
        '' if status == 0 else 'Ghostscript fails'


def remembered(arguments: argparse.Namespace, key: tuple[object, ...],
               compute: Callable[[], Any]) -> Any:
    """What compute() returns, from the cache if it was asked before."""
    digest = hashlib.sha256(repr(key).encode() + SELF).hexdigest()
    cached = os.path.join(arguments.cache, digest[:2], digest)
    try:
        with open(cached) as f:
            return json.load(f)
    except FileNotFoundError:
        value = compute()
    os.makedirs(os.path.dirname(cached), exist_ok=True)
    new = f'{cached}.{threading.get_ident()}'
    with open(new, 'w') as f:
        json.dump(value, f)
    os.rename(new, cached)
    return value


# --- one file ----------------------------------------------------------------

def who_made(path: str, kind: str) -> str:
    out: Any  # bytes, then text
    found = None
    if kind == 'pdf':
        _, out, _ = run(['pdfinfo', path], 20)
        out = out.decode('utf8', 'replace')
        found = re.search(r'^Producer: *(\S.*)', out, re.M) or \
            re.search(r'^Creator: *(\S.*)', out, re.M)
    elif kind == 'tiff':
        _, out, _ = run(['tiffinfo', path], 20)
        found = re.search(r'^ *Software: *(\S.*)',
                          out.decode('utf8', 'replace'), re.M)
    elif kind == 'ps':
        found = re.search(r'^%%Creator: *(\S.*)',
                          open(path, 'rb').read(4096).decode('latin-1'), re.M)
    return ''.join(filter(str.isprintable, found[1]))[:60] if found else '-'


def shown_by(path: str, kind: str, limit: int, work: str) -> list[str]:
    """Programs that show the whole file without an error; two are enough."""
    shown = []
    for viewer, command in VIEWERS.get(kind, {}).items():
        out = os.path.join(work, 'shown')
        os.makedirs(out, exist_ok=True)
        status, said, err = run(
            [w.replace('{out}', out + '/page').replace('{}', path)
             for w in command], limit)
        said = err + (said if viewer == 'Ghostscript' else b'')
        shutil.rmtree(out, ignore_errors=True)
        if status == 0 and not re.search(rb'(?i)error|invalid|corrupt|damaged|'
                                         rb'premature|repaired|missing', said):
            shown.append(viewer)
        if len(shown) == 2:
            break
    return shown


def cause_of(head: Head) -> str:
    """Refusals with the same text, but for numbers, have the same cause."""
    text = re.sub(r'^pages? [\d-]+ (is damaged|of it)?: *', '',
                  head['reason_text'])
    return head['reason'] + ': ' + re.sub(  # type: ignore[no-any-return]
        r'\d+', 'N', text.split(';')[0])[:70]


def judge(build: Build, path: str, encoding: str, given: str,
          arguments: argparse.Namespace, work: str, of: Source) -> Verdict:
    """Prints the file, and compares what comes out. Another build that sends
    the same bytes needs no comparison."""
    kind = kind_of(path)
    limit = arguments.seconds
    verdict: Verdict = {'kind': kind, 'cause': '', 'differs': '', 'shown': []}
    command = ['cupsfilter', '-c', f'{build.home}/conf', '-e', '-p', build.ppd,
               '-m', 'printer/chart', '-t', 'chart', '-U', 'ann']
    if given:
        command += ['-o', 'TextEncoding=' + given]
    out = os.path.join(work, 'out')
    more: dict[str, Any] = {'umask': 0o077}
    if os.geteuid() == 0:
        more.update(user='lp', group='lp', extra_groups=[])
    environment = {'PATH': os.environ['PATH'] + ':/usr/sbin', 'LC_ALL': 'C',
                   'TMPDIR': build.tmp}
    with open(path, 'rb') as f, open(out, 'wb') as to:
        # By its descriptor, because lp may not read it by its name.
        copy = os.path.join(work, os.path.basename(path))
        shutil.copyfileobj(f, open(copy, 'wb'))
        status, _, err = run(command + [copy], limit, to, env=environment,
                             **more)
    data = open(out, 'rb').read()
    head: Any  # the match, then what it says
    head = re.match(rb'DOCEXTRACT-BUNDLE 1 (\{.*\})\n', data)
    failed = [n.decode() for n in
              re.findall(rb'ERROR: (\S+) \(PID \d+\) (?:stopped|crashed)',
                         err)]
    if status is None:
        verdict.update(result='refused', cause='too slow for this test')
    elif status < 0:
        verdict.update(result='not accepted', cause='cupsfilter crashed')
    elif head is None:
        if not re.search(NO_ROUTE, err) and not failed:
            sys.exit('cupsfilter did not run: ' +
                     err.decode('utf8', 'replace')[-500:])
        verdict.update(result='not accepted', cause='no route for its type'
                       if not failed else failed[0] + ' failed')
    else:
        head = json.loads(head[1])
        verdict.update(result='sent' if head['kind'] == 'document' else
                       head['kind'], origin=head['origin'])
        if failed:  # the backend sees that, and holds the job
            why = re.search(rb'DEBUG: todocextract-check: (.*)', err)
            verdict.update(result='refused', cause=failed[0] + ' failed' if
                           why is None else 'check: ' + re.sub(
                               r'\d+', 'N', why[1].decode('utf8', 'replace')))
        elif head['kind'] != 'document':
            verdict.update(cause=cause_of(head), text=head['reason_text'])
    if verdict['result'] == 'sent':
        # MuPDF knows a picture by its suffix.
        body = os.path.join(work, 'body.' + head['type'].split('/')[1])
        sent = data[len(data) - head['bytes']:]
        with open(body, 'wb') as f:
            f.write(sent)
        verdict['pages'] = head['pages']
        verdict['differs'] = remembered(
            arguments, of + (head['origin'], hashlib.sha256(sent).hexdigest()),
            lambda: differs(build, path, kind, encoding, head, body, arguments,
                            work))
    elif verdict['result'] == 'refused':
        verdict['shown'] = remembered(
            arguments, of + ('shown',),
            lambda: shown_by(path, kind, limit, work))
    verdict['producer'] = remembered(arguments, of + ('producer',),
                                     lambda: who_made(path, kind))
    return verdict


def differs(build: Build, path: str, kind: str, encoding: str, head: Head,
            body: str, arguments: argparse.Namespace, work: str) -> str:
    limit = arguments.seconds
    if kind in PICTURES:
        return pictures_differ(path, body, limit, work)
    if kind == TEXT and head['origin'].startswith('text/'):
        return texts_differ(path, body, encoding, limit)
    if kind == 'raster':
        before = os.path.join(work, 'before')
        _, made, _ = run([os.path.join(build.filters, 'rastertopdf'), '1',
                          'ann', 'chart', '1', '', path], limit,
                         env={'PPD': build.ppd, 'PATH': os.environ['PATH'],
                              'FINAL_CONTENT_TYPE': 'application/pdf',
                              'TMPDIR': work})
        open(before, 'wb').write(made)
        return converted_differ(before, body, limit, work)
    if kind == 'ps':
        before = os.path.join(work, 'before')
        error = ghostscript(path, before, limit)
        return error or converted_differ(before, body, limit, work)
    if kind == 'gzip':
        return 'not compared: it is packed'
    if head['origin'].startswith('text/'):
        return 'words: a PDF was printed as text'
    return documents_differ(build, path, body, limit, arguments.pages, work)


def verdict_of(build: Build, path: str, encoding: str, given: str,
               arguments: argparse.Namespace) -> Verdict:
    """judge(), if the cache does not have it."""
    with open(path, 'rb') as f:
        sha256 = hashlib.sha256(f.read()).hexdigest()
    of = (sha256, os.path.splitext(path)[1], encoding, arguments.pages)

    def judged() -> Verdict:
        with tempfile.TemporaryDirectory(dir=build.home) as work:
            os.chmod(work, 0o755)
            return judge(build, path, encoding, given, arguments, work, of)
    return {**remembered(arguments, (build.id, given) + of, judged),
            'sha256': sha256}


# --- tables ------------------------------------------------------------------

def files_of(directory: str, most: int,
             choices: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """(path, encoding, TextEncoding), without copies."""
    seen, found = set(), []
    for top, directories, names in os.walk(directory):
        directories.sort()
        for name in sorted(names):
            path = os.path.join(top, name)
            if os.path.islink(path) or not os.path.isfile(path):
                continue
            digest = hashlib.sha256(open(path, 'rb').read()).digest()
            if digest not in seen:
                seen.add(digest)
                found.append(path)
    if most:  # evenly spread
        found = [found[i * len(found) // most]
                 for i in range(min(most, len(found)))]
    for path in found:
        encoding = encoding_of(os.path.relpath(path, directory))
        yield path, encoding, ''
        if encoding in choices and kind_of(path) == TEXT:
            yield path, encoding, choices[encoding]


def name_of(path: str, given: str, directory: str) -> str:
    return os.path.relpath(path, directory) + (f' [{given}]' if given else '')


def print_rows(title: str, rows: Sequence[tuple[str, ...]]) -> None:
    print(f'\n{title}: {len(rows)}')
    for row in sorted(rows):
        print('  ' + '  '.join(row))


def is_shown(verdict: Verdict) -> bool:
    """Whether other programs show the whole of what was refused. They show what
    its author does not allow to print, and leave out what has no appearance."""
    return len(verdict['shown']) >= 2 and \
        not verdict['cause'].startswith(('protected:', 'not-drawn:'))


def print_tables(rows: list[Row], arguments: argparse.Namespace) -> int:
    """Prints the tables; returns what has to be looked at."""
    table: Counters = collections.defaultdict(collections.Counter)
    causes: Counters = collections.defaultdict(collections.Counter)
    for collection, _, v in rows:
        for name in (collection, 'all'):
            table[name]['files'] += 1
            table[name][v['result']] += 1
            table[name]['differ'] += bool(v['differs'])
            table[name]['shown'] += is_shown(v)
            if v['cause']:
                causes[name][v['cause']] += 1
    print(f'{"collection":36} {"files":>6} {"sent":>6} {"refused":>7} '
          f'{"differ":>6} {"shown":>6}  refused by cause')
    for name in sorted(table, key=lambda n: (n == 'all', n)):
        t = table[name]
        short = ', '.join(f'{n} {c.split(":")[0]}' for c, n in collections.
                          Counter([c.split(':')[0] for c in
                                   causes[name].elements()]).most_common())
        print(f'{name[:36]:36} {t["files"]:6} {t["sent"]:6} '
              f'{t["files"] - t["sent"]:7} {t["differ"]:6} {t["shown"]:6}  '
              f'{short}')
    print_rows('refused, by cause',
               [(f'{n:6}', c) for c, n in causes['all'].items()])
    listed = 0
    for title, wanted in (
            ('sent, and not the same',
             lambda v: v['differs'] and 'not compared' not in v['differs']),
            ('sent, and not compared',
             lambda v: v['differs'].startswith('not compared')),
            ('refused, and two other programs show it',
             is_shown)):
        found = [(v['differs'] or v['cause'], name, v['producer'])
                 for _, name, v in rows
                 if wanted(v) and  # type: ignore[no-untyped-call]
                 not is_accepted(v, arguments.accepted)]
        print_rows(title, found)
        if 'compared' not in title:
            listed += len(found)
    return listed


def print_producers(rows: list[Row]) -> None:
    """Who made the files, without their versions."""
    made = collections.Counter(
        re.sub(r'[-( ]*[\d.]*\d.*| [Vv]ersion.*', '', v['producer']) or '-'
        for _, _, v in rows)
    print('\nmade by: ' + ', '.join(f'{n} {who}' for who, n in
                                    made.most_common(40)))


def is_accepted(verdict: Verdict, accepted: set[tuple[str, str]]) -> bool:
    word = (verdict['differs'] or verdict['cause']).split(':')[0]
    return (verdict['sha256'][:16], word) in accepted


def print_changes(rows: list[Row], before: list[Verdict]) -> None:
    changed = []
    for (_, name, v), old in zip(rows, before):
        one, other = (x['result'] + ' ' + (x['differs'] or x['cause'])
                      for x in (old, v))
        if one != other:
            changed.append((one, '->', other, name, v['producer']))
    print_rows('changed', changed)


def accepted_of(path: str) -> set[tuple[str, str]]:
    """Lines that begin with a SHA-256's first 16 digits and a word."""
    if not path:
        return set()
    return set(re.findall(r'^\s*([0-9a-f]{16}) (\S+)', open(path).read(), re.M))


def main() -> int:
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('directory', metavar='DIRECTORY')
    parser.add_argument('-j', type=int, default=os.cpu_count(), dest='jobs',
                        help='files at a time')
    parser.add_argument('-t', type=int, default=120, dest='seconds',
                        help='for each program that reads a file')
    parser.add_argument('-n', type=int, default=0, dest='most',
                        help='files, evenly spread')
    parser.add_argument('--pages', type=int, default=20,
                        help='of a PDF that are compared, evenly spread')
    parser.add_argument('--build', default=os.environ.get(
        'DX_BUILD', os.path.join(here, '../..')))
    parser.add_argument('--before', metavar='BUILD',
                        help='list the files that this build treats otherwise')
    parser.add_argument('--accepted', metavar='FILE', default='',
                        help='files that were looked at: the first 16 digits\n'
                        'of the SHA-256, a space, and the first word listed')
    parser.add_argument('--cache', default=os.path.join(
        tempfile.gettempdir(), 'docextract-foreign'),
        help='of verdicts, for the next run')
    arguments = parser.parse_args()
    arguments.accepted = accepted_of(arguments.accepted)
    directory = os.path.abspath(arguments.directory)
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o755)
        builds = [Build(path, work) for path in
                  [arguments.build] + [arguments.before] *
                  bool(arguments.before)]
        files = list(files_of(directory, arguments.most, builds[0].choices))
        verdicts = []
        for build in builds:
            with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
                verdicts.append(list(pool.map(
                    lambda file, b=build: verdict_of(  # type: ignore[call-arg]
                        b, *file, arguments), files)))
    rows = []
    for (path, _, given), verdict in zip(files, verdicts[0]):
        name = name_of(path, given, directory)
        rows.append((name.split(os.sep)[0] if os.sep in name else '.', name,
                     verdict))
    listed = print_tables(rows, arguments)
    print_producers(rows)
    if arguments.before:
        print_changes(rows, verdicts[1])
    return 1 if listed else 0


if __name__ == '__main__':
    sys.exit(main())
