"""What both benches share: a virtual environment for the peer, and a running `bench` example that drives our engines."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

WORKSPACE = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("TIRO_DATA", WORKSPACE / "../shared/data"))


def inside(peer: str, *packages: str, **env: str) -> None:
    """Starts this script again inside an environment that has the peer's packages; makes it at the first run."""
    root = Path(os.environ.get("TIRO_BENCH_VENVS", WORKSPACE / "target/bench")) / peer
    python = root / "bin/python"
    if Path(sys.prefix) == root:
        return
    if not python.exists():
        venv.create(root, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True, env={**os.environ, **env})
    os.execv(python, [str(python), *sys.argv])


class Tiro:
    """Our engines behind one JSON object a line."""

    def __init__(self) -> None:
        program = WORKSPACE / "target/release/examples/bench"
        env = {"TIRO_ENGINES": str(WORKSPACE / "target/release"), **os.environ}
        self.child = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def ask(self, **request):
        self.child.stdin.write(json.dumps(request) + "\n")
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        if not line:
            sys.exit(f"the engine gave no answer to {request}")
        return json.loads(line)


def median(values):
    ordered = sorted(values)
    return ordered[len(ordered) // 2]
