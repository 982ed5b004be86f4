"""storage.py DIR SWIFT CASE... - a service whose documents are in OpenStack
Swift, at 127.0.0.1:SWIFT, and what may be in front of a storage. Prints the
port of the API, and that of each case's front.

A case has a BaseURL, http://127.0.0.1:API/CASE, a bucket, charts-CASE, and a
file, DIR/CASE. The words in this file tell how its URLs are signed, and what
its front does with the next connection:
  sign=s3|tempurl  AWS Signature Version 4, or TempURL
  secret=TEXT      of which the signature is made
  life=SECONDS     of a URL
  base=URL         of the storage, if it is not the front
  front=relay      relays all
  front=cut        relays 100,000 bytes, and then resets the connection
  front=lost       relays the upload, and resets the connection before the
                   response
  front=late       relays what is sent after the URL has expired
  front=slow       responds with SlowDown
  front=redirect   redirects to a signed URL of the storage itself
After all of these but the first, the front asks the storage for the object.
DIR/log has this, and what the service found in the storage, as lines of JSON.
"""
import asyncio
import datetime
import hashlib
import hmac
import http.client
import http.server
import itertools
import json
import os
import sys
import threading
import time
import urllib.parse
from collections.abc import Awaitable, Callable
from typing import Any

Accepted = Callable[[asyncio.StreamReader, asyncio.StreamWriter],
                    Awaitable[None]]

USER, SECRET, ACCOUNT = 'charts:service', 'sesame', 'AUTH_charts'
CUT_BYTES = 100000

directory, swift = sys.argv[1], '127.0.0.1:' + sys.argv[2]
fronts: dict[str, int] = {}  # ports, by case
numbers = itertools.count()  # of sources


def mode_of(case: str) -> dict[str, str]:
    words = dict(sign='s3', secret=SECRET, life='900', front='relay',
                 base='http://127.0.0.1:%d' % fronts[case])
    with open(os.path.join(directory, case)) as file:
        words.update(word.split('=', 1)  # type: ignore[misc]
                     for word in file.read().split())
    return words


def log(**what: object) -> None:
    with open(os.path.join(directory, 'log'), 'a') as file:
        file.write(json.dumps(what) + '\n')


def sign(key: bytes, text: str) -> hmac.HMAC:
    return hmac.new(key, text.encode(), hashlib.sha256)


def s3_url(method: str, base: str, path: str, life: str | int,
           secret: str = SECRET) -> str:
    now = time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())
    scope = now[:8] + '/us-east-1/s3/aws4_request'
    query = urllib.parse.urlencode(sorted({
        'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
        'X-Amz-Credential': USER + '/' + scope, 'X-Amz-Date': now,
        'X-Amz-Expires': life, 'X-Amz-SignedHeaders': 'host'}.items()))
    request = '\n'.join((method, path, query,
                         'host:' + urllib.parse.urlsplit(base).netloc, '',
                         'host', 'UNSIGNED-PAYLOAD'))
    key = ('AWS4' + secret).encode()
    for part in scope.split('/'):
        key = sign(key, part).digest()
    signature = sign(key, '\n'.join((
        'AWS4-HMAC-SHA256', now, scope,
        hashlib.sha256(request.encode()).hexdigest()))).hexdigest()
    return f'{base}{path}?{query}&X-Amz-Signature={signature}'


def temp_url(base: str, path: str, life: str, secret: str) -> str:
    path = '/v1/' + ACCOUNT + path
    until = int(time.time()) + int(life)
    signature = sign(secret.encode(), f'PUT\n{until}\n{path}').hexdigest()
    return f'{base}{path}?temp_url_sig={signature}&temp_url_expires={until}'


def object_path(case: str, source: str) -> str:
    return f'/charts-{case}/images/{source}/SOURCE_FILES/{source}_1'


def stored(case: str, source: str) -> tuple[int, str, int]:
    """What the storage has of a source: the status, the digest, the size."""
    url = s3_url('GET', 'http://' + swift, object_path(case, source), 60)
    connection = http.client.HTTPConnection(swift)
    connection.request('GET', url[len('http://' + swift):])
    response = connection.getresponse()
    digest, size = hashlib.sha256(), 0
    while part := response.read(1 << 20):
        digest.update(part)
        size += len(part)
    connection.close()
    return response.status, digest.hexdigest(), size


# --- the service ------------------------------------------------------------

class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *args: object) -> None:
        pass

    def answer(self, status: int, results: dict[str, object]) -> None:
        body = json.dumps({'status': status, 'results': results}).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        case = self.path.split('/')[1]
        body = self.rfile.read(int(self.headers['Content-Length']))
        files = json.loads(body)['files']
        source = f'01SOURCE{next(numbers):018}'
        mode = mode_of(case)
        path = object_path(case, source)
        if mode['sign'] == 'tempurl':
            url = temp_url(mode['base'], path, mode['life'], mode['secret'])
        else:
            url = s3_url('PUT', mode['base'], path, mode['life'],
                         mode['secret'])
        log(call='create', case=case)
        self.answer(201, {'id': source, 'upload_urls': [
            {'url': url, 'object_name': path.split('/', 2)[2],
             'file_name': files[0]['file_name']}]})

    def do_GET(self) -> None:
        _, case, _, kind, name, *_ = self.path.split('/')
        if kind == 'source':
            status, digest, size = stored(case, name)
            log(call='source', case=case, status=status, sha256=digest,
                bytes=size)
            found = status == 200
            self.answer(200, {
                'id': name, 'status': 'complete' if found else 'pending_upload',
                'expected_file_count': 1, 'uploaded_file_count': int(found),
                'case_ids': ['01CASE' + name[6:]] if found else None})
        else:
            self.answer(200, {
                'id': name, 'source_id': '01SOUR' + name[6:],
                'status': 'complete', 'case_name': 'chart',
                'medical_data': {'1': {'patient_last_name': 'Ahrens'}}})


# --- the fronts --------------------------------------------------------------

async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter,
                  limit: int | None = None) -> None:
    while limit is None or limit > 0:
        data = await reader.read(min(65536, limit or 65536))
        if not data:
            break
        if limit is not None:
            limit -= len(data)
        writer.write(data)
        await writer.drain()
    if limit is None:
        writer.write_eof()


def response_of(status: str, *lines: str, body: str = '') -> bytes:
    return '\r\n'.join((f'HTTP/1.1 {status}', f'Content-Length: {len(body)}',
                        'Connection: close', *lines, '', body)).encode()


async def drained(reader: asyncio.StreamReader) -> None:
    """Until the client closes: else the response could be lost."""
    while await reader.read(65536):
        pass


async def serve(case: str, mode: str, head: bytes, reader: asyncio.StreamReader,
                writer: asyncio.StreamWriter) -> None:
    query: Any  # text, then a dictionary
    there: Any  # a URL, or a writer
    path, _, query = head.split()[1].decode().partition('?')
    if mode == 'slow':
        writer.write(response_of(
            '503 Slow Down', body='<?xml version="1.0"?><Error>'
            '<Code>SlowDown</Code><Message>Please reduce your request rate.'
            '</Message></Error>'))
        await drained(reader)
        return
    if mode == 'redirect':
        there = s3_url('PUT', 'http://' + swift, path, 900)
        writer.write(response_of('307 Temporary Redirect',
                                 'Location: ' + there))
        await drained(reader)
        return
    if mode == 'late':
        query = dict(urllib.parse.parse_qsl(query))
        begin = datetime.datetime.strptime(query['X-Amz-Date'] + '+0000',
                                           '%Y%m%dT%H%M%SZ%z').timestamp()
        await asyncio.sleep(begin + int(query['X-Amz-Expires']) + 1
                            - time.time())
    back, there = await asyncio.open_connection(*swift.split(':'))
    there.write(head)
    if mode == 'cut':
        await pass_on(reader, there, CUT_BYTES - len(head))
        there.write_eof()
        await back.read()  # until the storage has noticed
    elif mode == 'lost':
        upload = asyncio.create_task(pass_on(reader, there))
        await back.read(1)
        upload.cancel()
    else:
        await asyncio.gather(pass_on(reader, there), pass_on(back, writer),
                             return_exceptions=True)
    there.close()
    if mode in ('cut', 'lost'):
        writer.transport.abort()


def front_of(case: str) -> Accepted:
    async def accepted(reader: asyncio.StreamReader,
                       writer: asyncio.StreamWriter) -> None:
        mode = mode_of(case)['front']
        try:
            head = await reader.readuntil(b'\r\n\r\n')
            await serve(case, mode, head, reader, writer)
            if mode != 'relay':
                source = head.split(b'/SOURCE_FILES/')[0].rpartition(b'/')[2]
                status, digest, size = await asyncio.to_thread(
                    stored, case, source.decode())
                log(call='front', case=case, status=status, sha256=digest,
                    bytes=size)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        writer.close()
    return accepted


async def main() -> None:
    service = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Service)
    service.daemon_threads = True
    for case in sys.argv[3:]:
        server = await asyncio.start_server(front_of(case), '127.0.0.1', 0)
        fronts[case] = server.sockets[0].getsockname()[1]
    threading.Thread(target=service.serve_forever, daemon=True).start()
    print('api', service.server_port)
    for case, port in fronts.items():
        print(case, port)
    print('ready', flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
