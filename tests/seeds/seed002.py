# SPDX-License-Identifier: Apache-2.0
"""Seed 002, nanocrab's WASM skills: manifest, functions of the host, limits, and the host's side."""

from table import Seed, absent, declined, differs, section, works

# Section 4, as it is written there.
GMAIL = """name: gmail-sender
version: "0.1.0"
description: "Send emails via Gmail API"

# 编译信息
wasm:
  file: skill.wasm
  export: handle       # 入口函数名

# 权限声明 —— 宿主据此决定注册哪些 host functions
capabilities:
  http:
    enabled: true
    allowed_hosts:
      - "gmail.googleapis.com"
      - "oauth2.googleapis.com"
    max_request_size: "1MB"
    rate_limit: "10/min"

  filesystem:
    enabled: true
    paths:
      - guest: "/data"
        host: "./data"       # 相对于 skill 目录
        mode: "rw"
      - guest: "/tmp"
        host: "$TEMP/gmail-sender"
        mode: "rw"

  email:
    enabled: false           # 这个 skill 用 http 直接调 Gmail API，不需要宿主邮件代理

  browser:
    enabled: false

  network_socket:
    enabled: false           # 不给直接 socket 权限，只走 http host function

# 资源限制
limits:
  max_memory: "64MB"         # WASM 线性内存上限
  max_execution_time: "30s"  # 超时强制终止
  max_fuel: 1000000          # 指令计数限制（可选）
"""
FULL = """name: full
version: "0.2.0"
description: "All capabilities"
wasm: {file: skill.wasm, export: handle}
capabilities:
  http: {enabled: true, allowed_hosts: ["127.0.0.1:@PORT@"], max_request_size: "1KB", methods: [GET, POST]}
  email: {enabled: true, allowed_recipients: ["*@example.com"]}
  browser: {enabled: true, allowed_domains: ["localhost"]}
  network_socket: {enabled: false}
"""


def manifest(name, rest, export="handle"):
    return f'name: {name}\nversion: "0.1.0"\nwasm: {{file: skill.wasm, export: {export}}}\n{rest}\n'


FOLDERS = "capabilities: {filesystem: {enabled: true, paths: [{guest: /data, host: ./data, mode: rw}, {guest: /fixed, host: ./fixed, mode: ro}]}}"
FILES = {"gmail-sender/manifest.yaml": GMAIL, "full/manifest.yaml": FULL, "files/manifest.yaml": manifest("files", FOLDERS, "_start"),
         "files/fixed/file": "fixed\n", "files/data/own": "own\n", "bare/manifest.yaml": manifest("bare", "", "_start"), "none/manifest.yaml": manifest("none", ""),
         "rate/manifest.yaml": manifest("rate", 'capabilities: {http: {enabled: true, allowed_hosts: ["127.0.0.1:@PORT@"], rate_limit: "3/min"}}'),
         "path/manifest.yaml": manifest("path", 'capabilities: {http: {enabled: true, allowed_hosts: ["http://127.0.0.1:@PORT@/only/**"]}}'),
         "denied/manifest.yaml": manifest("denied", 'capabilities: {http: {enabled: true, allowed_hosts: ["127.0.0.1:@PORT@"], denied_hosts: ["http://127.0.0.1:@PORT@/secret/**"]}}'),
         "echo/manifest.yaml": manifest("echo", ""), "ways/manifest.yaml": manifest("ways", "limits: {max_memory: 16MB}"), "slow/manifest.yaml": manifest("slow", "limits: {max_execution_time: 300ms}"),
         "fuel/manifest.yaml": manifest("fuel", "limits: {max_fuel: 1000000}"), "local/manifest.yaml": manifest(
             "local", 'capabilities: {browser: {enabled: true, allowed_domains: ["localhost"]}, http: {enabled: true, allowed_hosts: ["localhost:@PORT@"]}}'),
         "no/manifest.yaml": manifest("no", ""), "rust/manifest.yaml": manifest("rust", FOLDERS, "_start"), "rust/data/f": "", "rust/fixed/f": "",
         "no.wat": '(module (memory (export "memory") 1) (data (i32.const 64) "\\12\\00\\00\\00{\\22success\\22: false}") '
                   '(func (export "allocate") (param i32) (result i32) i32.const 1024) (func (export "handle") (param i32 i32) (result i32) i32.const 64))',
         "named.wat": '(module (memory (export "memory") 1) (data (i32.const 64) "\\11\\00\\00\\00{\\22success\\22: true}") '
                      '(func (export "allocate") (param i32) (result i32) i32.const 1024) (func (export "begin") (param i32 i32) (result i32) i32.const 64))',
         "named/manifest.yaml": 'name: named\nversion: "0.1.0"\nwasm: {file: other.wasm, export: begin}\n',
         "sock.wat": '(module (import "wasi_snapshot_preview1" "sock_open" (func (param i32 i32 i32) (result i32))) (memory (export "memory") 1) (func (export "_start")))',
         "sock/manifest.yaml": manifest("sock", "", "_start"), "nn/manifest.yaml": manifest("nn", "", "_start"), "signed/manifest.yaml": manifest("signed", ""),
         "nn.wat": '(module (import "wasi_nn" "load" (func $load (param i32) (result i32))) (memory (export "memory") 1) (func (export "_start") i32.const 0 call $load drop))', "room/data/f": "",
         "room/manifest.yaml": manifest("room", "capabilities: {filesystem: {enabled: true, paths: [{guest: /data, host: ./data, mode: rw}]}}"),
         "rust.rs": 'fn main() { std::fs::write("/data/rust", "by std::fs").unwrap(); println!("{}", std::fs::read_to_string("/data/rust").unwrap()); '
                    'println!("{:?}", std::fs::read("/etc/passwd").map_err(|e| e.kind())); }\n',
         "~/.config/corral/services.yaml": "email: {server: 127.0.0.1, port: @SMTP@, tls: plain, from: Agent <agent@example.com>}\n"}
for name in ("gmail-sender", "full", "files", "bare", "none", "rate", "path", "denied", "echo", "ways", "fuel", "local", "no", "rust", "sock", "room", "nn", "signed", "slow", "named"):
    FILES[name + "/SKILL.md"] = f"---\nname: {name}\ndescription: a skill\n---\n# Skill\n"
COMPILE = "clang --target=wasm32-wasi -O1 %s \"$SOURCE\"/tests/wasm/%s.c -o %s/skill.wasm"
REACTOR = "-mexec-model=reactor"


def request(url, more=""):
    return '{\\"f\\": \\"http_request\\", \\"t\\": {\\"url\\": \\"%s\\"%s}}' % (url, more)


def call(skill, *steps):
    return f'corral run --yes --skill {skill} --input "{{\\"steps\\": [{", ".join(steps)}]}}"'


HERE = "http://127.0.0.1:$PORT"
GRANTED = call("full", request(HERE + "/x"), request("http://127.0.0.1:1/"), request(HERE + "/put", ', \\"method\\": \\"PUT\\"'),
               request(HERE + "/large", ', \\"method\\": \\"POST\\", \\"body\\": \\"$(printf %03000d 0)\\"'),
               '{\\"f\\": \\"send_email\\", \\"t\\": {\\"to\\": \\"bob@example.com\\", \\"subject\\": \\"Hello\\"}}',
               '{\\"f\\": \\"send_email\\", \\"t\\": {\\"to\\": \\"bob@evil.example\\", \\"subject\\": \\"Hello\\"}}',
               '{\\"f\\": \\"browser_navigate\\", \\"t\\": {\\"url\\": \\"http://evil.example/\\"}}').replace("corral run", "corral run --audit ~/wasm.db", 1)
DENIED = call("denied", request(HERE + "/granted"), request(HERE + "/secret/key"))
AUDITED = GRANTED + "; corral audit list --json ~/wasm.db"
SHOW = "corral inspect full; corral policy show full"
WORDS = ("corral run --yes --skill files -- write:/data/new read:/data/own read:/fixed/file write:/fixed/file read:/etc/passwd read:/data/../manifest.yaml env:HOME; ls files/data")
LIMITS = ("corral run --yes --skill ways --input '{\"do\": \"grow\"}'; corral run --yes --skill slow --input '{\"do\": \"loop\"}'; echo time: $?; "
          "corral run --yes --skill fuel --input '{\"do\": \"loop\"}'; echo fuel: $?; corral run --yes --skill ways --input '{\"do\": \"calls\"}'; echo no fuel: $?")
ECHO = "corral run --yes --skill echo -- name=text 'size:=[1, 2]'"
HOST = ("skill-host unapproved load echo call '{\"n\": 1}' call '{\"n\": 2}' sh 'echo \"# changed\" >>echo/SKILL.md' reload free")
RELOAD = "corral approve --yes echo >/dev/null; skill-host load echo sh 'echo \"# new\" >>echo/SKILL.md' reload sh 'corral approve --yes echo >/dev/null' reload"
LAYER = ("skill-host unapproved load room call '{\"do\": \"write\"}' layer \"{\\\"fs\\\": {\\\"read\\\": [\\\"$PWD/room/data/{,**}\\\"]}}\" call '{\"do\": \"write\"}'")
PAGE = call("local", '{\\"f\\": \\"browser_navigate\\", \\"t\\": {\\"url\\": \\"http://localhost:$PORT/page\\"}}', '{\\"f\\": \\"browser_eval_js\\", \\"t\\": {\\"script\\": \\"6 * 7\\"}}',
            '{\\"f\\": \\"browser_screenshot\\", \\"t\\": {}}')
RUST = ("t=wasm32-wasip1; [ -e /usr/lib/rustlib/$t ] || t=wasm32-wasi; /usr/bin/rustc --edition 2021 --target $t -O rust.rs -o rust/skill.wasm; corral run --yes --skill rust")
AS_IS = call("gmail-sender", request("https://gmail.example.com/"))

SEED = Seed("002", "nanocrab WASM", [
    section("4. Packages and manifests"),
    works("a guest in C", ECHO, '"success": true'),
    works("a guest in Rust, with `std::fs`", RUST, "by std::fs", "Err(", program="/usr/bin/rustc"),
    works("SKILL.md, skill.wasm, manifest.yaml and data/", WORDS, "read /data/own: own"),
    works("`name`, `version`, `description`", SHOW, "full 0.2.0\nAll capabilities"),
    works("`wasm.file`", "corral run --yes --skill named", '"success": true'),
    works("`wasm.export`", "corral run --yes --skill named", '"success": true'),
    works("`http.enabled`", GRANTED, '"status":200'),
    works("`http.allowed_hosts`", GRANTED, '"body":"GET /x', "permission denied: net.connect http://127.0.0.1:1/"),
    works("a list of denied URLs, as `http.denied_hosts`", DENIED, "GET /granted", "!GET /secret", '"code":1001,"message":"permission denied: net.connect http://127.0.0.1:', "/secret/key: network.deny denies"),
    works("`http.max_request_size`", GRANTED, "network.max_request_size is 1024", "!POST /large"),
    works("`http.rate_limit`", call("rate", *[request(HERE + f"/{n}") for n in "1234"]), "GET /3", "!GET /4", '"error"'),
    works("`filesystem.paths`: guest, host, mode rw", WORDS, "wrote /data/new", "\nnew\n"),
    works("mode ro: writing is refused", WORDS, "read /fixed/file: fixed", "write failed: "),
    works("`./data` is in the skill's folder", WORDS, "read /data/own: own"),
    works("`email.enabled`", GRANTED, '"messageId"'),
    works("`browser.enabled`", SHOW, "browser: navigate and screenshot and eval; domains: localhost"),
    works("`network_socket.enabled: false`", call("full", '{\\"f\\": \\"socket_open\\", \\"t\\": {}}'), "the capability network_socket is not granted", status=134),
    works("`limits.max_memory`", LIMITS, '/"result": 25[0-6]\\D/'),
    works("`limits.max_execution_time`", LIMITS, "time: 124"),
    works("`limits.max_fuel`", LIMITS, "fuel: 134"),
    works("fuel is optional", LIMITS, "no fuel: 0"),
    section("2. Four kinds of permissions"),
    works("no folder, no file", "corral run --yes --skill bare -- read:/etc/passwd read:/data/own", "!root:", "read failed"),
    works("`../` does not lead out", WORDS, "!capabilities:", "read failed"),
    works("variables: none by default", WORDS, "HOME=(none)"),
    works("arguments", WORDS, "read /data/own: own"),
    section("6. How host and module talk"),
    works("`allocate(size)`", ECHO, '"input": {'),
    works("`handle(ptr, len)`", ECHO, '"success": true'),
    works("the input is JSON", ECHO, '"params": {"name": "text", "size": [1, 2]}'),
    works("the answer: `success`, `result`", ECHO, '{"success": true, "result": {'),
    works("`success: false` is exit status 1", "corral run --yes --skill no", '"success": false', status=1),
    works("`host_http_request`", GRANTED, '"body":"GET /x'),
    works("`host_send_email`", GRANTED, '"messageId"'),
    works("`host_browser_navigate`", PAGE, '"status":200', program="chromium"),
    works("`browser_screenshot`", PAGE, "iVBOR", program="chromium"),
    works("`browser_eval_js`", PAGE, '"result":42', program="chromium"),
    works("names with and without `host_`", GRANTED, '"body":"GET /x', '"messageId"'),
    works("what is not granted stops the module, with the line to add", call("none", request(HERE + "/")), "the capability http is not granted", "of the manifest: http: {enabled: true", status=134),
    works("a URL that is not allowed is 1001", GRANTED, '"code":1001,"message":"permission denied: net.connect http://127.0.0.1:1/'),
    works("recipients are checked", GRANTED, "permission denied: service email.send:bob@evil.example"),
    works("domains are checked", GRANTED, "permission denied: service browser.navigate:http://evil.example/"),
    works("each request is in the audit", AUDITED, '"target":"http', "/x\"", '"decision":"denied"'),
    section("10. The executor"),
    works("load, call, reload, version", RELOAD, "reload 1 version 2"),
    works("a policy for each call", LAYER, '"there written"', '"there refused"'),
    works("each call has a fresh instance", HOST, '/(?s)"n": 1}, "calls": 0.*"n": 2}, "calls": 0/'),
    works("a skill is loaded again when it was changed and approved, and only then", RELOAD, "reload -13", "reload 1 version 2"),
    works("paths of URLs in `allowed_hosts`", call("path", request(HERE + "/only/this"), request(HERE + "/other")), "GET /only/this", "!GET /other", '"code":1001'),
    works("methods", GRANTED, "network.methods does not include PUT", "!\"PUT /put"),
    section("What differs"),
    differs("the manifest of section 4 as it is", "it runs; `$TEMP` is the host's folder for temporary files, and a folder of a skill there is its user's to make", AS_IS, "/tmp/gmail-sender does not exist, so files written there are lost", '"code":1001'),
    differs("headers of a request as a list of pairs", "they are an object, as in JSON of the other calls", call("full", request(HERE + "/h", ', \\"headers\\": [[\\"Authorization\\", \\"tok\\"]]')), '"code":1003', "headers"),
    differs("sockets of WASI (way A)", "the seed itself recommends way B; a module opens sockets by functions of the host, for granted hosts", "corral run --yes --skill sock", "sock_open", status=126),
    differs("the engine is WasmEdge", "it is Wasmtime, which has a stable C interface and fuel", "ldd $CORRAL_WASM", "libwasmtime"),
    differs("a rate of mails in the manifest", "it is in the policy, where its user sets it", "cp -r full rated; sed -i 's/allowed_recipients: /rate_limit: 1\\/h, &/' rated/manifest.yaml; "
            "corral policy show rated; printf 'services: {email: {access: send, rate_limit: 1/h}}' >rate.yaml; corral policy show rate.yaml", "unknown key", "rate_limit: 1/h"),
    section("What is absent or declined"),
    absent("a library for guests (`nanocrab-skill-sdk`)", "authors", 'ls "$SOURCE"/sdk', "!rust", "!wasm", status=0),
    absent("`skill build`", "authors", "corral skill build", "unknown command"),
    absent("`skill test`", "authors", "corral skill test", "unknown command"),
    absent("`skill publish`", "authors", "corral skill publish", "unknown command"),
    absent("a market of skills", "authors", "corral skills install gmail-sender", "unknown command"),
    absent("versions of skills", "authors", "corral skills --help", "!upgrade", status=0),
    absent("signatures: the key is refused until something checks it", "authors", "printf 'signature: x\\n' >>signed/manifest.yaml; corral policy show signed", "signature"),
    declined("MessagePack", "the seed has it as the other choice; JSON is what all other calls use, and people can read it", ECHO, '{"success": true'),
    declined("types of wasmedge-bindgen, WASI-NN", "optional in the seed, and bound to its engine; a model is better asked through a granted host", "corral run --yes --skill nn", "wasi_nn", status=134),
], files=FILES, setup=(COMPILE % (REACTOR, "calls", "full") + "; for s in gmail-sender none rate path denied local; do cp full/skill.wasm $s/; done",
                       COMPILE % ("", "files", "files") + "; cp files/skill.wasm bare/", COMPILE % (REACTOR, "echo", "echo"),
                       COMPILE % (REACTOR, "many-ways", "ways") + "; cp ways/skill.wasm fuel/; cp ways/skill.wasm slow/; cp ways/skill.wasm room/", "wat2wasm no.wat -o no/skill.wasm; wat2wasm named.wat -o named/other.wasm; wat2wasm sock.wat -o sock/skill.wasm; wat2wasm nn.wat -o nn/skill.wasm; mkdir ~/tmp gmail-sender/data"), needs=("bus", "smtp"))
