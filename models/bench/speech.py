#!/usr/bin/env python3
"""Word error rate and real-time factor of tiro-stt beside faster-whisper on the same weights, clip by clip in turn.

    speech.py GGML_FILE CTRANSLATE2_FOLDER [GGML_FILE CTRANSLATE2_FOLDER ...]

The folder is the package's own model (model.bin, config.json, vocabulary.txt) from which the ggml file was converted.
Recordings: speech/read, numbers and spelling normalised the same way on both sides. Prints one JSON object a model.
"""

import json
import os
import re
import sys
import tempfile
import time
import wave
from pathlib import Path

from common import DATA, Tiro, inside, median

REPEATS = int(os.environ.get("REPEATS", "3"))
THREADS = len(os.sched_getaffinity(0))
SPOKEN = {"mr": "mister", "mrs": "missus", "6": "six", "2": "two", "12": "twelve"}


def words(text: str) -> list[str]:
    plain = re.sub(r"[^a-z0-9' ]+", " ", text.lower().replace("-", " "))
    return [SPOKEN.get(word, word) for word in plain.split()]


def distance(a: list[str], b: list[str]) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (x != y))
    return row[-1]


def clips(folder: Path):
    """Every recording as 16 kHz mono, in memory for the peer and as a file for us."""
    import numpy as np
    from faster_whisper.audio import decode_audio

    read = DATA / "speech/read"
    for line in (read / "manifest.jsonl").read_text().splitlines():
        entry = json.loads(line)
        audio = decode_audio(str(read / entry["file"]), 16_000)
        path = folder / (entry["file"] + ".wav")
        with wave.open(str(path), "wb") as out:
            out.setnchannels(1)
            out.setsampwidth(2)
            out.setframerate(16_000)
            out.writeframes((np.clip(audio, -1, 1) * 32_767).astype("<i2").tobytes())
        yield path, audio, words(entry["transcript"])


def main() -> None:
    from faster_whisper import WhisperModel

    arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        recordings = list(clips(Path(folder)))
        for ggml, peer_folder in zip(arguments[::2], arguments[1::2]):
            tiro = Tiro()
            info = tiro.ask(stt=ggml, threads=THREADS)["info"]
            peers = {kind: WhisperModel(peer_folder, device="cpu", compute_type=kind, cpu_threads=THREADS)
                     for kind in ("float32", "int8")}
            errors, times = {}, {}
            for path, audio, reference in recordings:
                for turn in range(REPEATS):
                    heard = {}
                    start = time.perf_counter()
                    answer = tiro.ask(wav=str(path), language="en")
                    times.setdefault("tiro", {}).setdefault(path, []).append(time.perf_counter() - start)
                    heard["tiro"] = answer["transcript"]["text"]
                    for name, model in peers.items():
                        start = time.perf_counter()
                        segments, _ = model.transcribe(audio, language="en", beam_size=1, condition_on_previous_text=False)
                        heard[name] = " ".join(segment.text for segment in segments)
                        times.setdefault(name, {}).setdefault(path, []).append(time.perf_counter() - start)
                    if turn == 0:
                        for name, text in heard.items():
                            errors[name] = errors.get(name, 0) + distance(reference, words(text))
            total = sum(len(reference) for _, _, reference in recordings)
            seconds = sum(len(audio) for _, audio, _ in recordings) / 16_000
            middle = {name: {path: median(all_) for path, all_ in by.items()} for name, by in times.items()}
            report = {"model": info["name"], "threads": THREADS, "clips": len(recordings), "words": total}
            for name in middle:
                report[name] = {"wer": round(100 * errors[name] / total, 2),
                                "rtf": round(sum(middle[name].values()) / seconds, 3)}
            for name in peers:
                ratios = [middle[name][path] / middle["tiro"][path] for path in middle["tiro"]]
                report[name]["times_slower"] = {"median": round(median(ratios), 2), "worst": round(min(ratios), 2)}
            print(json.dumps(report), flush=True)


inside("faster-whisper", "faster-whisper")
main()
