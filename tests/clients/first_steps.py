#!/usr/bin/env python3
"""The examples, and the Python package from its wheel, as a new user tries them: in an empty folder, by the documents' own lines. Prints TAP.

    tests/clients/first_steps.py HOST:PORT      where a language's compiler is not there, a line says so"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, __file__.rpartition("/")[0])
from tap import check, finish  # noqa: E402 (the folder of this script is not on the path of every runner)

TOP = Path(__file__).resolve().parent.parent.parent
ADDRESS = sys.argv[1]
WHEELS = TOP / "build/clients/wheels"
BLOCK = re.compile(r"^```(sh|python)\n((?:(?!```).*\n)*)```\n(?:\n```text\n((?:(?!```).*\n)*)```)?", re.MULTILINE)
REST = "…"
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS")}  # which rustc reads, too


def blocks(document):
    """Language, lines, and what they must print, None where that is not said."""
    text = document.read_text(encoding="utf-8").replace("localhost:8080", ADDRESS)
    return [match.groups() for match in BLOCK.finditer(text)]


def run(name, command, want, folder, environment):
    done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
    pattern = ".*".join(map(re.escape, (want or REST).strip().split(REST)))
    check(name, done.returncode == 0 and re.fullmatch(pattern, done.stdout.strip(), re.DOTALL), done.stdout)


def test_examples():
    cache = {"GO111MODULE": "off", "GOCACHE": str(TOP / "build/clients/go")}
    for _, lines, want in blocks(TOP / "examples/README.md"):
        program, file = lines.split()[0], re.search(r"\S+\.(mjs|go|rs|java|c)\b", lines)[0]
        if shutil.which(program) is None:
            print(f"# there is no {program} here to try {file} with")
            continue
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(TOP / "examples" / file, folder)
            run(file, ["bash", "-euo", "pipefail", "-c", lines], want, folder, {**ENVIRONMENT, **cache})


def make_environment(folder):
    """A virtual environment like a new one, but for numpy, which is taken from this one; and pip as it would be in it."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    site = next(Path(folder).glob("lib/python*/site-packages"))
    own_site = next(path for path in sys.path if path.endswith("site-packages"))
    (site / "numpy.pth").write_text(own_site + "\n", encoding="utf-8")
    pip = Path(folder, "bin/pip")
    pip.write_text(f"#!/bin/sh\nexec {sys.executable} -m pip --python {folder}/bin/python \"$@\"\n", encoding="utf-8")
    pip.chmod(0o755)
    path = f"{folder}/bin:{os.environ['PATH']}"
    return {**ENVIRONMENT, "PATH": path, "PIP_NO_INDEX": "1", "PIP_QUIET": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "ATTND_URL": f"http://{ADDRESS}"}


def test_package():
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as empty:
        environment = make_environment(folder)
        for wheel in WHEELS.glob("*.whl"):
            shutil.copy(wheel, empty)
        for number, (language, lines, want) in enumerate(blocks(TOP / "clients/python/README.md"), 1):
            command = ["bash", "-euc", lines] if language == "sh" else ["python", "-c", lines]
            run(f"the package's README, block {number}", command, want, empty, environment)
        tests = subprocess.run(["python", str(TOP / "tests/clients/package.py"), ADDRESS], cwd=empty, env=environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
        passed = tests.returncode == 0 and re.search(r"^1\.\.\d+$", tests.stdout, re.MULTILINE)
        for name in re.findall(r"^ok \d+ - (.*)$", tests.stdout, re.MULTILINE):
            check(name, True)
        check("the package's tests", passed, tests.stdout)


test_examples()
test_package()
finish()
