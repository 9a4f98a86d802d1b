/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "policy/format/test/test-manifest.h"

/* clang-format off */
/* Documents and their canonical form. */
static const struct reading readings[] = {
	{ "{}", "{}\n" },
	/* What grants nothing is not printed. */
	{ "fs: {}\nnetwork: {allow: [], listen: []}\nservices: {}\nlimits: {}\nrules: []\nenv: []",
		"{}\n" },
	{ "default: deny\nmode: enforce\n", "{}\n" },
	{ "default: ask\nmode: audit\n", "default: ask\nmode: audit\n" },
	{ "mode: monitor\ndefault: allow\n", "default: allow\nmode: monitor\n" },
	/* An empty list of programs is a list. */
	{ "exec: []", "exec: []\n" },
	{ "exec: [git, \"git   push:*\", /usr/bin/jq, git, true, \"ls:\"]",
		"exec:\n  - /usr/bin/jq\n  - git\n  - git push:*\n  - \"ls:\"\n  - \"true\"\n" },
	/* Sorted, without doubles, in canonical spelling. */
	{ "fs:\n  deny: [/c/]\n  write: [~/b, /x//y/]\n  read: [$HOME/b, ~/b, /a, \"${TEMP}/*\"]\n",
		"fs:\n  read:\n    - $HOME/b\n    - $TEMP/*\n    - /a\n"
		"  write:\n    - $HOME/b\n    - /x/y/**\n  deny:\n    - /c/**\n" },
	{ "fs: {read: [{all: [/b/**, \"/**/*.c\", /b/**]}, /a, {all: [/a, /a]}]}",
		"fs:\n  read:\n    - all:\n        - /**/*.c\n        - /b/**\n    - /a\n" },
	{ "network:\n  methods: [POST, GET, GET]\n  max_request_size: 1024\n  max_bytes: 0\n"
	  "  rate_limit: 10/60s\n  listen: [8080, 80, 443, 80, '80:81', '[::]:80', 'localhost:443']\n  deny: [Evil.example]\n"
	  "  private: ['*.Corp.example:443', 'db.internal:5432']\n"
	  "  allow: [\"B.example:443\", a.example, \"*:80\", \"udp://ntp.example:123\"]\n",
		"network:\n  allow:\n    - \"*:80\"\n    - a.example:*\n    - b.example:443\n"
		"    - udp://ntp.example:123\n"
		"  private:\n    - \"*.corp.example:443\"\n    - db.internal:5432\n"
		"  deny:\n    - evil.example:*\n"
		"  listen:\n    - 80\n    - 80:81\n    - \"[::]:80\"\n    - 443\n    - 8080\n"
		"  rate_limit: 10/min\n  max_bytes: 0\n"
		"  max_request_size: 1K\n  methods:\n    - GET\n    - POST\n" },
	{ "env: [TZ=UTC, \"LC_*\", LANG, \"A?C\", \"EMPTY=\", \"X=a=b\", {all: [\"A*\", \"*Z\"]}]",
		"env:\n  - all:\n      - \"*Z\"\n      - A*\n  - A?C\n  - EMPTY=\n  - LANG\n"
		"  - LC_*\n  - TZ=UTC\n  - X=a=b\n" },
	{ "env: {B: 1, A: text, C: null, \"D*\": null, E: true}",
		"env:\n  - A=text\n  - B=1\n  - C\n  - D*\n  - E=true\n" },
	{ "services:\n"
	  "  reminders: {access: readwrite, lists: [Work, Home]}\n"
	  "  calendar: {access: read, calendars: [], range: 168h}\n"
	  "  browser: {access: open, domains: [\"*.Example.COM\", 192.0.2.1, \"[2001:db8::1]\"]}\n"
	  "  notifications: {access: send}\n"
	  "  clipboard: {access: [read, write]}\n"
	  "  email: {access: true, recipients: [a@example.com]}\n"
	  "  vault: {access: read, secrets: [B, A], rate_limit: 5/h}\n",
		"services:\n"
		"  browser:\n    access: open\n    domains:\n      - \"*.example.com\"\n"
		"      - 192.0.2.1\n      - \"[2001:db8::1]\"\n"
		"  calendar:\n    access: read\n    calendars: []\n    range: 7d\n"
		"  clipboard:\n    access: readwrite\n"
		"  email:\n    access: send\n    recipients:\n      - a@example.com\n"
		"  notifications:\n    access: send\n"
		"  reminders:\n    access: readwrite\n    lists:\n      - Home\n      - Work\n"
		"  vault:\n    access: read\n    secrets:\n      - A\n      - B\n    rate_limit: 5/hour\n" },
	{ "services: {vault: false}", "{}\n" },
	{ "secrets: {}", "{}\n" },
	/* Any program is all that are named beside it. */
	{ "secrets: {A: [{hosts: ['b:1', 'a:1'], in: [query, header], programs: [/b, /a]}, {hosts: "
	  "['c:1'], in: [query]}, {hosts: ['a:1'], in: [body]}, {hosts: ['c:1'], in: [query], "
	  "programs: [/z]}, {hosts: ['d:1'], programs: [/a]}]}",
		"secrets:\n"
		"  A:\n"
		"    - hosts:\n"
		"        - d:1\n"
		"      in:\n"
		"        - header\n"
		"      programs:\n"
		"        - /a\n"
		"    - hosts:\n"
		"        - c:1\n"
		"      in:\n"
		"        - query\n"
		"    - hosts:\n"
		"        - a:1\n"
		"        - b:1\n"
		"      in:\n"
		"        - header\n"
		"        - query\n"
		"      programs:\n"
		"        - /a\n"
		"        - /b\n"
		"    - hosts:\n"
		"        - a:1\n"
		"      in:\n"
		"        - body\n" },
	{ "secrets: {B: {hosts: ['A.example.:443', a.example:443], in: [query, header]}, A-b.c: "
	  "{hosts: ['[2001:db8:0::1]:80']}}",
		"secrets:\n"
		"  A-b.c:\n"
		"    hosts:\n"
		"      - \"[2001:db8::1]:80\"\n"
		"    in:\n"
		"      - header\n"
		"  B:\n"
		"    hosts:\n"
		"      - a.example:443\n"
		"    in:\n"
		"      - header\n"
		"      - query\n" },
	/* Hosts with different places. */
	{ "secrets: {A: [{hosts: [b.example:443, a.example:443]}, {hosts: [c.example:443, "
	  "a.example:443], in: [form]}]}",
		"secrets:\n"
		"  A:\n"
		"    - hosts:\n"
		"        - b.example:443\n"
		"      in:\n"
		"        - header\n"
		"    - hosts:\n"
		"        - c.example:443\n"
		"      in:\n"
		"        - form\n"
		"    - hosts:\n"
		"        - a.example:443\n"
		"      in:\n"
		"        - header\n"
		"        - form\n" },
	{ "services: {clipboard: false, email: {access: false}, reminders: {access: write}}",
		"services:\n  reminders:\n    access: write\n" },
	{ "limits: {fuel: 1000000, open_files: 256, file_size: 100M, output: 1000, pids: 0,"
	  " memory: 512MiB, timeout: 1500ms}",
		"limits:\n  timeout: 1500ms\n  memory: 512M\n  pids: 0\n  output: 1000\n"
		"  file_size: 100M\n  open_files: 256\n  fuel: 1000000\n" },
	{ "limits: {timeout: 90, memory: 18446744073709551614, fuel: 9223372036854775807}",
		"limits:\n  timeout: 90s\n  memory: \"18446744073709551614\"\n"
		"  fuel: 9223372036854775807\n" },
	{ "guest_paths:\n  - {guest: /tmp/, host: $TEMP/x/, mode: r}\n"
	  "  - {guest: /data, host: \"~\", mode: rw}\n  - {guest: /, host: /, mode: ro}\n",
		"guest_paths:\n  - guest: /\n    host: /\n    mode: ro\n"
		"  - guest: /data\n    host: $HOME\n    mode: rw\n"
		"  - guest: /tmp\n    host: $TEMP/x\n    mode: ro\n" },
	{ "network: {inspect: ['B.example.:443', '[2001:db8:0::1]:8443', 'https://a.example/', "
	  "b.example:443], allow: [a.example]}",
		"network:\n  allow:\n    - a.example:*\n  inspect:\n    - \"[2001:db8::1]:8443\"\n    - "
		"a.example:443\n    - b.example:443\n" },
	{ "dangerously_allow: [$HOME/.ssh/known_hosts]",
		"dangerously_allow:\n  - $HOME/.ssh/known_hosts\n" },
	{ "rules:\n"
	  "  - {id: low, action: allow, operations: [exec], patterns: [git]}\n"
	  "  - {id: high, name: First, priority: 10, action: deny, enabled: false,\n"
	  "     operations: [fs.write, fs.read], patterns: [/b, /a, /b]}\n"
	  "  - {id: low2, priority: 0, action: ask, operations: [net.connect], methods: [POST],\n"
	  "     patterns: [{all: [\"*:443\", \"*.example:*\"]}], enabled: true}\n"
	  "  - {id: lowest, priority: -1, action: allow, operations: [service],\n"
	  "     patterns: [\"*\", \"browser.open:EXAMPLE.com\", \"reminders.read:W*\", vault]}\n"
	  "  - {id: e, priority: -2, action: deny, operations: [env], patterns: [\"AWS_*\"]}\n",
		"rules:\n"
		"  - id: high\n    name: First\n    priority: 10\n    action: deny\n"
		"    operations:\n      - fs.read\n      - fs.write\n"
		"    patterns:\n      - /a\n      - /b\n    enabled: false\n"
		"  - id: low\n    action: allow\n    operations:\n      - exec\n"
		"    patterns:\n      - git\n"
		"  - id: low2\n    action: ask\n    operations:\n      - net.connect\n"
		"    patterns:\n      - all:\n          - \"*.example:*\"\n          - \"*:443\"\n"
		"    methods:\n      - POST\n"
		"  - id: lowest\n    priority: -1\n    action: allow\n    operations:\n      - service\n"
		"    patterns:\n      - \"*\"\n      - browser.open:example.com\n      - reminders.read:W*\n"
		"      - vault\n"
		"  - id: e\n    priority: -2\n    action: deny\n    operations:\n      - env\n"
		"    patterns:\n      - AWS_*\n" },
	{ "all_of:\n  - {fs: {read: [/a]}}\n  - {}\n  - {all_of: [{exec: []}]}\n",
		"all_of:\n  - fs:\n      read:\n        - /a\n  - {}\n"
		"  - all_of:\n      - exec: []\n" },
};
/* clang-format on */

static void test_readings(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(readings); i++)
		check_manifest(MANIFEST_PERMISSIONS, "p.yaml", &readings[i]);
}

#define KNOWN "valid keys: "

static const struct refusal refusals[] = {
	/* Keys */
	{ "netwrk: {}", 1, 1, "unknown key `netwrk`; did you mean `network`?", NULL },
	{ "network: {alow: [x]}", 1, 11,
		"unknown key `network.alow`; did you mean `network.allow`?", NULL },
	{ "permissions:\n  network:\n    alow: []\n", 3, 5,
		"unknown key `permissions.network.alow`; did you mean `permissions.network.allow`?",
		NULL },
	{ "fs: {zzz: 1}", 1, 6, "unknown key `fs.zzz`", KNOWN "read, write, deny" },
	{ "all_of: [{limits: {timout: 1s}}]", 1, 20,
		"unknown key `all_of.limits.timout`; did you mean `all_of.limits.timeout`?", NULL },
	{ "services: {clipbord: true}", 1, 12, "did you mean `services.clipboard`?", NULL },
	{ "services: {reminders: {access: read, calendars: []}}", 1, 38,
		"unknown key `services.reminders.calendars`", KNOWN "access, lists" },
	{ "rules: [{id: a, acton: deny}]", 1, 17,
		"unknown key `rules.acton`; did you mean `rules.action`?", NULL },
	{ "guest_paths: [{gest: /}]", 1, 16, "did you mean `guest_paths.guest`?", NULL },
	{ "fs: {read: [{all: [/a, /b], any: [/c]}]}", 1, 29, "unknown key `fs.read.any`",
		KNOWN "all" },
	/* Types */
	{ "[]", 1, 1, "the document must be a map, not a list", NULL },
	{ "permissions:", 1, 13, "`permissions` must be a map, not nothing", "write {}" },
	{ "permissions: []", 1, 14, "`permissions` must be a map, not a list", NULL },
	{ "fs: [/a]", 1, 5, "`fs` must be a map, not a list", NULL },
	{ "fs: {read: /x}", 1, 12, "`fs.read` must be a list, not text", "write `read: [\"/x\"]`" },
	{ "fs: {read: 7}", 1, 12, "`fs.read` must be a list, not a number",
		"write `read: [\"7\"]`" },
	{ "fs: {read: }", 1, 12, "`fs.read` must be a list, not nothing", "write []" },
	{ "fs: {read: {}}", 1, 12, "`fs.read` must be a list, not a map", NULL },
	{ "fs: {read: [null]}", 1, 13, "`fs.read` must be text, not nothing", NULL },
	{ "fs: {read: [[/a]]}", 1, 13, "`fs.read` must be text, not a list", NULL },
	{ "fs: {read: [{all: /a}]}", 1, 19, "`fs.read.all` must be a list, not text",
		"write `all: [\"/a\"]`" },
	{ "exec:", 1, 6, "`exec` must be a list, not nothing", "write []" },
	{ "env: LANG", 1, 6, "`env` must be a list, not text", "write `env: [\"LANG\"]`" },
	{ "env: {A: []}", 1, 10,
		"`env.A` must be text, or null to pass the variable on, not a list", NULL },
	{ "secrets: [A]", 1, 10, "`secrets` must be a map, not a list", NULL },
	{ "secrets: {A: true}", 1, 14, "`secrets.A` must be a map", NULL },
	{ "secrets: {A: []}", 1, 14, "is empty: the secret would go nowhere", NULL },
	{ "secrets: {A: {hosts: []}}", 1, 22, "is empty: the secret would go nowhere", NULL },
	{ "secrets: {A: {in: [header]}}", 1, 14, "the key `hosts` is missing", NULL },
	{ "secrets: {A: {hosts: [a:443], in: []}}", 1, 35, "leave it out for `header`", NULL },
	{ "secrets: {A: {hosts: [a:443], programs: []}}", 1, 41, "no program would use the secret",
		NULL },
	{ "secrets: {A: {hosts: [a:443], programs: [gh]}}", 1, 42, "`gh` is no program", NULL },
	{ "secrets: {A: {hosts: [a:443], programs: ['/usr/bin/*']}}", 1, 42,
		"`/usr/bin/*` is no program", NULL },
	{ "secrets: {A: {hosts: [a:443], programs: ['/a,/b']}}", 1, 42, "`/a,/b` is no program",
		NULL },
	{ "secrets: {A: {hosts: [a:443], programs: [/]}}", 1, 42, "`/` is no program", NULL },
	{ "secrets: {A: {hosts: [a:443], programs: /a}}", 1, 41, "must be a list",
		"write `programs: [\"/a\"]`" },
	{ "secrets: {A: {hosts: [a:443], in: [cookie]}}", 1, 36, "cookie", NULL },
	{ "secrets: {A: {hosts: [a:443], from: 'cmd:/x'}}", 1, 31, "unknown key `secrets.A.from`",
		KNOWN "hosts, in" },
	{ "secrets: {A: {hosts: [a.example]}}", 1, 23, "is not one host with one port",
		"as in api.github.com:443" },
	{ "secrets: {A: {hosts: ['*.a.example:443']}}", 1, 23, "`*.a.example:443` is not one host",
		"hosts that are named" },
	{ "secrets: {A: {hosts: ['a.example:*']}}", 1, 23, "`a.example:*` is not one host",
		"hosts that are named" },
	{ "secrets: {A: {hosts: ['a:443,query']}}", 1, 23, "is not one host with one port", NULL },
	{ "secrets: {'': {hosts: [a:443]}}", 1, 15, "the name of a secret has letters", NULL },
	{ "secrets: {'A=B': {hosts: [a:443]}}", 1, 18, "the name of a secret has letters", NULL },
	{ "secrets: {'*_TOKEN': {hosts: [a:443]}}", 1, 22, "the name of a secret has letters",
		NULL },
	{ "secrets: {A: {hosts: [a:443]}, A: {hosts: [b:443]}}", 1, 32, "duplicate key", NULL },
	{ "rules: [{id: a, action: allow, operations: [secret], patterns: ['A=a:443']}]", 1, 45,
		"no rule is about secrets", NULL },
	{ "services: {clipboard: read}", 1, 23, "`services.clipboard` must be a map, not text",
		NULL },
	{ "services: {reminders: {access: read, lists: Work}}", 1, 45, "must be a list, not text",
		"write `lists: [\"Work\"]`" },
	{ "limits: {pids: \"64\"}", 1, 16, "`limits.pids` must be a whole number, not text", NULL },
	{ "limits: {memory: [1]}", 1, 18, "`limits.memory` must be a size such as 512K", NULL },
	{ "limits: {timeout: true}", 1, 19, "must be a duration such as", NULL },
	{ "network: {rate_limit: []}", 1, 23, "must be a rate such as", NULL },
	{ "services: {vault: {access: read, rate_limit: often}}", 1, 46, "is not a rate", NULL },
	{ "services: {vault: {access: read, max_size: 0}}", 1, 44, "must be 1 or more", NULL },
	{ "services: {vault: {access: navigate}}", 1, 28, "vault has no access `navigate`", NULL },
	{ "services: {vault: {access: fly}}", 1, 28, "open, navigate, screenshot, eval, login",
		NULL },
	{ "services: {browser: {access: open, domains: [10.0.0.0/8]}}", 1, 46, "not a range",
		NULL },
	{ "rules: [{id: a, enabled: 1}]", 1, 26,
		"`rules.enabled` must be true or false, not a number", NULL },
	{ "all_of: {}", 1, 9, "`all_of` must be a list, not a map", NULL },
	{ "default: [deny]", 1, 10, "`default` must be text, not a list", NULL },
	/* Words and amounts */
	{ "default: denied", 1, 10, "`default`: `denied` is not one of deny, ask, allow",
		"did you mean `deny`?" },
	{ "mode: zzzzzzzz", 1, 7, "`zzzzzzzz` is not one of enforce, audit, monitor", NULL },
	{ "limits: {timeout: 1.5}", 1, 19, "`1.5` is not a duration such as 500ms", NULL },
	{ "limits: {memory: -5}", 1, 18, "`-5` is not a size such as 512K", NULL },
	{ "limits: {memory: 99999999999T}", 1, 18, "`99999999999T` is too large", NULL },
	{ "limits: {pids: -1}", 1, 16, "-1 is not between 0 and 9223372036854775807", NULL },
	{ "limits: {pids: 1.5}", 1, 16, "`1.5` is not a valid whole number", NULL },
	{ "network: {rate_limit: 0/min}", 1, 23, "`0/min` is not a rate such as", NULL },
	{ "network: {private: ['*:443']}", 1, 21,
		"`*:443` would open every private address to every name; list the names", NULL },
	{ "network: {private: ['10.0.0.1:80']}", 1, 21,
		"`10.0.0.1:80` is an address; grant it in network.allow", NULL },
	{ "network: {private: ['unix:/run/x']}", 1, 21, "`unix:/run/x` is not a host name", NULL },
	{ "network: {private: ['glob:10.*']}", 1, 21, "`glob:10.*` is not a host name", NULL },
	{ "network: {private: ['https://a.com/x']}", 1, 21,
		"`https://a.com/x` has a path, which a connection does not show; write NAME:PORT",
		NULL },
	{ "network: {private: ['localhost:80']}", 1, 21,
		"`localhost:80` is this machine; grant it in network.allow", NULL },
	{ "network: {inspect: ['*.a.com:443']}", 1, 21,
		"`*.a.com:443` is not one host with one port",
		"TLS is opened for hosts that are named, as in api.example.com:443" },
	{ "network: {inspect: [a.com]}", 1, 21, "`a.com` is not one host with one port",
		"TLS is opened for hosts that are named, as in api.example.com:443" },
	{ "network: {inspect: ['https://a.com/v1/**']}", 1, 21, "is not one host with one port",
		"TLS is opened for hosts that are named, as in api.example.com:443" },
	{ "network: {inspect: ['udp://a.com:443']}", 1, 21, "is not one host with one port",
		"TLS is opened for hosts that are named, as in api.example.com:443" },
	{ "network: {inspect: ['unix:/x']}", 1, 21, "is not one host with one port",
		"TLS is opened for hosts that are named, as in api.example.com:443" },
	{ "network: {inspect: [{all: [a.com:443]}]}", 1, 21, "must be text, not a map", NULL },
	{ "network: {listen: [0]}", 1, 20, "0 is not between 1 and 65535", NULL },
	{ "network: {listen: ['a.com:80']}", 1, 20, "`a.com:80` has a host that is not an address",
		"write [HOST:]PORT[:INNER], such as 8080, 8080:80 or 0.0.0.0:8080" },
	{ "network: {listen: [65536]}", 1, 20, "65536 is not between 1 and 65535", NULL },
	{ "network: {methods: [get]}", 1, 21, "`get` is no HTTP method", NULL },
	{ "network: {methods: [[]]}", 1, 21, "must be text, not a list", NULL },
	{ "network: {methods: []}", 1, 20, "`network.methods`: is empty; leave it out", NULL },
	/* Patterns */
	{ "fs: {read: [relative]}", 1, 13, "slash", "absolute" },
	{ "fs: {write: [$HOEM/x]}", 1, 14, "unknown variable $HOEM", "did you mean $HOME?" },
	{ "network: {allow: [\"exa mple\"]}", 1, 19, "not a host name", "write" },
	{ "exec: [\"\"]", 1, 8, "needs a program", NULL },
	{ "fs: {read: [{all: [/a]}]}", 1, 19, "needs two patterns or more", NULL },
	{ "fs: {read: [{all: []}]}", 1, 19, "needs two patterns or more", NULL },
	{ "fs: {read: [{}]}", 1, 13, "`fs.read`: the key `all` is missing", NULL },
	{ "dangerously_allow: [x]", 1, 21, "slash", "absolute" },
	{ "env: [1A]", 1, 7, "`1A` is not a valid variable name", NULL },
	{ "env: [\"A-B\"]", 1, 7, "`A-B` is not a valid variable name", NULL },
	{ "env: [\"=x\"]", 1, 7, "the name of a variable is missing", NULL },
	{ "env: [\"A*=x\"]", 1, 7, "`A*=x` gives one value to many variables", NULL },
	{ "env: [\"A=x\\ny\"]", 1, 7, "the value of `A` contains a line break", NULL },
	{ "env: {\"A=B\": C}", 1, 14, "a name cannot hold `=`", NULL },
	{ "env: {\"A*\": C}", 1, 7, "gives one value to many", NULL },
	{ "env: {\"\": C}", 1, 7, "the name of a variable is missing", NULL },
	/* Services */
	{ "services: {email: {access: read}}", 1, 28, "email has no access `read`", NULL },
	{ "services: {email: {access: mail}}", 1, 28, "`mail` is not one of read, write", NULL },
	{ "services: {email: {access: null}}", 1, 28, "must be text, not nothing", NULL },
	{ "services: {email: {recipients: []}}", 1, 19, "the key `access` is missing", NULL },
	{ "services: {email: {access: send, recipients: [\"\"]}}", 1, 47, "a name is missing",
		NULL },
	{ "services: {email: {access: send, recipients: [\"a\\tb\"]}}", 1, 47,
		"contains a control character", NULL },
	{ "services: {browser: {access: open, domains: [\"a:80\"]}}", 1, 46,
		"`a:80` must be a domain, without scheme, port or path", NULL },
	{ "services: {browser: {access: open, domains: [\"https://a/\"]}}", 1, 46,
		"must be a domain", NULL },
	{ "services: {browser: {access: open, domains: [\"unix:/a\"]}}", 1, 46, "must be a domain",
		NULL },
	{ "services: {browser: {access: open, domains: [\"a b\"]}}", 1, 46, "not a host name",
		"write" },
	{ "services: {calendar: {access: read, range: 500ms}}", 1, 44,
		"must be at least one second; omit it for no limit", NULL },
	{ "services: {calendar: {access: read, range: 0}}", 1, 44,
		"must be at least one second; omit it for no limit", NULL },
	{ "services: {calendar: {access: read, range: x}}", 1, 44, "is not a duration", NULL },
	/* Guest paths */
	{ "guest_paths: [{guest: data, host: /x, mode: rw}]", 1, 23,
		"`data` is not an absolute path", NULL },
	{ "guest_paths: [{guest: [], host: /x, mode: rw}]", 1, 23, "must be text, not a list",
		NULL },
	{ "guest_paths: [{guest: /d, host: x, mode: rw}]", 1, 33, "slash", "absolute" },
	{ "guest_paths: [{guest: /d, host: {}, mode: rw}]", 1, 33, "must be text, not a map",
		NULL },
	{ "guest_paths: [{guest: /d, host: \"/x/*\", mode: rw}]", 1, 33, "without wildcards",
		NULL },
	{ "guest_paths: [{guest: /d, host: /x/../y, mode: rw}]", 1, 33, "must not contain `..`",
		NULL },
	{ "guest_paths: [{guest: /d, host: /x, mode: zzzz}]", 1, 43, "`zzzz` is not one of ro, rw",
		NULL },
	{ "guest_paths: [{guest: /d, host: /x}]", 1, 15, "the key `mode` is missing", NULL },
	{ "guest_paths: [{guest: /d, host: /x, mode: r}, {guest: /d/, host: /y, mode: r}]", 1, 47,
		"`/d` is given more than once", NULL },
	/* Rules */
	{ "rules: [{action: deny, operations: [exec], patterns: [a]}]", 1, 9,
		"`rules`: the key `id` is missing", NULL },
	{ "rules: [{id: \"\"}]", 1, 14, "`rules.id`: is empty", NULL },
	{ "rules: [{id: a, name: null}]", 1, 23, "`rules.name` must be text, not nothing", NULL },
	{ "rules: [{id: a, priority: 2147483648}]", 1, 27, "is not between -2147483648 and", NULL },
	{ "rules: [{id: a, operations: []}]", 1, 29, "is empty: the rule would never apply", NULL },
	{ "rules: [{id: a, operations: [fs.reed]}]", 1, 30, "`fs.reed` is not one of fs.read",
		"did you mean `fs.read`?" },
	{ "rules: [{id: a, action: deny, operations: [exec], patterns: []}]", 1, 61,
		"is empty: the rule would never match", NULL },
	{ "rules: [{id: a, action: deny, operations: [exec], patterns: a}]", 1, 61,
		"must be a list, not text", "write" },
	{ "rules: [{id: a, action: deny, operations: [fs.write, exec], patterns: [/a]}]", 1, 71,
		"fs.write and exec have patterns of different kinds", NULL },
	{ "rules: [{id: a, methods: []}]", 1, 26, "is empty; leave it out", NULL },
	{ "rules: [{id: a, action: deny, operations: [service], patterns: [remindrs]}]", 1, 65,
		"`remindrs` is not a valid service pattern", "did you mean `reminders`?" },
	{ "rules: [{id: a, action: deny, operations: [service], patterns: [a.b.c]}]", 1, 65,
		"is not a valid service pattern", "write SERVICE" },
	{ "rules: [{id: a, action: deny, operations: [service], patterns: [email.read]}]", 1, 65,
		"email has no access `read`", NULL },
	{ "rules: [{id: a, action: deny, operations: [service], patterns: [\"clipboard:x\"]}]", 1,
		65, "clipboard does not support a pattern", NULL },
	{ "rules: [{id: a, action: deny, operations: [service], patterns: [\"browser:a b\"]}]", 1,
		65, "not a host name", "write" },
	/* Layers */
	{ "all_of: []", 1, 9, "needs at least one set of permissions", NULL },
	{ "all_of: [{}]\nexec: []", 1, 9, "nothing else may stand beside it", "one more entry" },
	{ "all_of: [null]", 1, 10, "`all_of` must be a map, not nothing", "write {}" },
};

static void test_refusals(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(refusals); i++)
		check_refused(MANIFEST_PERMISSIONS, "p.yaml", &refusals[i]);
}

/* What a list could only be scanned for one by one is bounded. */
static void test_too_many_guest_paths(void **state)
{
	auto_buffer text = { 0 };
	struct refusal row = { .line = 258, .column = 3, .says = "more than 256 guest paths" };

	(void)state;
	buffer_adds(&text, "guest_paths:\n");
	for (int i = 0; i < 300; i++)
		buffer_printf(&text, "- {guest: /d%d, host: /x, mode: r}\n", i);
	row.text = buffer_text(&text);
	check_refused(MANIFEST_PERMISSIONS, "p.yaml", &row);
}

/* Where things were written is kept, in memory of the permissions' own. */
static void test_places(void **state)
{
	static const char text[] =
		"fs:\n  read:\n    - /a\nservices:\n  clipboard: true\n"
		"rules:\n  - {id: r, action: deny, operations: [exec], patterns: [x]}\n"
		"guest_paths:\n  - {guest: /g, host: /h, mode: rw}\nenv: {A: b}\n";
	auto_permissions *p = read_back("places.yaml", text);

	(void)state;
	assert_string_equal(p->origin, "places.yaml");
	assert_string_equal(p->fs_read.items[0].where.file, "places.yaml");
	assert_int_equal(p->fs_read.items[0].where.line, 3);
	assert_int_equal(p->fs_read.items[0].where.column, 7);
	assert_string_equal(p->services[0].where.file, "places.yaml");
	assert_int_equal(p->services[0].where.line, 5);
	assert_string_equal(p->rules[0].where.file, "places.yaml");
	assert_int_equal(p->rules[0].where.line, 7);
	assert_int_equal(p->rules[0].patterns.items[0].where.line, 7);
	assert_int_equal(p->guest_paths[0].where.line, 9);
	assert_int_equal(p->env.items[0].where.line, 10);
}

/* Permissions that were made by code: what the grammar has no single word for. */
static void test_made_by_code(void **state)
{
	auto_permissions *p = permissions_new();
	auto_buffer out = { 0 };
	struct service *s;

	(void)state;
	s = permissions_service(p, "email");
	assert_non_null(s);
	s->access = SERVICE_READ | SERVICE_SEND;
	assert_non_null(permissions_scope(p, s, "recipients"));
	assert_non_null(permissions_scope(p, s, "folders"));
	assert_non_null(permissions_service(p, "vault")); /* found, but nothing is granted */
	permissions_print_yaml(p, &out);
	assert_string_equal(buffer_text(&out),
		"services:\n  email:\n    access:\n      - read\n      - send\n"
		"    folders: []\n    recipients: []\n");
}

static void test_canonical(void **state)
{
	static const struct {
		enum operation op;
		const char *text, *spelt;
	} rows[] = {
		{ OPERATION_FS_WRITE, "~/a/", "$HOME/a/**" },
		{ OPERATION_NET_CONNECT, "EXAMPLE.com", "example.com:*" },
		{ OPERATION_EXEC, "git  push:*", "git push:*" },
		{ OPERATION_ENV, "TZ=UTC", "TZ=UTC" },
		{ OPERATION_SERVICE, "clipboard.readwrite", "clipboard" },
		{ OPERATION_SERVICE, "clipboard.read", "clipboard.read" },
		{ OPERATION_SERVICE, "calendar:Home", "calendar:Home" },
	};
	auto_arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		const char *spelt = NULL;

		assert_int_equal(
			permissions_canonical(rows[i].op, rows[i].text, &a, &spelt, NULL, NULL), 0);
		assert_string_equal(spelt, rows[i].spelt);
		assert_int_equal(
			permissions_canonical(rows[i].op, rows[i].text, &a, NULL, NULL, NULL), 0);
	}
	assert_int_equal(
		permissions_canonical(OPERATION_ENV, "a b", &a, NULL, NULL, NULL), -EINVAL);
}

/* Reading into and printing from arenas that end at every place they can. */
static void test_out_of_memory(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(readings); i++) {
		auto_document d = { 0 };
		int r = -ENOMEM;

		assert_int_equal(yaml_read(&d, "p.yaml", 1, readings[i].text,
					 strlen(readings[i].text), NULL),
			0);
		for (size_t budget = 1; r == -ENOMEM; budget += 16) {
			auto_permissions *p = permissions_new();
			struct error e = { 0 };

			p->arena->budget = p->arena->used + budget;
			r = permissions_read_node(p, &d, d.root, &e);
			if (r == 0)
				break;
			assert_int_equal(r, -ENOMEM);
			assert_string_equal(e.text, "out of memory");
		}
	}
}

static void test_printing_out_of_memory(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(readings); i++) {
		auto_permissions *p = read_back("p.yaml", readings[i].text);
		const struct node *tree = NULL;

		for (size_t budget = 1; !tree; budget += 16) {
			auto_arena a = { 0 };

			arena_init(&a, budget);
			tree = permissions_to_node(p, &a);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readings),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_too_many_guest_paths),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_made_by_code),
		cmocka_unit_test(test_canonical),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_printing_out_of_memory),
	};

	return cmocka_run_group_tests_name("permissions-text", tests, NULL, NULL);
}
