"""Requests to S3 that lose a header on the way, signed again: for a proxy that knows the keys.

A signature covers the headers, so that nobody without the keys can take one away unnoticed. A store that merely ignores
a header is acted out by a proxy that removes it and signs what is left (AWS Signature Version 4, as AWS documents it).
"""

import hashlib
import hmac
import re
import urllib.parse

SCOPE = re.compile(r"Credential=(?P<access>[^/]+)/(?P<day>\d{8})/(?P<region>[^/]+)/s3/aws4_request,\s*"
                   r"SignedHeaders=(?P<names>[^,]+),\s*Signature=(?P<signature>[0-9a-f]{64})")


def signed_again(method, target, headers, removed, secret):
    """`headers`, a list of (name, value), without the one of the lower-case name `removed`, and with a signature that
    covers what the old one covered otherwise. ValueError: the old one was not made with this secret."""
    values = {name.lower(): " ".join(value.split()) for name, value in headers}
    scope = SCOPE.search(values["authorization"])
    if not scope or signature(method, target, values, scope, secret) != scope["signature"]:
        raise ValueError("a request that was not signed with the secret key that the proxy has")
    del values[removed]
    names = ";".join(name for name in scope["names"].split(";") if name != removed)
    text = (f"AWS4-HMAC-SHA256 Credential={scope['access']}/{scope['day']}/{scope['region']}/s3/aws4_request,"
            f"SignedHeaders={names},Signature={signature(method, target, values, scope, secret)}")
    return [(name, value) for name, value in headers if name.lower() not in (removed, "authorization")] + [
        ("Authorization", text)]


def signature(method, target, values, scope, secret):
    names = [name for name in scope["names"].split(";") if name in values]
    path, _, query = target.partition("?")
    lines = "".join(f"{name}:{values[name]}\n" for name in names)
    canonical = "\n".join([method, path, sorted_query(query), lines, ";".join(names), values["x-amz-content-sha256"]])
    place = f"{scope['day']}/{scope['region']}/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", values["x-amz-date"], place, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{secret}".encode()
    for word in (scope["day"], scope["region"], "s3", "aws4_request", text):
        key = hmac.new(key, word.encode(), hashlib.sha256).digest()
    return key.hex()


def sorted_query(query):
    pairs = urllib.parse.parse_qsl(query, keep_blank_values=True)
    quoted = sorted((urllib.parse.quote(name, safe="-_.~"), urllib.parse.quote(value, safe="-_.~"))
                    for name, value in pairs)
    return "&".join(f"{name}={value}" for name, value in quoted)
