#!/usr/bin/env python3
"""Checks that the documents tell the truth, against a running daemon. Prints TAP and, last, "N passed, N failed".

    tests/documents.py [HOST:PORT]      or ATTND_ADDRESS; else ATTND_BIN is started on a free port and stopped at the end

README.md, docs/  A ```sh, ```python, ```js or ```go block that is followed by a ```json or ```text block is run as it
                  stands, but for the address localhost:8080, and must print what the second block shows.
openapi.yaml      Every example of a request is sent as it stands. Where a reply has an example of the same name, that is
                  what must come back; else the reply's status must be 200. GET is sent too.
--help            Every option is in docs/operations.md (needs ATTND_BIN).
links             Every relative link between Markdown files leads to a file, and its anchor to a heading there.
names             The files and functions that docs/architecture.md and docs/internals.md name exist.
VERSION           openapi.yaml, CHANGELOG.md and the Python package have it.

In what is expected "…" stands for the rest: of an array as its last element, of an object as a name, of a text anywhere.
Numbers are equal within 1e-6 of the larger of 1 and their size."""
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

import yaml

TOP = Path(__file__).resolve().parent.parent
REST = "…"
TOLERANCE = 1e-6
TIMEOUT_S = 60

passed = failed = 0


def check(name, difference):
    """Counts a test; `difference` says what is wrong, None: nothing."""
    global passed, failed
    if difference is None:
        passed += 1
        print(f"ok {passed + failed} - {name}")
    else:
        failed += 1
        print(f"not ok {passed + failed} - {name}")
        print("\n".join("# " + line for line in difference.splitlines()))


def is_number(x):
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def differ_json(want, got, place=""):
    """Where two JSON values differ, in words; None where they do not."""
    if is_number(want) and is_number(got):
        if abs(want - got) <= TOLERANCE * max(1, abs(want)):
            return None
    elif isinstance(want, list) and isinstance(got, list):
        open_end = want[-1:] == [REST]
        want = want[:-1] if open_end else want
        if len(got) < len(want) or (len(got) != len(want) and not open_end):
            return f"{place}: {len(got)} elements, {len(want)} expected"
        return next((d for i, w in enumerate(want) if (d := differ_json(w, got[i], f"{place}/{i}"))), None)
    elif isinstance(want, dict) and isinstance(got, dict):
        names = [name for name in want if name != REST]
        missing = [name for name in names if name not in got]
        extra = [name for name in got if name not in want]
        if missing or (extra and REST not in want):
            return f"{place}: missing {missing}, unexpected {extra}"
        return next((d for n in names if (d := differ_json(want[n], got[n], f"{place}/{n}"))), None)
    elif type(want) is type(got) and want == got:
        return None
    return f"{place}: got {json.dumps(got)[:200]}, expected {json.dumps(want)[:200]}"


def differ_body(want, body):
    """The same for a body that should be JSON."""
    try:
        return differ_json(want, json.loads(body))
    except ValueError as error:
        return f"no JSON: {error}: {body[:400]}"


def differ_text(want, got):
    pattern = ".*".join(re.escape(part) for part in want.strip().split(REST))
    return None if re.fullmatch(pattern, got.strip(), re.DOTALL) else f"got\n{got}\nexpected\n{want}"


# ---- the documents ---------------------------------------------------------------------------------------------------

DOCUMENTS = [TOP / "README.md", *sorted((TOP / "docs").glob("*.md"))]

BLOCK = r"((?:(?!```).*\n)*)```\n"
PAIR = re.compile(r"^```(sh|python|js|go)\n" + BLOCK + r"\n*```(json|text)\n" + BLOCK, re.MULTILINE)

# How a file of each language is run. Go finds its cache where HOME is, or is told.
RUNNERS = {"sh": ("bash", "-euo", "pipefail"), "python": (sys.executable,), "js": ("node",), "go": ("go", "run")}
SUFFIXES = {"sh": ".sh", "python": ".py", "js": ".mjs", "go": ".go"}


def run_block(language, text):
    """Runs in a folder of its own, which takes the files that examples write; of the repository it has what is built."""
    with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile("w", suffix=SUFFIXES[language], encoding="utf-8") as file:
        file.write(text)
        file.flush()
        (Path(folder) / "build").symlink_to(TOP / "build")
        return subprocess.run([*RUNNERS[language], file.name], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT_S, cwd=folder, check=False,
                              env={**os.environ, "GO111MODULE": "off", "GOCACHE": str(TOP / "build/clients/go"),
                                   "PYTHONPATH": str(TOP / "clients/python/src")})


def check_document(address, document):
    text = document.read_text(encoding="utf-8")
    for match in PAIR.finditer(text):
        language, command, kind, want = match.groups()
        if "import attnd.ray" in command:  # tests/cluster/splits.py runs it, where Ray is
            continue
        line = text.count("\n", 0, match.start()) + 1
        run = run_block(language, command.replace("localhost:8080", address))
        if run.returncode != 0:
            difference = f"exit status {run.returncode}: {run.stdout}"
        else:
            difference = differ_body(json.loads(want), run.stdout) if kind == "json" else differ_text(want, run.stdout)
        check(f"{document.relative_to(TOP)}:{line}", difference)


def check_options(program):
    document = (TOP / "docs/operations.md").read_text(encoding="utf-8")
    text = subprocess.run([program, "--help"], stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_S, check=True).stdout
    missing = [option for option in re.findall(r"^  (--[a-z-]+)", text, re.MULTILINE) if f"`{option}" not in document]
    check("docs/operations.md names every option of --help", f"missing: {missing}" if missing else None)


# ---- links ----------------------------------------------------------------------------------------------------------

LINKED = ["*.md", "docs/*.md", "bench/*.md", "examples/*.md", "clients/**/README.md", "tests/**/README.md"]
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)


def read_prose(document):
    """The text of a Markdown file without its code, in which nothing is a link or a heading."""
    return FENCED.sub("", document.read_text(encoding="utf-8"))


def anchors(document):
    """The anchors of a Markdown file's headings as GitHub makes them: lower case, hyphens for spaces, no punctuation."""
    found = set()
    for heading in HEADING.findall(read_prose(document)):
        anchor = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        found.add(anchor if anchor not in found else next(a for n in range(1, 99) if (a := f"{anchor}-{n}") not in found))
    return found


def broken_link(document, target):
    """What is wrong with a relative link of `document`; None: nothing."""
    path, _, anchor = target.partition("#")
    linked = (document.parent / path).resolve() if path else document
    if not linked.exists():
        return f"{target}: there is no such file"
    if anchor and anchor not in anchors(linked):
        return f"{target}: there is no such heading"
    return None


def check_links():
    for document in sorted(path for pattern in LINKED for path in TOP.glob(pattern) if "node_modules" not in path.parts):
        prose = re.sub(r"`[^`]*`", "", read_prose(document))
        targets = [target for target in LINK.findall(prose) if not re.match(r"[a-z]+:", target)]
        broken = [problem for target in targets if (problem := broken_link(document, target))]
        check(f"{document.relative_to(TOP)}: {len(targets)} links", "\n".join(broken) or None)


# ---- names in the code ----------------------------------------------------------------------------------------------

CODE_FOLDERS = ["api", "core", "server", "web", "tests", "scripts", "bench"]
FILE_NAME = re.compile(r"[a-z0-9_./-]+\.(c|h|js|mjs|json|dict)")
IDENTIFIER = re.compile(r"[a-z0-9]+(_[a-z0-9]+)+")


def check_names():
    files = [path for folder in CODE_FOLDERS for path in (TOP / folder).rglob("*")
             if path.is_file() and not {"node_modules", "corpus"} & set(path.parts)]
    names = {path.name for path in files}
    words = set()
    for path in files:
        if path.suffix in {".c", ".h", ".js"}:
            words.update(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    for document in [TOP / "docs/architecture.md", TOP / "docs/internals.md"]:
        quoted = set(re.findall(r"`([^`\n]+)`", read_prose(document)))
        gone = [name for name in sorted(quoted)
                if (FILE_NAME.fullmatch(name) and name.rpartition("/")[2] not in names)
                or (IDENTIFIER.fullmatch(name) and name not in words)]
        check(f"{document.relative_to(TOP)}: {len(quoted)} names", f"not in the code: {gone}" if gone else None)


# ---- the version ----------------------------------------------------------------------------------------------------

def check_version():
    version = (TOP / "VERSION").read_text(encoding="utf-8").strip()
    for name, text in (("openapi.yaml", f"\n  version: {version}\n"), ("CHANGELOG.md", f"\n## {version}"),
                       ("clients/python/pyproject.toml", f'\nversion = "{version}"\n')):
        found = text in (TOP / name).read_text(encoding="utf-8")
        check(f"{name} is of version {version}", None if found else f"no {text.strip()!r}")


# ---- openapi.yaml ---------------------------------------------------------------------------------------------------

class Operation:
    def __init__(self, path, method):
        self.path, self.method = path, method
        self.requests = {}  # name: JSON value
        self.replies = {}   # name: (status, JSON value)


def json_examples(body):
    """The JSON examples of a request's or reply's body: name, value."""
    for media_type, content in body.get("content", {}).items():
        if "json" in media_type:
            for name, example in content.get("examples", {}).items():
                yield name, example["value"]


def read_operations():
    paths = yaml.safe_load((TOP / "openapi.yaml").read_text(encoding="utf-8"))["paths"]
    for path, methods in paths.items():
        for method, description in methods.items():
            operation = Operation(path, method)
            operation.requests.update(json_examples(description.get("requestBody", {})))
            for status, reply in description["responses"].items():
                operation.replies.update((name, (int(status), value)) for name, value in json_examples(reply))
            yield operation


def send(address, operation, request):
    data = None if request is None else json.dumps(request).encode()
    headers = {} if data is None else {"Content-Type": "application/json"}
    call = urllib.request.Request(f"http://{address}{operation.path}", data, headers, method=operation.method.upper())
    try:
        with urllib.request.urlopen(call, timeout=TIMEOUT_S) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def check_examples(address):
    for operation in read_operations():
        requests = operation.requests if operation.method == "post" else dict.fromkeys(
            name for name, (status, _) in operation.replies.items() if status == 200)
        for name, request in requests.items():
            want_status, want = operation.replies.get(name, (200, {REST: REST}))
            status, body = send(address, operation, request)
            difference = f"status {status}: {body}" if status != want_status else differ_body(want, body)
            check(f"openapi.yaml: {operation.method.upper()} {operation.path}: {name}", difference)


# ---- the daemon -----------------------------------------------------------------------------------------------------

def main():
    program = os.environ.get("ATTND_BIN")
    address = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("ATTND_ADDRESS")
    daemon = None
    if not address and not program:
        sys.exit("documents.py: give HOST:PORT, ATTND_ADDRESS or ATTND_BIN")
    if not address:
        daemon = subprocess.Popen([program, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  text=True)
        address = daemon.stdout.readline().strip().rpartition("//")[2]
    try:
        for document in DOCUMENTS:
            check_document(address, document)
        check_examples(address)
        check_links()
        check_names()
        check_version()
        if program:
            check_options(program)
    finally:
        if daemon is not None:
            daemon.terminate()
            daemon.wait(timeout=TIMEOUT_S)
    print(f"1..{passed + failed}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0 or passed == 0)


main()
