#!/usr/bin/env python3
"""A proxy on the loopback interface that stands before a store and lies, by rules, with a seed.

  lying_proxy.py UPSTREAM [--seed N] [--log FILE] RULE...     prints its address, and works until it is killed

UPSTREAM is http://HOST:PORT. A RULE is FAULT:CHANCE, FAULT:CHANCE:METHOD or FAULT:CHANCE:METHOD:PART, where PART has to
be in the path; '*' is any method. For each request the rules are tried in turn, and the first one that hits is used.
The client has to take this address for the store's: its signature covers the host, which is passed on as it is. The
fault that changes what was signed takes the secret key from AWS_SECRET_ACCESS_KEY.
"""

import argparse
import collections
import http.client
import os
import random
import socket
import struct
import sys
import threading
import time
import urllib.parse

from signed_again import signed_again

HTML = b"<!DOCTYPE html><html><body>Please log in to the network.</body></html>\n"
SLOW_DOWN = (b'<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code>'
             b"<Message>Please reduce your request rate.</Message></Error>")
CONFLICT = (b'<?xml version="1.0" encoding="UTF-8"?><Error><Code>ConditionalRequestConflict</Code>'
            b"<Message>Another request is under way.</Message></Error>")
STALL = 30  # seconds, longer than clients wait

# What can go wrong, and when: before the store has seen the request, or with its answer.
FAULTS = {
    "status_500": "answer 500 without asking the store",
    "slow_down": "answer 503 SlowDown without asking the store",
    "status_429": "answer 429 with Retry-After without asking the store",
    "conflict_409": "answer 409 to a conditional PUT without asking the store",
    "cut_before": "reset the connection without asking the store",
    "close_quietly": "close the connection without asking the store",
    "html": "answer 200 with a page of HTML without asking the store",
    "hang": "take the request and never answer",
    "lost_answer": "let the store do it, then reset the connection",
    "late_500": "let the store do it, then answer 500",
    "cut_body": "send the head and a part of the body, then close",
    "stall": "send the head and a part of the body, and never go on",
    "flip": "flip a bit of the body",
    "wrong_range": "name another range than was sent",
    "ignore_range": "send the whole object with 200 although a range was asked for",
    "other_length": "announce and send a body that lacks its last bytes",
    "delay": "answer late",
    "trickle": "answer a few bytes at a time",
    "ignore_condition": "pass a conditional PUT on without its condition, signed again; needs the secret key",
}
# Those that a client is to see through whatever it does. To ignore a condition is another thing: no client can know.
LIES = [fault for fault in FAULTS if fault != "ignore_condition"]


class Rule:
    def __init__(self, text):
        words = text.split(":", 3)
        if len(words) < 2:
            raise ValueError(f"'{text}' is no rule")
        fault, chance, method, part = words + ["*", ""][len(words) - 2 :]
        if fault not in FAULTS:
            raise ValueError(f"'{fault}' is no fault; there are {', '.join(FAULTS)}")
        self.fault, self.chance, self.method, self.part = fault, float(chance), method, part

    def fits(self, request):
        if self.method not in ("*", request.method) or self.part not in request.target:
            return False
        if self.fault in ("wrong_range", "ignore_range"):
            return request.header("range") is not None
        if self.fault in ("conflict_409", "ignore_condition"):
            return request.method == "PUT" and request.header("if-none-match") is not None
        if self.fault in ("flip", "cut_body", "stall", "other_length"):
            return request.method == "GET"  # there has to be a body
        return True


class Request:
    def __init__(self, stream, reply):
        line = stream.readline(65537)
        if not line:
            raise EOFError
        self.method, self.target, _ = line.decode("latin-1").split()
        self.headers = []
        while (line := stream.readline(65537)) not in (b"\r\n", b"\n"):
            if not line:
                raise EOFError
            name, _, value = line.decode("latin-1").partition(":")
            self.headers.append((name.strip(), value.strip()))
        if self.header("transfer-encoding"):
            raise ValueError("a request in chunks")
        if self.header("expect"):
            reply.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        length = int(self.header("content-length") or 0)
        self.body = stream.read(length)
        if len(self.body) != length:
            raise EOFError

    def header(self, wanted):
        return next((value for name, value in self.headers if name.lower() == wanted), None)


class Answer:
    def __init__(self, status, reason, headers, body, length=None):
        self.status, self.reason, self.headers, self.body = status, reason, list(headers), body
        self.length = len(body) if length is None else length

    def head(self):
        lines = [f"HTTP/1.1 {self.status} {self.reason}", *(f"{name}: {value}" for name, value in self.headers)]
        if self.status != 204:
            lines.append(f"Content-Length: {self.length}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


MADE_UP = {
    "status_500": (500, "Internal Server Error", [], b""),
    "slow_down": (503, "Slow Down", [("Content-Type", "application/xml")], SLOW_DOWN),
    "status_429": (429, "Too Many Requests", [("Retry-After", "0")], b""),
    "conflict_409": (409, "Conflict", [("Content-Type", "application/xml")], CONFLICT),
    "html": (200, "OK", [("Content-Type", "text/html")], HTML),
    "late_500": (500, "Internal Server Error", [], b""),
}


class LyingProxy:
    def __init__(self, upstream, rules, seed=1, log=None, secret=""):
        """`secret`: the secret key of the client, for the fault that changes what was signed."""
        place = urllib.parse.urlsplit(upstream)
        self.upstream = (place.hostname, place.port)
        self.rules, self.secret = [Rule(text) for text in rules], secret
        self.rng, self.mutex = random.Random(seed), threading.Lock()
        self.log, self.requests, self.lies = log, 0, collections.Counter()
        self.bodies = {}  # of whole objects as they were sent, for 'ignore_range': its signature covers the range
        self.watch = None  # called with each request that the store has answered; True: nobody hears of it
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address = "http://127.0.0.1:%d" % self.listener.getsockname()[1]

    def start(self):
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def serve(self):
        while True:
            connection, _ = self.listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def choose(self, request):
        """The fault for this request, or None; and a number for its details."""
        with self.mutex:
            self.requests += 1
            detail, fault = self.rng.random(), None
            for rule in self.rules:
                if rule.fits(request) and self.rng.random() < rule.chance:
                    fault = rule.fault
                    break
            return fault, detail

    def note(self, request, fault, answer):
        """Only lies that were told are counted: a body to cut may have been missing."""
        with self.mutex:
            if fault:
                self.lies[fault] += 1
            if self.log:
                status = answer.status if answer else "-"
                said = request.header("range") or ""
                self.log.write(f"{time.time():.3f} {request.method} {request.target} {said} {status} {fault or ''}\n")
                self.log.flush()

    def talk(self, connection):
        stream, store = connection.makefile("rb"), http.client.HTTPConnection(*self.upstream, timeout=60)
        try:
            while self.exchange(connection, stream, store):
                pass
        except (EOFError, OSError, http.client.HTTPException, ValueError):
            pass  # somebody went away
        finally:
            store.close()
            stream.close()
            connection.close()

    def exchange(self, connection, stream, store):
        """One request and its answer; whether the connection goes on."""
        request = Request(stream, connection)
        fault, detail = self.choose(request)
        if fault == "delay":
            time.sleep(detail)
        if fault in ("cut_before", "close_quietly", "hang"):
            self.note(request, fault, None)
            if fault == "hang":
                self.wait(connection)
            elif fault == "cut_before":
                reset(connection)
            return False
        if fault in MADE_UP and fault != "late_500":
            answer = Answer(*MADE_UP[fault])
            if request.method == "HEAD":
                answer.body = b""
            self.note(request, fault, answer)
            connection.sendall(answer.head() + answer.body)
            return True
        if fault == "ignore_condition":
            request.headers = signed_again(request.method, request.target, request.headers, "if-none-match",
                                           self.secret)
        answer = ask(store, request)
        if request.method == "PUT" and answer.status == 200 and "?" not in request.target:
            self.bodies[request.target] = request.body
        if self.watch and self.watch(request, answer):
            self.wait(connection)
            return False
        if fault == "ignore_range":
            if answer.status == 206 and request.target in self.bodies:
                answer = whole(answer, self.bodies[request.target])
            else:
                fault = None
        if fault == "lost_answer":
            self.note(request, fault, answer)
            reset(connection)
            return False
        if fault == "late_500":
            answer = Answer(*MADE_UP[fault])
        return self.send(connection, request, answer, fault, detail)

    def send(self, connection, request, answer, fault, detail):
        body, goes_on = answer.body, True
        at = int(detail * len(body))
        if fault in ("flip", "cut_body", "stall", "other_length") and not body:
            fault = None
        if fault == "wrong_range" and answer.status != 206:
            fault = None
        if fault == "flip":
            body = body[:at] + bytes([body[at] ^ 1 << int(detail * 1000) % 8]) + body[at + 1 :]
        elif fault in ("cut_body", "stall"):
            body, goes_on = body[:at], False
        elif fault == "other_length":
            body = body[:at]
            answer.length = len(body)
        elif fault == "wrong_range":
            answer.headers = [(name, shift_range(value) if name.lower() == "content-range" else value)
                              for name, value in answer.headers]
        self.note(request, fault, answer)
        connection.sendall(answer.head())
        if fault == "trickle":
            pieces = [body[i : i + 1 + len(body) // 20] for i in range(0, len(body), 1 + len(body) // 20)]
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(0.05)
        else:
            connection.sendall(body)
        if fault == "stall":
            self.wait(connection)
        return goes_on and request.header("connection") != "close"

    @staticmethod
    def wait(connection):
        """Until the client has had enough."""
        connection.settimeout(STALL)
        try:
            while connection.recv(65536):
                pass
        except OSError:
            pass


def ask(store, request):
    """What the store says. A connection that it has closed meanwhile is opened again, once."""
    for last in (False, True):
        try:
            store.putrequest(request.method, request.target, skip_host=True, skip_accept_encoding=True)
            for name, value in request.headers:
                if name.lower() not in ("expect", "connection"):
                    store.putheader(name, value)
            store.endheaders(request.body or None)
            answer = store.getresponse()
            body = answer.read()
            break
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
            store.close()
            if last:
                raise
    length = int(answer.headers.get("Content-Length", 0)) if request.method == "HEAD" else len(body)
    hop = ("content-length", "transfer-encoding", "connection", "keep-alive")
    headers = [(name, value) for name, value in answer.getheaders() if name.lower() not in hop]
    return Answer(answer.status, answer.reason, headers, body, length)


def whole(answer, body):
    """The answer as it would be had no range been asked for."""
    headers = [(name, value) for name, value in answer.headers if name.lower() != "content-range"]
    return Answer(200, "OK", headers, body)


def shift_range(value):
    """'bytes 5-9/20' as 'bytes 6-10/20'."""
    unit, _, rest = value.partition(" ")
    span, _, total = rest.partition("/")
    first, _, last = span.partition("-")
    return f"{unit} {int(first) + 1}-{int(last) + 1}/{total}"


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("upstream")
    parser.add_argument("rules", nargs="*")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", type=argparse.FileType("w"), default=sys.stderr)
    options = parser.parse_args()
    secret = os.environ.get("AWS_SECRET_ACCESS_KEY", "")
    proxy = LyingProxy(options.upstream, options.rules, options.seed, options.log, secret)
    print(proxy.address, flush=True)
    proxy.serve()


if __name__ == "__main__":
    main()
