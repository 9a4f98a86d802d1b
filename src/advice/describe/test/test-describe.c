/* SPDX-License-Identifier: Apache-2.0 */
/* Permissions as they are written, and what a person is told about them. */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "policy/format/manifest.h"
#include "advice/describe/describe.h"
#include "test/failing.h"

FAILING_MALLOC
FAILING_CALLOC
FAILING_REALLOC

static void read_text(struct manifest *m, const char *text)
{
	struct error e = { 0 };
	auto_buffer message = { 0 };

	if (manifest_read(m, MANIFEST_PERMISSIONS, "p.yaml", text, strlen(text), &e) == 0)
		return;
	error_print(&e, &message);
	fail_msg("%s: %s", text, buffer_text(&message));
}

static void describe_text(
	struct arena *a, const char *text, const struct variables *vars, struct description *ret)
{
	auto_manifest m = { 0 };

	read_text(&m, text);
	assert_int_equal(describe_permissions(m.permissions, vars, a, ret), 0);
}

static const struct description_section *find(const struct description *d, const char *title)
{
	for (size_t i = 0; i < d->n; i++) {
		if (strcmp(d->sections[i].title, title) == 0)
			return &d->sections[i];
	}
	fail_msg("no section %s", title);
	return NULL;
}

static void join(const struct description_lines *lines, struct buffer *out)
{
	for (size_t i = 0; i < lines->n; i++)
		buffer_printf(out, "%s%s", i ? " | " : "", lines->items[i]);
}

/* Words: all lines of one section, with bars between them. */

#define READ "What it could read"
#define CHANGE "What it could change"
#define REACH "What it could reach"
#define RUN "What it could run"
#define SEE "Variables it sees"
#define USE "Services it could use"
#define SECRET "Secrets it could use"
#define LIFTED "What the baseline no longer protects"
#define LIMITS "Limits"
#define HELPERS " | with these also the interpreters and helper programs that they need"

static const struct {
	const char *text, *title, *lines;
} words[] = {
	/* files */
	{ "{}", READ, "nothing" },
	{ "fs: {read: [$SKILL_DIR/**]}", READ, "read everything in its own folder" },
	{ "fs: {read: [$WORK_DIR/src/**, $WORK_DIR/a.txt]}", READ,
		"read everything in src in the working folder | read a.txt in the working folder" },
	{ "fs: {read: [$SKILL_DIR, /srv/**, /srv/x]}", READ,
		"read its own folder itself, not what lies in it | read everything in /srv | read "
		"/srv/x" },
	{ "fs: {read: [/**]}", READ, "read everything on this machine" },
	{ "fs: {read: ['/srv/*.txt', '$TEMP/*.txt']}", READ,
		"read all that matches /srv/*.txt | "
		"read all that matches *.txt in the folder for temporary files" },
	{ "fs: {read: ['/srv/{a,b}/**', '$SHARED_DIR/{a,b}']}", READ,
		"read all that matches /srv/{a,b}/** | read all that matches {a,b} in the shared "
		"folder" },
	{ "fs: {read: ['~/a\\*b']}", READ, "read a*b in your home folder (/home/me)" },
	{ "fs: {read: [{all: [/srv/**, '/**/*.c']}]}", READ,
		"read everything in /srv; and at the same time all that matches /**/*.c" },
	{ "fs: {read: [/srv/**], write: [$DATA_DIR/**], deny: [/srv/x]}", READ,
		"read everything in /srv | read everything in its data folder | except /srv/x" },
	{ "fs: {read: [/srv/**]}", CHANGE, "nothing" },
	{ "fs: {write: [$DATA_DIR/**], deny: [$DATA_DIR/x]}", CHANGE,
		"change, create and delete everything in its data folder | except x in its data "
		"folder" },
	{ "guest_paths: [{guest: /in, host: $WORK_DIR/in, mode: ro}, {guest: /out, host: /srv/out, "
	  "mode: rw}]",
		READ,
		"read everything in in in the working folder, as /in | read everything in "
		"/srv/out, as /out" },
	{ "guest_paths: [{guest: /in, host: $WORK_DIR, mode: ro}, {guest: /out, host: $WORK_DIR, "
	  "mode: rw}]",
		CHANGE, "change, create and delete everything in the working folder, as /out" },

	/* network */
	{ "{}", REACH, "nothing" },
	{ "network: {allow: ['api.example.com:443']}", REACH,
		"connect to api.example.com on port 443 (HTTPS)" },
	{ "network: {allow: ['*.example.com:1000-2000', 'example.com']}", REACH,
		"connect to any subdomain of example.com on ports 1000 to 2000 | connect to "
		"example.com on any port" },
	{ "network: {allow: ['*:80', 'udp://*:53']}", REACH,
		"connect to any public host on port 80 (HTTP, not encrypted) | "
		"connect to any public host on port 53 by UDP" },
	{ "network: {allow: ['localhost:3000', '10.1.0.0/16:5432', '9.9.9.9:853']}", REACH,
		"connect to this machine (localhost, 127.0.0.1, ::1) on port 3000 | "
		"connect to any address in 10.1.0.0/16 on port 5432 (PostgreSQL); it is a private "
		"network | "
		"connect to the address 9.9.9.9 on port 853 (DNS)" },
	{ "network: {listen: [80, '8080:80', '0.0.0.0:9', '127.0.0.1:7']}", REACH,
		"accept connections on port 80 | accept connections on port 8080, which is port 80 "
		"inside | accept connections on port 9, also from other machines | accept "
		"connections on port 7" },
	{ "network: {allow: ['example.com:443'], inspect: ['example.com:443']}", REACH,
		"connect to example.com on port 443 (HTTPS) | of example.com:443, HTTP requests "
		"alone, each checked inside TLS" },
	{ "network: {private: ['db.example.com:5432']}", REACH,
		"connect to db.example.com on port 5432 (PostgreSQL), also if it leads to a "
		"private address" },
	{ "network: {allow: ['unix:/run/x.sock']}", REACH,
		"connect to whatever listens at /run/x.sock, outside of the sandbox" },
	{ "network: {allow: ['https://example.com/v1/**']}", REACH,
		"connect to example.com on port 443 (HTTPS), only for paths that match /v1/** "
		"where Corral itself speaks HTTP" },
	{ "network: {allow: ['*:443'], deny: ['example.com:443'], listen: [8080]}", REACH,
		"connect to any public host on port 443 (HTTPS) | accept connections on port 8080 "
		"| "
		"except example.com on port 443 (HTTPS)" },
	{ "network: {allow: ['a.b:443'], rate_limit: 10/min, max_bytes: 1M, max_request_size: 2K, "
	  "methods: [GET, HEAD]}",
		REACH,
		"connect to a.b on port 443 (HTTPS) | new connections: at most 10/min | "
		"bytes to and from each host: at most 1M | "
		"bytes of a request, where Corral itself speaks HTTP: at most 2K | "
		"methods, where Corral itself speaks HTTP: only GET, HEAD" },

	/* programs */
	{ "{}", RUN, "run any program that it can read, also one that it has written itself" },
	{ "exec: []", RUN, "nothing" },
	{ "exec: [jq, 'jq .:*', 'jq -r:', 'jq:']", RUN,
		"run jq | run jq with arguments that start with . | run jq with exactly the "
		"arguments -r | "
		"run jq without arguments" HELPERS },
	{ "exec: [/opt/x, '/opt/tools/**', '*', '$SKILL_DIR/bin/*']", RUN,
		"run /opt/x | run any program in /opt/tools | run any program on this machine | "
		"run all that matches bin/* in its own folder" HELPERS },
	{ "exec: [bash, sudo]", RUN,
		"run bash | run sudo" HELPERS " | note that sudo runs commands as another user | "
		"note that bash is a shell and runs any command" },

	/* variables, services, the rest */
	{ "{}", SEE, "nothing" },
	{ "env: [PATH, 'LC_*', A=secret, '*']", SEE,
		"see PATH | see every variable whose name matches LC_* | "
		"see A, with a value that the policy sets | see every variable" },
	{ "{}", USE, "nothing" },
	{ "services: {browser: {access: open, domains: [a.example, b.example]}, clipboard: true}",
		USE,
		"use browser: open; domains: a.example, b.example | use clipboard: read and write; "
		"nothing narrows it" },
	{ "services: {calendar: {access: read, calendars: [Work], range: 7d}, reminders: {access: "
	  "read, lists: []}}",
		USE,
		"use calendar: read; calendars: Work; at most 7d from now | use reminders: read; "
		"lists: none" },
	{ "services: {reminders: {access: read, lists: [{all: ['W*', '*k']}]}}", USE,
		"use reminders: read; lists: W* and also *k" },
	{ "mode: monitor", SECRET, "nothing" },
	{ "secrets: {A: {hosts: [a.example:443], in: [query]}}", SECRET,
		"use A, which it does not see, at a.example:443, in the query of requests" },
	{ "{}", LIFTED, "nothing is lifted" },
	{ "dangerously_allow: [~/.ssh/config]", LIFTED,
		"if it is granted above: .ssh/config in your home folder (/home/me)" },
	{ "{}", LIMITS,
		"no limit on time, memory, processes, output, the size of files, open files, fuel "
		"(WASM), memory of a WASM module" },
	{ "limits: {timeout: 30s, memory: 1G, pids: 8, output: 1M, file_size: 2M, open_files: 64, "
	  "fuel: 9, wasm_memory: 16M}",
		LIMITS,
		"is stopped after 30s | memory: at most 1G | processes: at most 8 | output: at "
		"most 1M | "
		"size of a file: at most 2M | open files: at most 64 | fuel (WASM): at most 9 | "
		"memory of a WASM module: at most 16M" },
	{ "limits: {pids: 0}", LIMITS,
		"processes: at most 0 | no limit on time, memory, output, the size of files, open "
		"files, fuel (WASM), memory of a WASM module" },

	/* rules */
	{ "rules: [{id: a, action: allow, operations: [fs.read], patterns: [/srv/**]}]", READ,
		"read everything in /srv (rule a)" },
	{ "{fs: {read: [/srv/**]}, rules: [{id: a, action: deny, priority: 1, operations: "
	  "[fs.read], patterns: [/srv/x]}]}",
		READ, "read everything in /srv | except /srv/x (rule a)" },
	{ "rules: [{id: a, action: deny, priority: 1, operations: [fs.read], patterns: [/srv/x]}, "
	  "{id: b, action: allow, priority: 2, operations: [fs.read], patterns: [/srv/**]}]",
		READ,
		"read everything in /srv (rule b) | except /srv/x, unless a stronger rule lets it "
		"pass (rule a)" },
	{ "rules: [{id: a, action: ask, operations: [exec], patterns: [git]}]", RUN,
		"if you agree when asked: run git (rule a)" HELPERS },
	{ "rules: [{id: a, action: allow, operations: [net.connect], patterns: ['a.b:443'], "
	  "methods: [GET, PUT]}]",
		REACH, "connect to a.b on port 443 (HTTPS), with the methods GET, PUT (rule a)" },
	{ "rules: [{id: a, action: allow, operations: [service], patterns: ['*', calendar.read]}]",
		USE, "use every service (rule a) | use calendar.read (rule a)" },
	{ "rules: [{id: a, action: allow, operations: [env], patterns: [A], enabled: false}]", SEE,
		"nothing" },

	/* what nobody named */
	{ "{fs: {deny: [/srv/x]}, default: allow}", READ,
		"read anything else that no rule names | except /srv/x" },
	{ "default: ask", CHANGE,
		"if you agree when asked: change, create and delete anything else" },
	{ "{mode: audit, exec: [git]}", SEE, "see anything else that no rule forbids" },
	{ "{fs: {deny: [/srv/x]}, mode: monitor}", READ,
		"read anything: this layer only watches, and blocks nothing" },
	{ "mode: monitor", RUN, "run anything: this layer only watches, and blocks nothing" },
};

static void test_words(void **state)
{
	const struct variables vars = { .values = { [VARIABLE_HOME] = "/home/me" } };

	(void)state;
	for (size_t i = 0; i < ROWS(words); i++) {
		auto_arena a = { 0 };
		auto_buffer out = { 0 };
		struct description d = { 0 };

		describe_text(&a, words[i].text, &vars, &d);
		assert_int_equal(d.n, 9);
		join(&find(&d, words[i].title)->lines, &out);
		assert_string_equal(buffer_text(&out), words[i].lines);
	}
}

static void test_layers(void **state)
{
	auto_arena a = { 0 };
	auto_buffer out = { 0 };
	struct description d = { 0 };

	(void)state;
	describe_text(&a, "all_of: [{fs: {read: [/srv/**]}}, {all_of: [{fs: {read: [/opt/**]}}]}]",
		NULL, &d);
	assert_int_equal(d.n, 19);
	join(&find(&d, "Layers")->lines, &out);
	assert_string_equal(
		buffer_text(&out), "2 layers follow; only what all of them allow is allowed");
	assert_string_equal(find(&d, "What it could read (layer 1 of 2)")->lines.items[0],
		"read everything in /srv");
	assert_string_equal(find(&d, "What it could read (layer 2 of 2)")->lines.items[0],
		"read everything in /opt");
}

/* Permissions that were made by code hold whatever code put there. */
static void test_made_by_code(void **state)
{
	static const struct {
		const char *title, *lines;
	} rows[] = {
		{ READ, "read “$NOBODY/x”, which is not a valid pattern | read “/[”, which is "
			"not a valid pattern | read everything in $NOBODY, as /g | read "
			"/srv/\\x1b[31m (rule without an id)" },
		{ REACH, "connect to “a b”, which is not a valid host" },
		{ RUN, "run “python*”, which is not a valid command" HELPERS },
		{ USE, "nothing" },
	};
	auto_permissions *p = permissions_new();
	struct rule rule = { .action = VERDICT_ALLOW, .operations = 1u << OPERATION_FS_READ };
	struct guest_path guest = { .guest = "/g", .host = "$NOBODY" };
	struct service none = { .name = "email" };
	auto_arena a = { 0 };
	struct description d = { 0 };

	(void)state;
	p->exec_listed = true;
	assert_int_equal(permissions_add(p, &p->fs_read, "$NOBODY/x", NULL), 0);
	assert_int_equal(permissions_add(p, &p->fs_read, "/[", NULL), 0);
	assert_int_equal(permissions_add(p, &p->network_allow, "a b", NULL), 0);
	assert_int_equal(permissions_add(p, &p->exec, "python*", NULL), 0);
	assert_int_equal(permissions_add(p, &rule.patterns, "/srv/\x1b\\[31m", NULL), 0);
	assert_int_equal(permissions_add_rule(p, &rule), 0);
	assert_int_equal(permissions_add_guest_path(p, &guest), 0);
	assert_int_equal(permissions_add_service(p, &none), 0);
	assert_int_equal(describe_permissions(p, NULL, &a, &d), 0);
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer out = { 0 };

		join(&find(&d, rows[i].title)->lines, &out);
		assert_string_equal(buffer_text(&out), rows[i].lines);
	}
	assert_int_equal(d.risk, RISK_HIGH);
}

/* Ratings */

static const struct {
	const char *text;
	enum risk risk;
	const char *reason; /* one of them */
} ratings[] = {
	{ "{}", RISK_LOW, "touches only its own files and what it needs to run" },
	{ "fs: {read: [$SKILL_DIR/**, /usr/**], write: [$DATA_DIR/**]}", RISK_LOW,
		"touches only its own files and what it needs to run" },
	{ "fs: {read: [$WORK_DIR/**]}", RISK_LOW,
		"could read what is not its own, but send it nowhere" },
	{ "services: {email: {access: send, recipients: [me]}}", RISK_LOW,
		"could send mail or open pages, with nothing of yours in them" },
	{ "{network: {allow: ['a.b:443']}, exec: []}", RISK_LOW,
		"could reach the hosts that are named, with nothing of yours to send" },

	{ "network: {allow: ['a.b:443']}", RISK_MEDIUM,
		"could fetch code from the hosts that it may reach and run it" },
	{ "network: {private: ['a.b:443']}", RISK_HIGH,
		"could attack services of this machine or of a private network" },
	{ "{network: {listen: [80]}}", RISK_MEDIUM,
		"could fetch code from the hosts that it may reach and run it" },
	{ "{fs: {read: [$WORK_DIR/**]}, network: {allow: ['a.b:443']}, exec: []}", RISK_MEDIUM,
		"could send what it may read to the hosts that it may reach" },
	{ "{fs: {read: [{all: [$WORK_DIR/**, $SKILL_DIR/**]}]}, network: {allow: ['a.b:443']}, "
	  "exec: []}",
		RISK_LOW, "could reach the hosts that are named, with nothing of yours to send" },
	{ "{services: {calendar: {access: read}, email: {access: send, recipients: [me]}}}",
		RISK_MEDIUM, "could send what it may read out by mail or browser" },
	{ "services: {reminders: {access: write}}", RISK_MEDIUM,
		"could change or delete what is not its own" },
	{ "fs: {write: [$WORK_DIR/a]}", RISK_MEDIUM, "could change or delete what is not its own" },
	{ "guest_paths: [{guest: /x, host: $WORK_DIR/x, mode: ro}]", RISK_LOW,
		"could read what is not its own, but send it nowhere" },
	{ "fs: {read: [/**]}", RISK_MEDIUM, "could read a whole home, or every file" },
	{ "{network: {allow: ['*:443']}, exec: [jq]}", RISK_MEDIUM,
		"could reach hosts of strangers" },
	{ "{network: {allow: ['localhost:1']}, exec: [jq]}", RISK_MEDIUM,
		"could reach this machine or a private network" },
	{ "env: [GITHUB_TOKEN]", RISK_MEDIUM, "could see secrets" },
	{ "secrets: {A: {hosts: [a.example:443]}}", RISK_MEDIUM,
		"could act with secrets of the vault at the hosts that they are named for" },
	{ "env: [LD_PRELOAD]", RISK_MEDIUM, "variables make its programs load other code" },
	{ "services: {clipboard: true}", RISK_MEDIUM, "could use a service without a bound" },
	{ "env: [A=ghp_0123456789abcdefghij]", RISK_MEDIUM,
		"a secret is written into the permissions" },

	{ "dangerously_allow: [~/.ssh/config]", RISK_HIGH, "a part of the baseline is lifted" },
	{ "{network: {allow: ['unix:/tmp/.X11-unix/X0']}, exec: [jq]}", RISK_HIGH,
		"could act as you: with your keys, on your screen, in your programs" },
	{ "fs: {write: [$WORK_DIR/**]}", RISK_MEDIUM,
		"could leave code behind that runs later, outside of the sandbox" },
	{ "fs: {write: [/var/**]}", RISK_HIGH, "could change files of the system" },
	{ "{env: [GITHUB_TOKEN], network: {allow: ['a.b:443']}}", RISK_HIGH,
		"could send secrets to the hosts that it may reach" },
	{ "{env: [GITHUB_TOKEN], services: {browser: {access: open, domains: [a.b]}}}", RISK_HIGH,
		"could send secrets out by mail or browser" },
	{ "{fs: {read: [~/]}, network: {allow: ['a.b:443']}}", RISK_HIGH,
		"could send nearly every file to the hosts that it may reach" },
	{ "{fs: {read: [~/]}, services: {browser: {access: open, domains: [a.b]}}}", RISK_HIGH,
		"could send nearly every file out by mail or browser" },
	{ "{fs: {read: [$WORK_DIR/**]}, network: {allow: ['*:443']}, exec: []}", RISK_HIGH,
		"could send what it may read to any host" },
	{ "{network: {allow: ['*:443']}}", RISK_HIGH, "could fetch code from anywhere and run it" },
	{ "{network: {allow: ['10.0.0.1:1']}, exec: [bash]}", RISK_HIGH,
		"could attack services of this machine or of a private network" },

	{ "default: allow", RISK_CRITICAL,
		"what no rule names is not blocked, so nearly everything is possible" },
	{ "mode: monitor", RISK_CRITICAL,
		"what no rule names is not blocked, so nearly everything is possible" },
	{ "exec: [sudo]", RISK_CRITICAL,
		"could take over the machine, and with it everything else" },
	{ "network: {allow: ['unix:/run/docker.sock']}", RISK_CRITICAL,
		"could take over the machine, and with it everything else" },
	{ "fs: {write: [~/]}", RISK_CRITICAL,
		"could change or delete a whole home, or every file" },
	{ "{dangerously_allow: [~/.ssh/config], network: {allow: ['a.b:443']}}", RISK_CRITICAL,
		"could read what the baseline protects, such as keys, and send it out" },
	{ "{dangerously_allow: [~/.ssh/config], services: {email: {access: send, recipients: "
	  "[me]}}}",
		RISK_CRITICAL,
		"could read what the baseline protects, such as keys, and send it out" },
	{ "{env: ['*'], network: {allow: ['*:443']}}", RISK_CRITICAL,
		"could send secrets to any host" },
	{ "{fs: {read: [/**]}, network: {allow: ['*:443']}}", RISK_CRITICAL,
		"could send nearly every file to any host" },

	/* rules count as lists do; what a person is asked about does not */
	{ "rules: [{id: a, action: allow, operations: [fs.write], patterns: [$WORK_DIR/a]}]",
		RISK_MEDIUM, "could change or delete what is not its own" },
	{ "rules: [{id: a, action: ask, operations: [fs.write], patterns: [$WORK_DIR/a]}]",
		RISK_LOW, "touches only its own files and what it needs to run" },
	{ "rules: [{id: a, action: allow, operations: [service], patterns: ['vault:a', "
	  "'browser:a.b']}]",
		RISK_MEDIUM, "could send what it may read out by mail or browser" },
	{ "services: {vault: {access: read, secrets: [a]}}", RISK_MEDIUM,
		"could act with secrets of the vault at the hosts that they are named for" },
	{ "rules: [{id: a, action: allow, operations: [service], patterns: ['*']}]", RISK_MEDIUM,
		"could send what it may read out by mail or browser" },
	{ "{network: {allow: ['a.b:443']}, rules: [{id: a, action: allow, operations: [exec], "
	  "patterns: [jq]}]}",
		RISK_LOW, "could reach the hosts that are named, with nothing of yours to send" },
	{ "{network: {allow: ['a.b:443']}, rules: [{id: a, action: allow, operations: [exec], "
	  "patterns: [jq], "
	  "enabled: false}]}",
		RISK_MEDIUM, "could fetch code from the hosts that it may reach and run it" },

	/* layers: what each of them allows */
	{ "all_of: [{fs: {read: [/**]}}, {network: {allow: ['*:443']}}]", RISK_LOW,
		"touches only its own files and what it needs to run" },
	{ "all_of: [{default: allow}, {fs: {write: [$WORK_DIR/a]}}]", RISK_MEDIUM,
		"could change or delete what is not its own" },
	{ "all_of: [{mode: monitor}, {default: allow}]", RISK_CRITICAL,
		"what no rule names is not blocked, so nearly everything is possible" },
};

static bool has_reason(const struct description *d, const char *reason)
{
	for (size_t i = 0; i < d->reasons.n; i++) {
		if (strcmp(d->reasons.items[i], reason) == 0)
			return true;
	}
	return false;
}

static void test_ratings(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(ratings); i++) {
		auto_arena a = { 0 };
		struct description d = { 0 };

		describe_text(&a, ratings[i].text, NULL, &d);
		if (d.risk != ratings[i].risk || !has_reason(&d, ratings[i].reason))
			fail_msg("%s: %s, %s", ratings[i].text, describe_risk_name(d.risk),
				d.reasons.items[0]);
	}
}

/* A folder is what its variable stands for. */
static void test_rating_by_value(void **state)
{
	static const struct {
		const char *work;
		enum risk risk;
	} rows[] = { { NULL, RISK_MEDIUM }, { "/home/me/x", RISK_MEDIUM },
		{ "/home/me", RISK_HIGH }, { "/", RISK_HIGH } };

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		const struct variables vars = { .values = { [VARIABLE_WORK_DIR] = rows[i].work } };
		auto_arena a = { 0 };
		struct description d = { 0 };

		describe_text(&a, "{fs: {read: [$WORK_DIR/**]}, network: {allow: ['a.b:443']}}",
			&vars, &d);
		assert_int_equal(d.risk, rows[i].risk);
	}
}

/* More than can be looked at is never called harmless, alone or among layers. */
static void test_too_long(void **state)
{
	auto_permissions *p = permissions_new(), *both = permissions_new();
	auto_permissions *narrow = permissions_new();
	auto_arena a = { 0 };
	struct description d = { 0 };
	char text[32];

	(void)state;
	for (size_t i = 0; i < 700; i++) {
		(void)snprintf(text, sizeof(text), "/usr/%zu", i);
		assert_int_equal(permissions_add(p, &p->fs_read, text, NULL), 0);
	}
	assert_int_equal(describe_permissions(p, NULL, &a, &d), 0);
	assert_int_equal(d.risk, RISK_HIGH);
	assert_int_equal(permissions_add(narrow, &narrow->fs_write, "$WORK_DIR/a", NULL), 0);
	assert_int_equal(permissions_add_layer(both, p), 0);
	assert_int_equal(permissions_add_layer(both, narrow), 0);
	assert_int_equal(describe_permissions(both, NULL, &a, &d), 0);
	assert_int_equal(d.risk, RISK_MEDIUM);
	assert_true(has_reason(&d, "could change or delete what is not its own"));
}

static void test_scan(void **state)
{
	static const struct {
		const char *text;
		size_t counts[SKILL_HIGH + 1];
		enum risk risk;
		const char *reason;
	} rows[] = {
		{ "{}", { 0, 0, 0 }, RISK_LOW,
			"touches only its own files and what it needs to run" },
		{ "{}", { 2, 0, 0 }, RISK_LOW,
			"its files hold 2 odd places; read them before you approve" },
		{ "{}", { 0, 1, 0 }, RISK_MEDIUM,
			"its files hold 1 doubtful place; read it before you approve" },
		{ "{}", { 9, 9, 1 }, RISK_HIGH,
			"its files hold 1 dangerous place; read it before you approve" },
		{ "env: [GITHUB_TOKEN]", { 0, 3, 0 }, RISK_MEDIUM,
			"its files hold 3 doubtful places; read them before you approve" },
		{ "env: [GITHUB_TOKEN]", { 0, 0, 1 }, RISK_HIGH, "could see secrets" },
		{ "fs: {write: [/var/**]}", { 0, 5, 0 }, RISK_HIGH,
			"could change files of the system" },
		{ "fs: {write: [/var/**]}", { 0, 0, 1 }, RISK_CRITICAL,
			"could change files of the system" },
		{ "fs: {write: [/**]}", { 1, 1, 1 }, RISK_CRITICAL,
			"could change or delete a whole home, or every file" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_arena a = { 0 };
		struct description d = { 0 };

		describe_text(&a, rows[i].text, NULL, &d);
		assert_int_equal(describe_rate(&d, rows[i].counts, &a), 0);
		assert_int_equal(d.risk, rows[i].risk);
		assert_true(has_reason(&d, rows[i].reason));
	}
}

static void test_names(void **state)
{
	static const char *const names[] = { "low", "medium", "high", "critical" };

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_string_equal(describe_risk_name((enum risk)i), names[i]);
}

/* Out of memory */

static const char everything[] =
	"all_of:\n"
	"  - fs: {read: [$SKILL_DIR/**, {all: [/a, '/*']}], write: [/srv/**], deny: [/srv/x]}\n"
	"    network: {allow: ['*', 'https://a.b/c/**'], listen: [1], rate_limit: 1/s, max_bytes: "
	"1, methods: [GET]}\n"
	"    exec: [bash, '/opt/**', 'a b:*']\n"
	"    env: ['*', A=1, 'B*']\n"
	"    services: {calendar: {access: read, calendars: [x], range: 1d}}\n"
	"    guest_paths: [{guest: /a, host: $TEMP, mode: rw}]\n"
	"    dangerously_allow: [~/.ssh/x]\n"
	"    limits: {timeout: 1s}\n"
	"    rules: [{id: a, action: deny, operations: [net.connect], patterns: [a.b], methods: "
	"[GET]}]\n"
	"  - default: ask\n";

static int describe_and_rate(const struct permissions *p, struct arena *a)
{
	const size_t counts[] = { 1, 1, 1 };
	struct description d = { 0 };
	int r = describe_permissions(p, NULL, a, &d);

	assert_true(r == 0 || (d.n == 0 && d.reasons.n == 0));
	return r < 0 ? r : describe_rate(&d, counts, a);
}

static void test_small_arenas(void **state)
{
	auto_manifest m = { 0 };
	int r = -ENOMEM;

	(void)state;
	read_text(&m, everything);
	for (size_t budget = 16; r < 0; budget += 32) {
		auto_arena a = { 0 };

		arena_init(&a, budget);
		r = describe_and_rate(m.permissions, &a);
		assert_true(r == 0 || r == -ENOMEM);
		assert_true(budget < 1 << 20);
	}
}

static void test_out_of_memory(void **state)
{
	auto_manifest m = { 0 };
	int r = -ENOMEM;

	(void)state;
	read_text(&m, everything);
	failing_stays = true;
	for (long n = 1; r < 0; n += 1 + n / 64) {
		auto_arena a = { 0 };

		failing_start(n - 1);
		r = describe_and_rate(m.permissions, &a);
		failing_stop();
		assert_true(r == 0 || r == -ENOMEM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_layers),
		cmocka_unit_test(test_made_by_code),
		cmocka_unit_test(test_ratings),
		cmocka_unit_test(test_rating_by_value),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_scan),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_small_arenas),
		cmocka_unit_test(test_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
