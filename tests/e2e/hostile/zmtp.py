"""zmtp: a client of ZMTP 3.0 and CURVE that can violate the protocol. Uses neither libzmq nor our transport.

Source   RFC 23 (ZMTP 3.0), RFC 25 and 26 (CurveZMQ); the cryptography is libsodium's, by ctypes
Use      peer = Peer(port, Keys.of(house.dir / "agent.key"), server_key(house.dir / "controller.key.pub"))
         peer.send(b"one message", b"of two frames"); peer.part(b"never ends"); peer.subscribe(b"board")
         peer.raw(b"bytes as they are"); peer.half(b"begun", of=1000); answer = peer.receive()
Errors   Refused: the handshake was answered with an ERROR, or broken off; Closed: the other side has closed
Threads  a Peer belongs to one
"""
import ctypes
import os
import re
import select
import socket
import struct
import time
import sys
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from patience import SOON_S  # noqa: E402

_sodium = ctypes.CDLL("libsodium.so.23")
if _sodium.sodium_init() < 0:
    raise ImportError("libsodium does not start")

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_LONG, _COMMAND, _MORE = 2, 4, 1
_BOX = 16  # overhead of a box in bytes


class Refused(Exception):
    pass


class Closed(Exception):
    pass


def from_z85(text):
    raw = b""
    for at in range(0, len(text), 5):
        number = 0
        for digit in text[at:at + 5]:
            number = number * 85 + _DIGITS.index(digit)
        raw += struct.pack(">I", number)
    return raw


class Keys:
    """A key pair, each key of 32 raw bytes."""

    def __init__(self, public, secret):
        self.public, self.secret = public, secret

    @staticmethod
    def of(path):
        """Reads a file of `wattle keys new`."""
        with open(path) as file:
            text = file.read()
        return Keys(*(from_z85(re.search(rf"{which}-key: (\S+)", text).group(1)) for which in ("public", "secret")))

    @staticmethod
    def new():
        public, secret = ctypes.create_string_buffer(32), ctypes.create_string_buffer(32)
        _sodium.crypto_box_keypair(public, secret)
        return Keys(public.raw, secret.raw)


def server_key(path):
    """Reads the first line of a .pub file of `wattle keys new`."""
    with open(path) as file:
        return from_z85(file.readline().strip())


def _shared(public, secret):
    key = ctypes.create_string_buffer(32)
    if _sodium.crypto_box_beforenm(key, public, secret) != 0:
        raise ValueError("an invalid public key")
    return key.raw


def _seal(text, nonce, key):
    box = ctypes.create_string_buffer(len(text) + _BOX)
    _sodium.crypto_box_easy_afternm(box, text, ctypes.c_ulonglong(len(text)), nonce, key)
    return box.raw


def _open(box, nonce, key):
    text = ctypes.create_string_buffer(max(len(box) - _BOX, 0))
    if len(box) < _BOX or _sodium.crypto_box_open_easy_afternm(text, box, ctypes.c_ulonglong(len(box)), nonce, key) != 0:
        raise Refused("a box that cannot be decrypted")
    return text.raw


def frame(body, flags=0):
    """Returns a ZMTP frame in wire format."""
    if len(body) < 256:
        return bytes([flags, len(body)]) + body
    return bytes([flags | _LONG]) + struct.pack(">Q", len(body)) + body


def metadata(pairs):
    return b"".join(bytes([len(name)]) + name + struct.pack(">I", len(value)) + value for name, value in pairs)


GREETING = b"\xff\0\0\0\0\0\0\0\1\x7f\3\0" + b"CURVE".ljust(20, b"\0") + b"\0" + bytes(31)


class Peer:
    """One connection. `identity` None announces none; `properties` are further pairs of bytes for the handshake's
    metadata."""

    def __init__(self, port, keys, server, socket_type=b"DEALER", identity=None, properties=(), host="127.0.0.1", seconds=SOON_S):
        self._nonce = 0
        self._in = b""
        self.socket = socket.create_connection((host, port), timeout=seconds)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self._handshake(keys, server, [(b"Socket-Type", socket_type)] + ([] if identity is None else [(b"Identity", identity)]) + list(properties))
        except (OSError, Closed) as error:
            self.close()
            raise Refused(f"the handshake broke off: {error}") from error
        except Refused:
            self.close()
            raise

    # Sending. All block while the other side does not read, at most `seconds` of the constructor (TimeoutError).
    def send(self, *frames):
        """Sends a complete message."""
        self.raw(b"".join(self.sealed(body, _MORE if at + 1 < len(frames) else 0) for at, body in enumerate(frames)))

    def part(self, body, times=1):
        """Sends parts of a message, each with the flag `more`."""
        for _ in range(times):
            self.raw(self.sealed(body, _MORE))

    def command(self, name, body=b"", more=False):
        self.raw(self.sealed(bytes([len(name)]) + name + body, 2 | (_MORE if more else 0)))

    def subscribe(self, topic):
        self.send(b"\1" + topic)

    def unsubscribe(self, topic):
        self.send(b"\0" + topic)

    def half(self, body, of):
        """Sends the beginning of a frame with an announced length of `of` bytes."""
        self.raw(bytes([_LONG]) + struct.pack(">Q", of) + body)

    def raw(self, data):
        try:
            self.socket.sendall(data)
        except TimeoutError:
            raise
        except OSError as error:
            raise Closed(str(error)) from error

    def sealed(self, body, flags=0):
        """Returns the wire bytes of one frame of a message; frames must be sent in the order of their encryption."""
        nonce = self._next_nonce()
        return frame(b"\x07MESSAGE" + nonce + _seal(bytes([flags]) + body, b"CurveZMQMESSAGEC" + nonce, self._key))

    # Receiving.
    def receive(self, seconds=SOON_S):
        """Returns the frames of the next message, or None on timeout. Answers pings meanwhile."""
        end = time.monotonic() + seconds
        frames = []
        while True:
            body = self._frame(end)
            if body is None:
                return None
            if body[:8] != b"\x07MESSAGE":
                raise Refused(f"unexpected: {body[:16]!r}")
            text = _open(body[16:], b"CurveZMQMESSAGES" + body[8:16], self._key)
            if text[0] & 2:
                if text[1:6] == b"\x04PING":
                    self.command(b"PONG", text[8:])
                continue
            frames.append(text[1:])
            if not text[0] & _MORE:
                return frames

    def closed(self, seconds=SOON_S):
        """Returns whether the other side has closed, or closes within that time; discards received bytes."""
        try:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                if self.receive(max(0.01, end - time.monotonic())) is None:
                    return False
        except Closed:
            return True
        return False

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _next_nonce(self):
        self._nonce += 1
        return struct.pack(">Q", self._nonce)

    def _fill(self, end):
        left = end - time.monotonic()
        if left <= 0 or not select.select([self.socket], [], [], left)[0]:
            return False
        try:
            data = self.socket.recv(1 << 20)
        except OSError as error:
            raise Closed(str(error)) from error
        if not data:
            raise Closed("closed by the other side")
        self._in += data
        return True

    def _take(self, count, end):
        while len(self._in) < count:
            if not self._fill(end):
                return None
        taken, self._in = self._in[:count], self._in[count:]
        return taken

    def _frame(self, end):
        while True:  # incomplete frames stay for the next call
            head = 9 if self._in and self._in[0] & _LONG else 2
            if len(self._in) >= head:
                size = struct.unpack(">Q", self._in[1:9])[0] if head == 9 else self._in[1]
                if len(self._in) >= head + size:
                    body = self._in[head:head + size]
                    self._in = self._in[head + size:]
                    return body
            if not self._fill(end):
                return None

    def _expect(self, name, end):
        body = self._frame(end)
        if body is None:
            raise Refused(f"no {name.decode()} in time")
        if body[:6] == b"\x05ERROR":
            raise Refused(body[7:].decode(errors="replace"))
        if body[:1 + len(name)] != bytes([len(name)]) + name:
            raise Refused(f"{body[:16]!r} instead of {name.decode()}")
        return body[1 + len(name):]

    def _handshake(self, keys, server, pairs):
        end = time.monotonic() + (self.socket.gettimeout() or 10)
        self.socket.sendall(GREETING)
        if self._take(64, end) is None:
            raise Refused("no greeting in time")
        short = Keys.new()
        nonce = self._next_nonce()
        hello = _seal(bytes(64), b"CurveZMQHELLO---" + nonce, _shared(server, short.secret))
        self.socket.sendall(frame(b"\x05HELLO\1\0" + bytes(72) + short.public + nonce + hello, _COMMAND))
        welcome = self._expect(b"WELCOME", end)
        opened = _open(welcome[16:], b"WELCOME-" + welcome[:16], _shared(server, short.secret))
        theirs, cookie = opened[:32], opened[32:]
        self._key = _shared(theirs, short.secret)
        salt = os.urandom(16)
        vouch = salt + _seal(short.public + server, b"VOUCH---" + salt, _shared(theirs, keys.secret))
        nonce = self._next_nonce()
        initiate = _seal(keys.public + vouch + metadata(pairs), b"CurveZMQINITIATE" + nonce, self._key)
        self.socket.sendall(frame(b"\x08INITIATE" + cookie + nonce + initiate, _COMMAND))
        ready = self._expect(b"READY", end)
        _open(ready[8:], b"CurveZMQREADY---" + ready[:8], self._key)
