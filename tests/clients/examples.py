#!/usr/bin/env python3
"""Prints the README's curl examples as one JSON list: [{"name", "path", "request", "reply"}]. In a reply "…" stands for the rest."""
import json
import re
from pathlib import Path

README = Path(__file__).resolve().parent.parent.parent / "README.md"
EXAMPLE = re.compile(r"^```sh\ncurl -s localhost:8080(/\S+) -d '(\{[^']*\})'\n```\n\n*```json\n((?:(?!```).*\n)*)```", re.MULTILINE)

text = README.read_text(encoding="utf-8")
examples = [{"name": f"README.md:{text.count(chr(10), 0, match.start()) + 1}", "path": match[1], "request": json.loads(match[2]),
             "reply": json.loads(match[3])} for match in EXAMPLE.finditer(text)]
print(json.dumps(examples))
