#!/usr/bin/env python3
"""schemathesis with all its checks over openapi.yaml, against a running daemon. Prints TAP.

    tests/clients/openapi.py HOST:PORT

ATTND_TEST_LONG=1 takes three minutes, else a quarter of one, with the same requests each time."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, __file__.rpartition("/")[0])
from tap import check, finish  # noqa: E402 (the folder of this script is not on the path of every runner)

TOP = Path(__file__).resolve().parents[2]
FOLDER = TOP / "tests/clients/schemathesis"


def main():
    time_s = "180" if os.environ.get("ATTND_TEST_LONG") else "15"
    cache = TOP / "build/clients/schemathesis"  # what it keeps for its own next run
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir(parents=True)
    run = subprocess.run(
        [Path(sys.executable).with_name("schemathesis"), "--no-color", "--config-file", FOLDER / "schemathesis.toml", "run", TOP / "openapi.yaml",
         "--url", "http://" + sys.argv[1], "--checks", "all", "--max-time", time_s, "--seed", "1", "--generation-database", "none", "--no-shrink"],
        cwd=cache, env={**os.environ, "PYTHONPATH": str(FOLDER)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    tried = re.search(r"(\d+) generated", run.stdout)
    print(f"# {tried[0] if tried else 'nothing'} in {time_s} s")
    check("requests are made", tried and int(tried[1]) > 100, run.stdout)
    check("schemathesis finds nothing", run.returncode == 0, run.stdout)
    finish()


main()
