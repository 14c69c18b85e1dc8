"""The other side of Wyoming, in its reference implementation: a client that prints what it got, one JSON a line, or a server."""

import asyncio
import json
import sys
import wave
from functools import partial

from wyoming.asr import Transcribe, Transcript
from wyoming.audio import AudioChunk, AudioStart, AudioStop, wav_to_chunks
from wyoming.client import AsyncClient
from wyoming.error import Error
from wyoming.handle import Handled, NotHandled
from wyoming.info import AsrModel, AsrProgram, Attribution, Describe, Info, TtsProgram, TtsVoice
from wyoming.ping import Ping, Pong
from wyoming.server import AsyncEventHandler, AsyncServer
from wyoming.tts import Synthesize

LIMIT = 100


def say(what):
    print(json.dumps(what), flush=True)


async def until(client, *kinds):
    """The next event of one of these kinds; anything else is shown, and an end is one."""
    while True:
        event = await asyncio.wait_for(client.read_event(), LIMIT)
        if event is None:
            raise SystemExit("the connection was closed")
        for kind in kinds:
            if kind.is_type(event.type):
                return kind.from_event(event)
        say({"type": event.type, **event.data})


async def describe(client):
    await client.write_event(Describe().event())
    info = await until(client, Info)
    say(info.event().data)


async def ping(client, text):
    await client.write_event(Ping(text=text).event())
    say({"text": (await until(client, Pong)).text})


async def transcribe(client, file, language):
    await client.write_event(Transcribe(language=language).event())
    with wave.open(file, "rb") as wav:
        for event in wav_to_chunks(wav, 1024, start_event=True, stop_event=True):
            await client.write_event(event.event())
    got = await until(client, Transcript)
    say({"text": got.text, "language": got.language})


async def handle(client, text):
    context = {"conversation_id": "1"}
    await client.write_event(Transcript(text=text, language="en", context=context).event())
    got = await until(client, Handled, NotHandled)
    say({"type": "handled" if isinstance(got, Handled) else "not-handled", "text": got.text})


async def synthesize(client, text, file=None):
    await client.write_event(Synthesize(text=text).event())
    start, sound = await until(client, AudioStart), b""
    while True:
        got = await until(client, AudioChunk, AudioStop)
        if isinstance(got, AudioStop):
            break
        assert (got.rate, got.width, got.channels) == (start.rate, start.width, start.channels)
        sound += got.audio
    if file:
        with wave.open(file, "wb") as wav:
            wav.setframerate(start.rate)
            wav.setsampwidth(start.width)
            wav.setnchannels(start.channels)
            wav.writeframes(sound)
    samples = memoryview(sound).cast("h")
    say({"format": [start.rate, start.width, start.channels], "bytes": len(sound), "sum": sum(samples)})


class Handler(AsyncEventHandler):
    """Hears how much it heard, and says so many tenths of a second as there are letters."""

    wanted = Transcribe()
    heard = 0
    rate = 0

    async def handle_event(self, event):
        if Describe.is_type(event.type):
            made = {"attribution": Attribution("us", "here"), "installed": True, "description": None, "version": "7"}
            models = [AsrModel(name=name, languages=["en", "de"], **made) for name in ("small", "large")]
            voices = [TtsVoice(name="amy", languages=["en"], **made)]
            asr = AsrProgram(name="reference", models=models, **made)
            await self.write_event(Info(asr=[asr], tts=[TtsProgram(name="reference", voices=voices, **made)]).event())
        elif Transcribe.is_type(event.type):
            self.wanted, self.heard = Transcribe.from_event(event), 0
        elif AudioChunk.is_type(event.type):
            chunk = AudioChunk.from_event(event)
            self.heard, self.rate = self.heard + chunk.samples, chunk.rate
        elif AudioStop.is_type(event.type):
            wanted = self.wanted
            if wanted.language == "hang":
                print("hangs", flush=True)
                await asyncio.sleep(LIMIT)
            if wanted.language == "xx":
                await self.write_event(Error(text="I know no xx.", code="no-language").event())
                return False
            names = " and ".join(wanted.transcript_names or [])
            text = f"{self.heard} samples of {self.rate} Hz for {wanted.name} in {wanted.language}, expecting {names}"
            await self.write_event(Transcript(text=text).event())
            # As wyoming-faster-whisper does.
            return False
        elif Synthesize.is_type(event.type):
            text = Synthesize.from_event(event).text
            if text == "fail":
                await self.write_event(Error(text="no voice today").event())
                return True
            if text == "hang":
                await asyncio.sleep(LIMIT)
            form = {"rate": 22050, "width": 2, "channels": 1}
            await self.write_event(AudioStart(**form).event())
            wave_of_ten = b"\x00\x20" * 5 + b"\x00\xe0" * 5
            for _ in text:
                await self.write_event(AudioChunk(audio=wave_of_ten * 220 + wave_of_ten[:10], **form).event())
            await self.write_event(AudioStop().event())
        return True


async def serve(uri):
    server = AsyncServer.from_uri(uri)
    await server.start(partial(Handler))
    print(uri, flush=True)
    # Until whoever started this is gone.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


async def main(uri, verb, *args):
    if verb == "serve":
        return await serve(uri)
    verbs = {"describe": describe, "ping": ping, "transcribe": transcribe, "handle": handle, "synthesize": synthesize}
    async with AsyncClient.from_uri(uri, connect_timeout=LIMIT) as client:
        await verbs[verb](client, *args)


asyncio.run(main(*sys.argv[1:]))
