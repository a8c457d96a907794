#!/usr/bin/env python3
"""A complete framework for Ringmaster in Python's standard library alone.

    framework.py [--masters host:port,...] [--token T] [--ca ca.pem] [--count 3] -- echo hello

It registers, demands room for some tasks, launches them as offers come,
acknowledges every update and prints it, and ends itself when all tasks have.
The first half is a minimal websocket client (RFC 6455): a framework speaks
JSON objects in text frames over GET /v1/framework, subprotocol ringmaster.v1.
To keep it short, a lost connection ends the program; see the Go package
framework for what a client does then (register with the same id, state the
demands again, reconcile accepts that got no answer).
"""
import argparse
import base64
import hashlib
import json
import os
import socket
import ssl
import struct
import sys
import urllib.parse


class Websocket:
    """The client's side of one websocket."""

    def __init__(self, address, token=None, ca=None):
        # Follow redirects: a master that does not lead answers 307.
        for _ in range(5):
            location = self._connect(address, token, ca)
            if location is None:
                return
            address = urllib.parse.urlsplit(location).netloc
        raise ConnectionError("redirected too often")

    def _connect(self, address, token, ca):
        """Shake hands with one master. Return where it redirects to, or None."""
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host.strip("[]"), int(port)), timeout=60)
        if ca:
            trust = ssl.create_default_context(cafile=ca)
            self.socket = trust.wrap_socket(self.socket, server_hostname=host.strip("[]"))
        self.stream = self.socket.makefile("rb")
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [
            "GET /v1/framework HTTP/1.1",
            f"Host: {address}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {key}",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Protocol: ringmaster.v1",
        ]
        if token:
            lines.append(f"Authorization: Bearer {token}")
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        status = self.stream.readline().decode().strip()
        headers = {}
        while line := self.stream.readline().decode().strip():
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        code = status.split()[1] if " " in status else ""
        if code == "307":
            self.socket.close()
            return headers["location"]
        if code != "101":
            raise ConnectionError(f"{address}: {status or 'no answer'}")
        # The server proves that it speaks websocket by hashing our key.
        proof = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        if headers.get("sec-websocket-accept") != base64.b64encode(proof).decode():
            raise ConnectionError(f"{address}: not a websocket")
        return None

    def send(self, kind, **fields):
        """Send one message of the protocol."""
        self._frame(0x1, json.dumps({"type": kind, **fields}).encode())

    def _frame(self, opcode, payload):
        # A frame: FIN and opcode, mask bit and length, mask, masked payload.
        # Everything that a client sends is masked.
        head = bytes([0x80 | opcode])
        if len(payload) < 126:
            head += bytes([0x80 | len(payload)])
        elif len(payload) < 1 << 16:
            head += bytes([0x80 | 126]) + struct.pack(">H", len(payload))
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", len(payload))
        mask = os.urandom(4)
        self.socket.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload)))

    def _read(self, n):
        data = self.stream.read(n)
        if len(data) < n:
            raise ConnectionError("the master closed the connection")
        return data

    def receive(self):
        """Return the next message, answering pings on the way."""
        message = b""
        while True:
            first, second = self._read(2)
            length = second & 0x7F  # a server does not mask
            if length == 126:
                (length,) = struct.unpack(">H", self._read(2))
            elif length == 127:
                (length,) = struct.unpack(">Q", self._read(8))
            payload = self._read(length)
            opcode = first & 0x0F
            if opcode == 0x9:  # ping: answer with the same payload
                self._frame(0xA, payload)
            elif opcode == 0x8:  # close
                raise ConnectionError(payload[2:].decode() or "the master closed the connection")
            elif opcode in (0x0, 0x1):  # text, or the next part of one
                message += payload
                if first & 0x80:  # FIN: the message is whole
                    return json.loads(message)


ENDS = {"finished", "failed", "killed", "rejected", "dropped", "gone"}


def run(ws, argv, count):
    """Run count tasks of argv to their end; return how many finished."""
    each = {"cpus": 0.1, "mem": "32MiB"}
    waiting = [f"task-{i}" for i in range(count)]
    ended = {}
    ws.send("register", framework={"name": "python", "role": "default", "failover_timeout": "1m"})
    while len(ended) < count:
        m = ws.receive()
        if m["type"] == "registered":
            print("registered as", m["framework_id"], flush=True)
            ws.send("demand", demands=[{"id": "work", "resources": each, "count": count}])
        elif m["type"] == "offers":
            for offer in m["offers"]:
                # Several units may come in one offer: as many as its cpus hold.
                units = round(offer["resources"]["cpus"] / each["cpus"])
                ids, waiting = waiting[:units], waiting[units:]
                if not ids:
                    ws.send("decline", offer_ids=[offer["id"]])
                    continue
                tasks = [{"id": i, "resources": each, "command": {"argv": argv}} for i in ids]
                ws.send("accept", offer_ids=[offer["id"]], tasks=tasks)
        elif m["type"] == "accepted":
            print("accepted", *m["task_ids"], flush=True)
        elif m["type"] == "update":
            s = m["status"]
            print(s["task_id"], s["state"], s.get("message", ""), flush=True)
            if s["state"] in ENDS:
                ended[s["task_id"]] = s["state"]
            # Whatever has an update_id is resent until it is acknowledged.
            if "update_id" in s:
                ws.send("acknowledge", task_id=s["task_id"], update_id=s["update_id"])
        elif m["type"] == "error":
            raise RuntimeError(f"{m['code']}: {m['message']}")
        # Anything else (heartbeat, rescind, ...) needs no answer here.
    ws.send("teardown")
    return sum(state == "finished" for state in ended.values())


def main():
    parser = argparse.ArgumentParser(description="Run a command some times on a Ringmaster cluster.")
    parser.add_argument("--masters", default=os.environ.get("RINGMASTER_MASTERS", "127.0.0.1:5050"))
    parser.add_argument("--token", default=os.environ.get("RINGMASTER_TOKEN"))
    parser.add_argument("--ca", default=os.environ.get("RINGMASTER_CA"), help="who signed the masters' certificates")
    parser.add_argument("--count", type=int, default=3)
    parser.add_argument("argv", nargs="+")
    args = parser.parse_args()
    error = None
    for address in args.masters.split(","):
        try:
            ws = Websocket(address.strip(), args.token, args.ca)
        except OSError as e:
            error = e
            continue
        return 0 if run(ws, args.argv, args.count) == args.count else 1
    print(f"no master answers: {error}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
