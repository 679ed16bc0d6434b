#!/usr/bin/env python3
"""Prints the curl examples of README.md and docs/ as one JSON list: [{"name", "path", "request", "reply"}]. In a reply "…" stands for the rest."""
import json
import re
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
EXAMPLE = re.compile(r"^```sh\ncurl -s localhost:8080(/\S+) -d '(\{[^']*\})'\n```\n\n*```json\n((?:(?!```).*\n)*)```", re.MULTILINE)


def examples(document):
    text = document.read_text(encoding="utf-8")
    for match in EXAMPLE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield {"name": f"{document.relative_to(TOP)}:{line}", "path": match[1], "request": json.loads(match[2]),
               "reply": json.loads(match[3])}


print(json.dumps([example for document in [TOP / "README.md", *sorted((TOP / "docs").glob("*.md"))] for example in examples(document)]))
