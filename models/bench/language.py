#!/usr/bin/env python3
"""Prefill and decode speed of tiro-llm beside llama-cpp-python: same GGUF, same threads, same prompt, in turn.

    language.py GGUF [GGUF ...]

Prints one JSON object a model: tokens a second (medians) and their ratio.
"""

import json
import os
import sys
import time

from common import Tiro, inside, median

REPEATS = int(os.environ.get("REPEATS", "7"))
THREADS = len(os.sched_getaffinity(0))
WINDOW = 2048
TOKENS = 48
PROMPT = "The secretary wrote down what was said, and then the senator went on to the next letter. " * 24


def main() -> None:
    from llama_cpp import Llama

    for path in sys.argv[1:]:
        tiro = Tiro()
        tiro.ask(llm=path, threads=THREADS, context=WINDOW)
        peer = Llama(path, n_ctx=WINDOW, n_threads=THREADS, n_threads_batch=THREADS, n_batch=512, verbose=False)
        ours, theirs = {"prefill": [], "decode": []}, {"prefill": [], "decode": []}
        tokens = peer.tokenize(PROMPT.encode(), add_bos=False, special=True)
        for _ in range(REPEATS):
            usage = tiro.ask(prompt=PROMPT, max=TOKENS, fresh=True)["generated"]["usage"]
            ours["prefill"].append((usage["prompt"] - usage["cached"]) / usage["prefill_ms"] * 1000)
            ours["decode"].append(usage["generated"] / usage["decode_ms"] * 1000)

            peer.reset()
            start = time.perf_counter()
            peer.eval(tokens)
            theirs["prefill"].append(len(tokens) / (time.perf_counter() - start))
            start = time.perf_counter()
            for _ in range(TOKENS):
                peer.eval([peer.sample(temp=0.0)])
            theirs["decode"].append(TOKENS / (time.perf_counter() - start))
        report = {"model": os.path.basename(path), "threads": THREADS, "prompt_tokens": len(tokens)}
        for phase in ours:
            ratios = [a / b for a, b in zip(ours[phase], theirs[phase])]
            report[phase] = {"tiro": round(median(ours[phase]), 1), "llama_cpp_python": round(median(theirs[phase]), 1),
                             "ratio": round(median(ratios), 3)}
        print(json.dumps(report), flush=True)


inside("llama-cpp-python", "llama-cpp-python", CMAKE_ARGS="-DGGML_NATIVE=ON")
main()
