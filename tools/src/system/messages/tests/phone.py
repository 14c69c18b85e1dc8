"""A phone for the real kdeconnectd: speaks KDE Connect's network protocol (version 7), accepts to be paired, shows the
conversations that it was given when it is asked for them, and says what it got. Starts the daemon itself, because both
have to be in one network that nobody else is in. Orders come as lines of JSON on standard input; each is answered with
a line once it is done."""

import json
import socket
import ssl
import subprocess
import sys
import threading
import time

DAEMON, CERTIFICATE, DEVICE = sys.argv[1:4]
PORT = 1716
LONG = 60

daemon = None
link = None
conversations = []


def say(**what):
    # One write, because the thread that reads says things, too.
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def line(kind, body):
    return json.dumps({"id": int(time.time() * 1000), "type": kind, "body": body}).encode() + b"\n"


def read(link):
    try:
        for text in link.makefile("rb"):
            packet = json.loads(text)
            kind, body = packet["type"], packet["body"]
            say(got=kind, body=body)
            if kind == "kdeconnect.pair" and body["pair"]:
                link.sendall(line(kind, {"pair": True}))
            if kind == "kdeconnect.sms.request_conversations":
                for message in conversations:
                    body = {"version": 2, "messages": [message]}
                    link.sendall(line("kdeconnect.sms.messages", body))
    except OSError:
        pass
    say(got="nothing more", body={})


def connect(body):
    """The phone connects, and is the server of the encryption that follows: so the protocol wants it."""
    global link
    began = time.monotonic()
    while True:
        try:
            plain = socket.create_connection(("127.0.0.1", PORT), timeout=LONG)
            break
        except OSError:
            if time.monotonic() - began > LONG:
                raise
            time.sleep(0.05)
    plain.sendall(line("kdeconnect.identity", {"deviceId": DEVICE, "protocolVersion": 7, **body}))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    link = context.wrap_socket(plain, server_side=True)
    link.settimeout(None)
    threading.Thread(target=read, args=(link,), daemon=True).start()


def obey(order):
    global daemon, conversations
    match order:
        case {"start": _}:
            daemon = subprocess.Popen([DAEMON], stdin=subprocess.DEVNULL, stdout=sys.stderr)
        case {"connect": body}:
            connect(body)
        case {"conversations": messages}:
            conversations = messages
        case {"packet": kind, "body": body}:
            link.sendall(line(kind, body))
        case {"drop": _}:
            link.shutdown(socket.SHUT_RDWR)
            link.close()
        case {"kill": _}:
            daemon.kill()
            daemon.wait()


for text in sys.stdin:
    obey(json.loads(text))
    say(done=True)
