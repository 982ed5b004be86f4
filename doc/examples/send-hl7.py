#!/usr/bin/env python3
"""send-hl7.py HOST PORT DIRECTORY: sends the messages of docextract-fhir(1) in
DIRECTORY with MLLP, and deletes each one that the receiver has accepted. The
others are kept and named."""
import pathlib
import socket
import sys

START, END = b"\v", b"\x1c\r"
TIMEOUT_S = 60  # of each operation
ACK_MAX_BYTES = 1 << 20


def acknowledgment(address: tuple[str, int], message: bytes) -> bytes:
    """A connection for each message: a late response is never taken for that
    to another message."""
    with socket.create_connection(address, TIMEOUT_S) as connection:
        connection.sendall(START + message + END)
        received = b""
        while END not in received and len(received) < ACK_MAX_BYTES:
            part = connection.recv(65536)
            if not part:  # for example because the message is too large
                raise ConnectionError("the receiver closed the connection")
            received += part
    return received.partition(START)[2].partition(END)[0]


def response(ack: bytes, control_id: bytes) -> str:
    """The code of MSA-1; "" if the message is not an acknowledgment of ours."""
    separator = ack[3:4] or b"|"
    for segment in ack.split(b"\r"):
        name, *fields = segment.split(separator)
        if name == b"MSA" and len(fields) > 1 and fields[1] == control_id:
            return fields[0].decode("ascii", "replace")
    return ""


def send(address: tuple[str, int], path: pathlib.Path) -> str:
    """Why the message was not accepted; "" if it was. Nothing of the response
    but its code is printed: it may contain patient data."""
    message = path.read_bytes()
    control_id = message.split(b"\r")[0].split(b"|")[9]
    try:
        code = response(acknowledgment(address, message), control_id)
    except OSError as error:
        return error.strerror or str(error)
    if code in ("AA", "CA"):
        return ""
    return f"the response is {code}" if code in ("AE", "AR", "CE", "CR") else \
        "the response does not acknowledge it"


def main() -> int:
    if len(sys.argv) != 4:
        sys.exit("usage: send-hl7.py HOST PORT DIRECTORY")
    host, port, directory = sys.argv[1:]
    status = 0
    for path in sorted(pathlib.Path(directory).glob("[!.]*.hl7")):
        reason = send((host, int(port)), path)
        if reason:
            status = 1
            print(f"{path.name} is kept: {reason}; see the log of the receiver",
                  file=sys.stderr)
        else:
            path.unlink()
    return status


if __name__ == "__main__":
    sys.exit(main())
