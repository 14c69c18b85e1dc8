#!/usr/bin/env python3
"""Where the discovered schemas stand, and what the catalogue says: the real model in conversations of several turns.

    placement.py [--conversations 12] [--turns 6] [--seed 1] [VARIANT ...]

Draws requests from slurp as a recogniser heard them, the same ones for every variant, and asks them through a running
`tiro daemon`, a new one with an empty home for each conversation. Nothing is confirmed, so nothing outside that home
changes. Between two turns it waits, as a person does, until the daemon has evaluated what was said. Prints one JSON object a variant:

    right       share of the requests that a tool serves whose first call, discovery aside, is an accepted one
    quiet       share of the requests that no tool serves which were answered without a call
    prompt      prompt tokens a turn, cached and evaluated ones, means over all turns; `worst`: most evaluated in one turn
    by_turn     evaluated tokens of the first, second, ... turn of a conversation, means
    seconds     waiting for the model a turn (mean), and of its evaluating ahead between two turns

Needs the release build, and the weights in `TIRO_MODELS`. `TIRO_ENGINES` names another folder with `tiro` and its engines,
to compare two builds; `TIRO_DATA` the data.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import DATA, WORKSPACE

PROGRAMS = Path(os.environ.get("TIRO_ENGINES", WORKSPACE / "target/release"))
NOW = "2026-03-03T10:30"
LIMIT = 180
VARIANTS = {
    "tail": {},
    "system": {"prompt.discovered": "system"},
    "tail-summaries": {"prompt.catalog_summaries": "true", "prompt.catalog_tokens": "0"},
    "tail-names": {"prompt.catalog_tokens": "0"},
}


class Home:
    """`tiro` with an empty home of its own."""

    def __init__(self, folder: str, config: dict) -> None:
        self.env = {**os.environ, "TIRO_HOME": folder, "TIRO_ENGINES": str(PROGRAMS)}
        for key, value in config.items():
            self.run("config", "set", key, value, check=True)

    def run(self, *args: str, check: bool = False) -> str:
        ran = subprocess.run([PROGRAMS / "tiro", *args], env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True, timeout=LIMIT, check=check)
        return ran.stdout

    def daemon(self) -> subprocess.Popen:
        quiet = subprocess.DEVNULL
        return subprocess.Popen([PROGRAMS / "tiro", "daemon"], env=self.env, stdin=quiet, stdout=quiet, stderr=quiet)

    def until(self, holds) -> float:
        """Waits until the daemon's state is so, and says how many seconds that took."""
        start = time.monotonic()
        while time.monotonic() - start < LIMIT:
            status = self.run("status", "--json")
            if status and holds(json.loads(status)):
                return time.monotonic() - start
            time.sleep(0.05)
        sys.exit("the daemon did not become ready")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("variants", nargs="*", choices=[[], *VARIANTS], default=list(VARIANTS))
    parser.add_argument("--conversations", type=int, default=12)
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    lines = (DATA / "slurp/commands.jsonl").read_text().splitlines()
    drawn = random.Random(options.seed).sample([json.loads(line) for line in lines],
                                               options.conversations * options.turns)
    talks = [drawn[i:i + options.turns] for i in range(0, len(drawn), options.turns)]
    for variant in options.variants:
        print(json.dumps({"variant": variant, **measure(VARIANTS[variant], talks)}), flush=True)


def measure(config: dict, talks: list) -> dict:
    turns = []
    with tempfile.TemporaryDirectory(prefix="tiro") as folder:
        # One home for all of them: the snapshot of the static prefix is made once.
        home = Home(folder, config)
        for talk in talks:
            daemon = home.daemon()
            try:
                home.until(lambda status: status["prefix"] is not None)
                for place, request in enumerate(talk):
                    report = json.loads(home.run("ask", "--json", "--now", NOW, request["asr"]))
                    calls = [call["name"] for call in report["calls"] if call["name"] != "tools.discover"]
                    pause = home.until(lambda status: status["warm"])
                    turns.append((place, request, calls, report, pause))
                    if os.environ.get("VERBOSE"):
                        print(request["asr"], request["accept"], calls, report["tokens"], file=sys.stderr, flush=True)
            finally:
                daemon.terminate()
                daemon.wait(LIMIT)
    served = [bool(calls) and calls[0] in request["accept"] for _, request, calls, _, _ in turns if request["accept"]]
    quiet = [not calls for _, request, calls, _, _ in turns if not request["accept"]]
    tokens = [report["tokens"] for _, _, _, report, _ in turns]
    new = [t["prompt"] - t["cached"] for t in tokens]
    places = sorted({place for place, *_ in turns})
    return {
        "turns": len(turns), "served": len(served), "right": share(served), "unserved": len(quiet), "quiet": share(quiet),
        "prompt": {"tokens": mean([t["prompt"] for t in tokens]), "cached": mean([t["cached"] for t in tokens]),
                   "evaluated": mean(new), "worst": max(new)},
        "by_turn": [mean([n for n, turn in zip(new, turns) if turn[0] == place]) for place in places],
        "seconds": {"model": mean([turn[3]["ms"]["llm"] / 1000 for turn in turns], 2),
                    "ahead": mean([turn[4] for turn in turns], 2)},
    }


def share(flags: list) -> float:
    return mean([100 * flag for flag in flags], 1)


def mean(values: list, digits: int = 0) -> float:
    return round(sum(values) / max(len(values), 1), digits)


main()
