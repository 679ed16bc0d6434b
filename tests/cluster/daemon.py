"""Daemons that a test starts, on 127.0.0.1, and ends."""
import os
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
ATTND = os.environ.get("ATTND_BIN", str(TOP / "build/attnd"))


class Daemon:
    """Listens once it is made. A context manager, which kills it at the end; it must have stood until then unless kill() was called."""

    def __init__(self, *options):
        self._options, self._address = options, "127.0.0.1:0"
        self.start()

    def start(self):
        """Again at the same address, once it was killed."""
        self.process = subprocess.Popen([ATTND, "--listen", self._address, *self._options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = self.process.stdout.readline().rpartition(" ")[2].strip()
        if not self.url:
            raise RuntimeError(f"{ATTND} does not start")
        self._address = self.url.rpartition("/")[2]

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        stood = self.process.poll() is None
        self.kill()
        self.process.stdout.close()
        if not stood and self.process.returncode != -9:
            raise RuntimeError(f"attnd ended with {self.process.returncode}")
