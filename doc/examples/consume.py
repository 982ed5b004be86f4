#!/usr/bin/env python3
"""consume.py RESULTS INBOX: moves delivered results to INBOX.

If it is killed and started again, no result is lost; see docextract-results(5).
A result may arrive twice: identify documents by case ID and document ID."""
import hashlib, json, os, sys
results, inbox = sys.argv[1:]

def take(case):
    source = os.path.join(results, case["file"])
    if not os.path.exists(source):  # an earlier run, which was killed, moved it
        return
    with open(source, "rb") as file:
        if hashlib.sha256(file.read()).hexdigest() != case["sha256"]:
            sys.exit(f"{source} is damaged")
    os.replace(source, os.path.join(inbox, case["file"]))

for name in sorted(os.listdir(results)):
    if name.endswith(".job.json") and not name.startswith("."):
        with open(os.path.join(results, name)) as file:
            manifest = json.load(file)
        for case in manifest["cases"]:
            take(case)
        os.replace(os.path.join(results, name), os.path.join(inbox, name))
