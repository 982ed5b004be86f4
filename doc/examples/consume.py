#!/usr/bin/env python3
"""consume.py RESULTS INBOX: moves delivered results to INBOX, and those of a
chart that was extracted twice, by two servers, to INBOX/duplicates.

If it is killed and started again, no result is lost; see docextract-results(5)."""
import contextlib, hashlib, json, os, pathlib, sys
results, inbox = map(pathlib.Path, sys.argv[1:])

for path in sorted(results.glob("[!.]*.job.json")):
    manifest, to = json.loads(path.read_bytes()), inbox
    chart = [manifest["job"]["uuid"], *((f["document"], f["sha256"]) for f in manifest["files"])]
    if manifest["outcome"] == "extracted" and chart[0]:
        seen = inbox / f".{hashlib.sha256(repr(chart).encode()).hexdigest()}"
        with contextlib.suppress(FileExistsError):  # of another consumer
            seen.symlink_to(path.name)
        to = inbox if os.readlink(seen) == path.name else inbox / "duplicates"
    to.mkdir(exist_ok=True)
    for file, sha256 in ((results / c["file"], c["sha256"]) for c in manifest["cases"]):
        if file.exists():  # otherwise an earlier run, which was killed, moved it
            if hashlib.sha256(file.read_bytes()).hexdigest() != sha256:
                sys.exit(f"{file} is damaged")
            file.replace(to / file.name)
    path.replace(to / path.name)
