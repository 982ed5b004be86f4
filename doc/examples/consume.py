#!/usr/bin/env python3
"""consume.py RESULTS INBOX: moves delivered results to INBOX, and those of a
chart that was extracted twice, by two servers, to INBOX/duplicates.

Only files that belong to the owner of RESULTS are imported; everything else is
named, and remains there. If the program is killed and started again, no result
is lost; see docextract-results(5)."""
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import re
import stat
import sys

if len(sys.argv) != 3:
    sys.exit("usage: consume.py RESULTS INBOX")
results, inbox = map(pathlib.Path, sys.argv[1:])
owner = results.stat().st_uid


def read(name: str) -> bytes:
    """Follows no link, and waits for no FIFO."""
    fd = os.open(results / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != owner:
            raise ValueError(f"{name} is not a file of docextract")
        return file.read()


def move(name: str, content: bytes, to: pathlib.Path) -> None:
    """At any time, even after a crash, the whole file is in one directory."""
    new = inbox / ".new"
    with open(new, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(to / name)
    directory = os.open(to, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)
    (results / name).unlink()


def consume(name: str) -> None:
    files, content, to = {}, read(name), inbox
    manifest = json.loads(content)
    if manifest["schema"] != 2:
        raise ValueError("the version of its schema is not 2")
    for case in manifest["cases"]:
        file = case["file"]
        if not re.fullmatch(r"[^./][^/]*\.json", file):
            raise ValueError("it contains a name that is not that of a result")
        with contextlib.suppress(FileNotFoundError):  # moved before it was killed
            files[file] = read(file)
            if hashlib.sha256(files[file]).hexdigest() != case["sha256"]:
                raise ValueError(f"{file} is damaged")
    chart = [manifest["job"]["uuid"],
             *((f["document"], f["sha256"]) for f in manifest["files"])]
    if manifest["outcome"] == "extracted" and chart[0]:
        seen = inbox / f".{hashlib.sha256(repr(chart).encode()).hexdigest()}"
        with contextlib.suppress(FileExistsError):  # of another consumer
            seen.symlink_to(name)
        to = inbox if os.readlink(seen) == name else inbox / "duplicates"
    to.mkdir(exist_ok=True)
    for file in files:
        move(file, files[file], to)
    move(name, content, to)


exit_status = 0
with open(inbox / ".lock", "a") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    for path in sorted(results.glob("[!.]*.job.json")):
        try:
            consume(path.name)
        except (OSError, ValueError, KeyError, TypeError) as error:
            exit_status = 1
            print(f"{path.name} is not imported: {error}", file=sys.stderr)
sys.exit(exit_status)
