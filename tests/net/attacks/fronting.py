# SPDX-License-Identifier: Apache-2.0
"""Another name behind a granted one: in the hello of TLS, in the head of HTTP."""

import re

from attacks import attack, tool
from world import WEB

WEB_443 = ["web.example.com:443"]
WEB_80 = ["web.example.com:80"]
WILD = ["*.wild.example.com:80", "*.wild.example.com:443"]


@attack("curl --connect-to: another name on a granted connection")
def connect_to(stage):
    stage.held("curl -sS --connect-to other.example.com:443:web.example.com:443 "
               "https://web.example.com/ https://other.example.com/", WEB_443, see="other HTTP",
               control="web HTTP", record="other.example.com")


@attack("curl --resolve: another name on the address of a granted one")
def resolve(stage):
    script = ("a=$(getent ahostsv4 web.example.com | head -n 1 | cut -d ' ' -f 1); "
              "curl -sS --resolve other.example.com:{0}:$a {1}://other.example.com:{0}/; true")
    stage.held(script.format(443, "https"), WEB_443, see="other HTTP", record="other.example.com")
    stage.held(script.format(80, "http"), WEB_80, see="other HTTP", record="other.example.com")


@attack("TLS: another name in the hello")
def sni(stage):
    stage.held(tool("tls web.example.com 443 web.example.com",
                    "tls web.example.com 443 other.example.com other.example.com"), WEB_443,
               see="other HTTP", control="tls: web HTTP", record="other.example.com")


@attack("TLS: another name in a hello that comes in many records")
def split_hello(stage):
    for size in (100, 7, 1):
        stage.held(tool("hello web.example.com 443 web.example.com 5000",
                        f"hello web.example.com 443 other.example.com {size}"), WEB_443,
                   see="hello: answered\nhello: answered", control="hello: answered",
                   record="other.example.com")


@attack("TLS: a granted name in a hello that comes in many records")
def split_granted(stage):
    stage.works(tool("hello web.example.com 443 web.example.com 100"), WEB_443,
                see="hello: answered")


@attack("TLS: another name, after a pause in which the server could have spoken")
def late_hello(stage):
    stage.held(tool("late web.example.com 443 other.example.com other.example.com"), WEB_443,
               see="other HTTP", record="other.example.com")


@attack("TLS: no name in the hello, on a grant of many names")
def no_sni(stage):
    stage.held(tool("tls shop.wild.example.com 443 shop.wild.example.com",
                    "tls shop.wild.example.com 443 - other.example.com"), WILD, see="other HTTP",
               control="tls: web HTTP", record="shop.wild.example.com")


@attack("TLS: no name in the hello, on a grant of exactly this name, works")
def no_sni_exact(stage):
    stage.works(tool("tls web.example.com 443 -"), WEB_443, see="tls: web HTTP")


@attack("TLS: no name in the hello, to an address that is granted, works")
def no_sni_address(stage):
    stage.works(tool(f"tls {WEB} 443 -"), [f"{WEB}:443"], see="tls: web HTTP")


@attack("TLS: a hello in the framing of SSL 2, which has no name, on a grant of many names")
def ssl2(stage):
    """OpenSSL takes the head of two bytes; NSS takes the one of three, so the echo stands for it."""
    for size in (100, 5, 1):
        stage.held(tool("tls shop.wild.example.com 443 shop.wild.example.com",
                        f"ssl2 shop.wild.example.com 443 2 {size}"), WILD, see="ssl2: answered",
                   control="tls: web HTTP", record="shop.wild.example.com")
    # What the echo gives back is what arrived: a hello that is not whole is not answered.
    whole = r"\0\x35\0\x01\x03\x03\0\x0c\0\0\0\x20" + r"\0\0\x2f" * 4 + "marked.." * 4
    stage.held(tool(f"say echo.example.com 7 {whole}"), ["*.example.com:7"], see="marked",
               record="echo.example.com:7")


@attack("TLS: a hello in the framing of SSL 2, on a grant of exactly this name, works")
def ssl2_exact(stage):
    stage.works(tool("ssl2 web.example.com 443 2 100"), WEB_443, see="ssl2: answered")


GET = r"GET\s/\sHTTP/1.1\r\nHost:\s{}\r\n{}\r\n"
CLOSE = r"Connection:\sclose\r\n"
FIRST = GET.format("web.example.com", "")
SECOND = GET.format("other.example.com", CLOSE)
# What is sent on one connection to web.example.com:80, each word by itself.
HTTP = {
    "another host": SECOND,
    "another host, in small letters, with a port":
        r"GET\s/\sHTTP/1.1\r\nhost:other.example.com:80\r\n" + CLOSE + r"\r\n",
    "another host in the second request": f"{FIRST} {SECOND}",
    "another host in the second request, in the same segment": FIRST + SECOND,
    "another host in the second request, behind a body":
        r"POST\s/\sHTTP/1.1\r\nHost:\sweb.example.com\r\nContent-Length:\s5\r\n\r\nhello " + SECOND,
    "another host in the second request, behind chunks":
        r"POST\s/\sHTTP/1.1\r\nHost:\sweb.example.com\r\nTransfer-Encoding:\schunked\r\n\r\n"
        r"5\r\nhello\r\n0\r\n\r\n " + SECOND,
    "another host as a whole URL":
        r"GET\shttp://other.example.com/\sHTTP/1.1\r\nHost:\sweb.example.com\r\n" + CLOSE + r"\r\n",
    "another host, byte by byte": " ".join(re.findall(r"\\.|.", SECOND)),
    "another host, after a pause": "~ ~ ~ ~ " + SECOND,
    "another host, with pauses in it":
        r"G ~ ET\s/\sHTTP/1.1\r\nHo ~ st:\soth ~ er.example.com\r ~ \n" + CLOSE + r"\r\n",
    "another host in the second request, after a pause": f"{FIRST} ~ {SECOND}",
    "another host, behind empty lines": r"\r\n\r\n" + SECOND,
    "another host, in lines that end with a line feed": SECOND.replace(r"\r\n", r"\n"),
    "another host, with more spaces": SECOND.replace(r"\sHTTP", r"\s\sHTTP").replace(
        r"Host:\s", r"hOsT:\s\s\s"),
    "another host, with a method of nobody": SECOND.replace("GET", "FROB"),
    "another host, with a space behind the version": SECOND.replace("1.1", r"1.1\s", 1),
    "another host, in a version that nobody has": SECOND.replace("1.1", "1.7", 1),
    "another host, in HTTP/1.0": SECOND.replace("HTTP/1.1", "HTTP/1.0"),
}


def add_request(what, text):
    @attack(f"HTTP: {what}")
    def request(stage):
        stage.held(tool(f"raw web.example.com 80 {text}"), WEB_80, see="other HTTP",
                   record="web.example.com:80")


for _what, _text in HTTP.items():
    add_request(_what, _text)


@attack("HTTP: two hosts, a folded line, a space before the colon, two lengths")
def ambiguous(stage):
    """Servers differ about these, so none of them may arrive at one. The echo takes anything."""
    own, other = r"Host:\secho.example.com\r\n", r"Host:\sother.example.com\r\n"
    for head in (own + other, r"X:\sy\r\n\s" + other + own, other.replace(":", r"\s:") + own,
                 own + r"Content-Length:\s5\r\nTransfer-Encoding:\schunked\r\n",
                 own + r"Content-Length:\s5\r\nContent-Length:\s6\r\n"):
        text = rf"GET\s/marked\sHTTP/1.1\r\n{head}\r\n"
        stage.held(tool("get web.example.com 80", f"say echo.example.com 7 {text}"),
                   [*WEB_80, "echo.example.com:7"], see="marked",
                   control="get: web HTTP/1.1", record="echo.example.com:7")


@attack("HTTP: another host, behind a first line of many kilobytes")
def long_line(stage):
    """Longer and longer: where one stops to read, a server may not."""
    for kilobytes in (6, 9, 20, 40):
        text = SECOND.replace("GET\\s/", "GET\\s/" + "a" * (kilobytes << 10))
        stage.held(tool(f"raw web.example.com 80 {text}"), WEB_80, see="other HTTP",
                   record="web.example.com:80")


@attack("HTTP: another host, behind many kilobytes of fields")
def long_head(stage):
    for kilobytes in (9, 30, 60):
        field = r"X:\s" + "a" * 6000 + r"\r\n"
        text = SECOND.replace("Host:", field * (kilobytes // 6) + "Host:")
        stage.held(tool(f"raw web.example.com 80 {text}"), WEB_80, see="other HTTP",
                   record="web.example.com:80")


@attack("HTTP: another host, behind a line of the PROXY protocol")
def proxy_line(stage):
    """Front ends put it before what a client says; some servers take it from every client."""
    line = r"PROXY\sTCP4\s192.0.2.1\s192.0.2.2\s1\s2\r\n"
    stage.held(tool(f"raw web.example.com 8082 {line}{SECOND}"), ["web.example.com:8082"],
               see="other HTTP", record="web.example.com:8082")


@attack("HTTP: a tunnel to another host")
def tunnel(stage):
    text = r"CONNECT\sother.example.com:443\sHTTP/1.1\r\nHost:\sother.example.com:443\r\n\r\n"
    stage.held(tool(f"say echo.example.com 7 {text}"), ["echo.example.com:7"], see="CONNECT",
               record="echo.example.com:7")


@attack("HTTP: no host at all, on a grant of many names")
def no_host(stage):
    text = r"GET\s/marked\sHTTP/1.0\r\n\r\n"
    stage.held(tool(f"say echo.example.com 7 {text}"), ["*.example.com:7"], see="marked",
               record="echo.example.com:7")
    stage.works(tool(f"say echo.example.com 7 {text}"), ["echo.example.com:7"], see="marked")


@attack("HTTP/2 without TLS, on a grant of many names")
def plain_http2(stage):
    """Its requests are not read, so that it is not known which hosts they are for."""
    stage.held("/usr/bin/python3 {pub}/rpc.py call echo.example.com:50051; true",
               ["*.example.com:50051"], see="hello rpc", record="echo.example.com:50051")


@attack("HTTP: a method that is not granted")
def method(stage):
    stage.held(tool("get web.example.com 80", "raw web.example.com 80 " +
                    FIRST.replace("GET", "DELETE").replace(r"\r\n\r\n", r"\r\n" + CLOSE + r"\r\n")),
               {"allow": ["web.example.com:80"], "methods": ["GET", "HEAD"]},
               see="raw: HTTP/1.1 200", control="get: web HTTP/1.1", record="web.example.com")


@attack("HTTP: requests on one connection, to the granted host, work")
def keep_alive(stage):
    last = GET.format("web.example.com", CLOSE)
    stage.works(tool(f"raw web.example.com 80 {FIRST} {FIRST} {last}"), WEB_80, see="web HTTP/1.1")


@attack("HTTP: a host that the wildcard does not cover")
def wildcard_host(stage):
    shop = "get shop.wild.example.com 80"
    stage.held(tool(shop, f"{shop} other.example.com"), WILD, see="other HTTP",
               control="get: web HTTP", record="other.example.com")


@attack("a protocol in which the server speaks first works")
def server_first(stage):
    stage.works(tool("hear git.example.com 22"), ["git.example.com:22"], see="hear: SSH-2.0-")
