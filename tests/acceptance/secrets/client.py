# SPDX-License-Identifier: Apache-2.0
"""client.py LIBRARY ORIGIN ROWS: makes each request of ROWS (JSON) by requests, httpx or urllib, keeps what came back, and waits
until its standard input ends."""

import base64
import json
import os
import sys
import urllib.parse
import urllib.request

library, origin, rows = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
kept = []


def by_urllib(url, headers, basic):
    if basic:
        headers["Authorization"] = "Basic " + base64.b64encode(":".join(basic).encode()).decode()
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as answer:
        return answer.read()


def by_requests(url, headers, basic):
    import requests

    return requests.get(url, headers=headers, auth=basic, timeout=60).content


def by_httpx(url, headers, basic):
    import httpx

    return httpx.get(url, headers=headers, auth=basic, timeout=60).content


call = {"urllib": by_urllib, "requests": by_requests, "httpx": by_httpx}[library]
for row in rows:
    value, url, headers, basic = os.environ[row["name"]], origin + row["path"], {}, None
    if row["how"] == "query":
        url += "?key=" + urllib.parse.quote(value, safe="")
    elif row["how"] == "basic":
        basic = (row["user"], value)
    else:
        headers[row["field"]] = row["before"] + value
    kept.append(call(url, headers, basic))
print("made", len(kept), flush=True)
sys.stdin.read()
