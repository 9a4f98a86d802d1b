# SPDX-License-Identifier: Apache-2.0
"""What a server of AWS's makes of a request."""

import hashlib
import hmac
import re


def signature(key, method, path, headers, body):
    """Signature Version 4, of a path that is encoded once."""
    scope, names = (re.search(part + r"=([^,]+)", headers["authorization"])[1] for part in ("Credential", "SignedHeaders"))
    date, region, service, _ = scope.split("/")[1:]
    path, _, query = path.partition("?")
    payload = headers.get("x-amz-content-sha256", hashlib.sha256(body).hexdigest())
    query = "&".join(sorted(part if "=" in part else part + "=" for part in query.split("&") if part))
    canonical = "\n".join([method, path, query, *(f"{n}:{headers[n]}" for n in names.split(";")), "", names, payload])
    text = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], scope.partition("/")[2], hashlib.sha256(canonical.encode()).hexdigest()])
    made = ("AWS4" + key).encode()
    for word in (date, region, service, "aws4_request", text):
        made = hmac.new(made, word.encode(), hashlib.sha256).digest()
    return made.hex()
