# SPDX-License-Identifier: Apache-2.0
"""Servers that must not be trusted, as badssl.com has them, made on this machine by openssl(1): each row is a certificate, or a way to
speak TLS, and why it is refused."""

import os
import pathlib
import shutil
import subprocess
import tempfile

EC = ("ec", "-pkeyopt", "ec_paramgen_curve:P-256")
PAST, FUTURE = ("20200101000000Z", "20200201000000Z"), ("20500101000000Z", "20500201000000Z")

# name: the certificate: its alternative names, subject, key, digest, times, further extensions, who signs, what is sent with it;
# then how the server speaks, and words of the reason that is given; None: it is accepted.
GOOD = {"san": "DNS:HOST", "subject": "/CN=x", "key": EC, "digest": "sha256", "times": None, "more": "", "issuer": "ca", "chain": (), "server": (),
        "reason": None}
WEAK = ("-cipher", "ALL:@SECLEVEL=0")
ROWS = {
    "good": {},
    "a name among several": {"san": "DNS:a.example,DNS:HOST,DNS:b.example"},
    "capitals": {"san": "DNS:HOST_UPPER"},
    "a wildcard": {"san": "DNS:*.PARENT"},
    "an intermediate that is sent": {"issuer": "middle", "chain": ("middle",)},
    "expired": {"times": PAST, "reason": "expired"},
    "not yet valid": {"times": FUTURE, "reason": "not yet valid"},
    "wrong host": {"san": "DNS:other.example", "reason": "hostname mismatch"},
    "self-signed": {"issuer": None, "reason": "self-signed"},
    "untrusted root": {"issuer": "stranger", "reason": "unable to get local issuer"},
    "untrusted root, which is sent": {"issuer": "stranger", "chain": ("stranger",), "reason": "self-signed certificate in"},
    "incomplete chain": {"issuer": "middle", "reason": "unable to get local issuer"},
    "an intermediate that is no authority": {"issuer": "leaf", "chain": ("leaf",), "reason": "invalid CA"},
    "an intermediate that has expired": {"issuer": "old", "chain": ("old",), "reason": "expired"},
    "an intermediate for other names": {"issuer": "elsewhere", "chain": ("elsewhere",), "reason": "subtree"},
    "an intermediate signed by SHA-1": {"issuer": "sha1", "chain": ("sha1",), "server": WEAK, "reason": "too weak"},
    "no alternative name": {"san": "", "subject": "/CN=HOST", "reason": "hostname mismatch"},
    "a name in the subject beside another": {"san": "DNS:other.example", "subject": "/CN=HOST", "reason": "hostname mismatch"},
    "an address in place of the name": {"san": "IP:127.0.0.1", "subject": "/CN=HOST", "reason": "hostname mismatch"},
    "a wildcard for all": {"san": "DNS:*", "reason": "hostname mismatch"},
    "a wildcard for another level": {"san": "DNS:*.HOST", "reason": "hostname mismatch"},
    "a wildcard in the middle": {"san": "DNS:HOST_MIDDLE", "reason": "hostname mismatch"},
    "a part of a label as a wildcard": {"san": "DNS:HOST_PART", "reason": "hostname mismatch"},
    "a name that goes on": {"san": "DNS:HOST.other.example", "reason": "hostname mismatch"},
    "a NUL in the name": {"more": "subjectAltName=DER:NUL_NAME\n", "san": "", "reason": "hostname mismatch"},
    "for clients": {"more": "extendedKeyUsage=clientAuth\n", "reason": "unsuitable certificate purpose"},
    "for programs": {"more": "extendedKeyUsage=codeSigning\n", "reason": "unsuitable certificate purpose"},
    "an unknown critical extension": {"more": "1.2.3.4=critical,DER:0500\n", "reason": "unhandled critical extension"},
    "RSA of 1024 bits": {"key": ("rsa:1024",), "server": WEAK, "reason": "key too weak"},
    "signed by SHA-1": {"digest": "sha1", "server": WEAK, "reason": "too weak"},
    "signed by MD5": {"digest": "md5", "issuer": "rsa", "chain": ("rsa",), "server": WEAK, "reason": "too weak"},
    "revoked, as it says itself": {"server": ("-status_file", "REVOKED"), "reason": "revoked"},
    "a proof of another certificate": {"more": "tlsfeature=status_request\n", "server": ("-status_file", "OTHERS"), "reason": "OCSP verification"},
    "must prove, and does not": {"more": "tlsfeature=status_request\n", "reason": "OCSP verification"},
    "must prove, and does": {"more": "tlsfeature=status_request\n", "server": ("-status_file", "PROOF")},
    "a proof without an end": {"more": "tlsfeature=status_request\n", "server": ("-status_file", "ENDLESS"), "reason": "OCSP verification"},
    "a proof signed by a stranger": {"more": "tlsfeature=status_request\n", "server": ("-status_file", "STRANGE"), "reason": "OCSP verification"},
    "TLS 1.0": {"server": ("-tls1", "-cipher", "ALL:@SECLEVEL=0"), "reason": "TLS with"},
    "TLS 1.1": {"server": ("-tls1_1", "-cipher", "ALL:@SECLEVEL=0"), "reason": "TLS with"},
    "TLS 1.2": {"server": ("-tls1_2",)},
    "no encryption": {"server": ("-tls1_2", "-cipher", "eNULL:@SECLEVEL=0"), "reason": "TLS with"},
    "nobody's key": {"server": ("-tls1_2", "-cipher", "aNULL:@SECLEVEL=0"), "reason": "TLS with"},
    "temporary keys of 1024 bits": {"key": ("rsa:2048",), "server": ("-tls1_2", "-cipher", "DHE", "-dhparam", "DH1024"), "reason": "TLS with"},
    "no TLS": {"server": None, "reason": "TLS with"},
}
# Servers do what this machine's own rules forbid.
WEAK_CONF = """openssl_conf = all
[all]
ssl_conf = tls
[tls]
system_default = weak
[weak]
MinProtocol = TLSv1
CipherString = ALL:@SECLEVEL=0
"""


class Makes:
    """The certificates of a host, which is a name of several labels."""

    def __init__(self, folder, host):
        self.folder, self.host = pathlib.Path(folder), host
        self.issue("ca", subject="/CN=authority", issuer=None, more="basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n", san="")
        authority = {"more": "basicConstraints=critical,CA:TRUE\n", "san": ""}
        self.issue("stranger", subject="/CN=stranger", issuer=None, **authority)
        self.issue("middle", subject="/CN=middle", **authority)
        self.issue("rsa", subject="/CN=rsa", key=("rsa:2048",), **authority)
        self.issue("old", subject="/CN=old", times=PAST, **authority)
        self.issue("sha1", subject="/CN=sha1", digest="sha1", **authority)
        self.issue("elsewhere", subject="/CN=elsewhere", san="", more=authority["more"] + "nameConstraints=critical,permitted;DNS:other.example\n")
        self.issue("leaf", subject="/CN=leaf")
        self.openssl("genpkey", "-genparam", "-algorithm", "DH", "-pkeyopt", "dh_rfc5114:1", "-out", "dh1024.pem")
        (self.folder / "weak.conf").write_text(WEAK_CONF)

    def openssl(self, *words, **more):
        return subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True, timeout=60, env={**os.environ, "OPENSSL_CONF": "/dev/null"}, **more)

    def fill(self, text):
        first, _, parent = self.host.partition(".")
        nul = self.host.encode() + b"\0.other.example"
        name = bytes([0x82, len(nul)]) + nul
        for word, value in (("NUL_NAME", (bytes([0x30, len(name)]) + name).hex()), ("HOST_UPPER", self.host.upper()), ("PARENT", parent),
                            ("HOST_MIDDLE", f"{first}.*." + parent.partition(".")[2]), ("HOST_PART", f"{first[:1]}*.{parent}"), ("HOST", self.host)):
            text = text.replace(word, value)
        return text

    def issue(self, name, **more):
        """NAME.key, NAME.crt; and NAME.pem with the chain."""
        row, folder = {**GOOD, **more}, self.folder
        san = f"subjectAltName={row['san']}\n" if row["san"] else ""
        issuer = row["issuer"] or name
        (folder / "ext").write_text(self.fill(f"[e]\n{san}{row['more']}"))
        (folder / "index.txt").write_text("")
        (folder / "ca.conf").write_text(f"[ca]\ndefault_ca=d\n[d]\ndatabase=index.txt\nnew_certs_dir=.\nrand_serial=yes\npolicy=p\nunique_subject=no\n"
                                        f"default_md={row['digest']}\n[p]\ncommonName=supplied\n")
        self.openssl("req", "-newkey", *row["key"], "-nodes", "-keyout", f"{name}.key", "-out", "csr", "-subj", self.fill(row["subject"]))
        start, end = row["times"] or ("20240101000000Z", "20491231000000Z")
        own = ("-selfsign", "-keyfile", f"{name}.key") if issuer == name else ("-cert", f"{issuer}.crt", "-keyfile", f"{issuer}.key")
        self.openssl("ca", "-batch", "-config", "ca.conf", "-in", "csr", "-out", f"{name}.crt", "-notext", *own, "-startdate", start, "-enddate", end,
                     "-extfile", "ext", "-extensions", "e")
        (folder / f"{name}.chain").write_text("".join((folder / f"{n}.crt").read_text() for n in row["chain"]))

    def proof(self, name, about, signer="ca", revoked=False, days=("-ndays", "7")):
        """What an authority says about a certificate: NAME.ocsp."""
        serial = self.openssl("x509", "-in", f"{about}.crt", "-noout", "-serial").stdout.decode().strip().partition("=")[2]
        state = "R\t491231000000Z\t240101000000Z" if revoked else "V\t491231000000Z\t"
        (self.folder / "said").write_text(f"{state}\t{serial}\tunknown\t/CN=x\n")
        self.openssl("ocsp", "-index", "said", "-rsigner", f"{signer}.crt", "-rkey", f"{signer}.key", "-CA", "ca.crt", "-issuer", "ca.crt",
                     "-cert", f"{about}.crt", "-respout", f"{name}.ocsp", *(days or ()), "-noverify")
        return f"{name}.ocsp"

    def server(self, row):
        """The words of `openssl s_server` for a row, in the folder; after issue("host", …)."""
        made = {"REVOKED": lambda: self.proof("revoked", "host", revoked=True), "OTHERS": lambda: self.proof("others", "leaf"),
                "PROOF": lambda: self.proof("proof", "host"), "ENDLESS": lambda: self.proof("endless", "host", days=None),
                "STRANGE": lambda: self.proof("strange", "host", signer="stranger"), "DH1024": lambda: "dh1024.pem"}
        words = [made[w]() if w in made else w for w in row["server"]]
        chain = ("-cert_chain", "host.chain") if row["chain"] else ()
        return ["openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", "host.crt", "-key", "host.key", *chain, "-www", *words]


def rows(folder, host):
    """Name, row, and the words of its server."""
    makes = Makes(folder, host)
    for name, row in ROWS.items():
        row = {**GOOD, **row}
        makes.issue("host", **{k: row[k] for k in ("san", "subject", "key", "digest", "times", "more", "issuer", "chain")})
        yield name, row, row["server"] is not None and makes.server(row)


def scratch():
    return tempfile.mkdtemp(prefix="badssl-")


def remove(folder):
    shutil.rmtree(folder, ignore_errors=True)
