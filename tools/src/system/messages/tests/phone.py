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

daemon = None
identity = None
link = None
linked = threading.Event()
conversations = []


def say(**what):
    # One write, because the thread that reads says things, too.
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def line(kind, body):
    return json.dumps({"id": int(time.time() * 1000), "type": kind, "body": body}).encode() + b"\n"


def connect():
    """The phone connects, and is the server of the encryption that follows: so the protocol wants it."""
    plain = socket.create_connection(("127.0.0.1", PORT), timeout=10)
    plain.sendall(line("kdeconnect.identity", {"deviceId": DEVICE, "protocolVersion": 7, **identity}))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    encrypted = context.wrap_socket(plain, server_side=True)
    encrypted.settimeout(None)
    return encrypted


def read():
    for text in link.makefile("rb"):
        packet = json.loads(text)
        kind, body = packet["type"], packet["body"]
        say(got=kind, body=body)
        if kind == "kdeconnect.pair" and body["pair"]:
            link.sendall(line(kind, {"pair": True}))
        if kind == "kdeconnect.sms.request_conversations":
            for message in conversations:
                link.sendall(line("kdeconnect.sms.messages", {"version": 2, "messages": [message]}))


def stay():
    """Comes back until it is told to go: the daemon hangs up on whoever takes a second for the encryption."""
    global link
    while identity:
        try:
            link = connect()
            linked.set()
            read()
        except OSError:
            time.sleep(0.1)


def go():
    global identity
    identity = None
    linked.clear()
    try:
        link.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def obey(order):
    global daemon, conversations, identity
    match order:
        case {"start": _}:
            daemon = subprocess.Popen([DAEMON], stdin=subprocess.DEVNULL, stdout=sys.stderr)
        case {"connect": body}:
            identity = body
            threading.Thread(target=stay, daemon=True).start()
            linked.wait()
        case {"conversations": messages}:
            conversations = messages
        case {"packet": kind, "body": body}:
            link.sendall(line(kind, body))
        case {"drop": _}:
            go()
        case {"kill": _}:
            daemon.kill()
            daemon.wait()
            go()


for text in sys.stdin:
    obey(json.loads(text))
    say(done=True)
