/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same work N times and nothing else, for those who count what it costs (tools/check-budget):
 * the difference between 2 N and N is N of it, whatever the start and the end take.
 *
 *     budget KIND N WARDEN
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <corral/sandbox.h>

#include "audit/event.h"
#include "audit/redact/redact.h"
#include "base/array.h"
#include "base/buffer.h"
#include "jail/limits/tally.h"
#include "measure.h"
#include "policy/format/manifest.h"
#include "policy/policy.h"

enum { MOST = 100000 };
static const char *warden;

static void fail(const struct error *e)
{
	measure_die(e->text[0] ? e->text : "out of memory");
}

static const char manifest[] =
	"permissions:\n"
	"  fs:\n"
	"    read: [/usr/**, /etc/**, ~/project/**, '/srv/*/public/**']\n"
	"    write: [~/project/build/**]\n"
	"    deny: [~/project/.env]\n"
	"  network:\n"
	"    allow: ['*.example.com:443', registry.npmjs.org, 10.1.0.0/16:5432]\n"
	"  exec: [/usr/bin/git, /usr/bin/python3]\n"
	"  env: [PATH, LANG, 'LC_*']\n";

static void parse(unsigned n)
{
	while (n-- > 0) {
		auto_manifest m = { 0 };
		struct error e = { 0 };

		if (manifest_read(&m, MANIFEST_UNKNOWN, "budget.yaml", manifest,
			    sizeof(manifest) - 1, &e) < 0)
			fail(&e);
	}
}

/* A long list of paths, read and compiled: what is counted is all of it. */
static void compile_rules(unsigned n)
{
	auto_buffer text = { 0 };

	buffer_adds(&text, "permissions:\n  fs:\n    read:\n");
	for (unsigned i = 0; i < 1000; i++)
		buffer_printf(&text, "      - /srv/project%u/data/folder%u/**\n", i % 10, i);
	while (n-- > 0) {
		auto_manifest m = { 0 };
		auto_policy *policy = NULL;
		struct error e = { 0 };

		if (manifest_read(&m, MANIFEST_UNKNOWN, "budget.yaml", buffer_text(&text), text.len,
			    &e) < 0 ||
			policy_new(&policy, (const struct permissions *const *)&m.permissions, 1,
				NULL, &e) < 0)
			fail(&e);
	}
}

static void decide(unsigned n)
{
	static const struct request requests[] = {
		{ .op = OPERATION_FS_READ,
			.target = "/usr/lib/python3/dist-packages/yaml/reader.py" },
		{ .op = OPERATION_FS_READ, .target = "/home/user/project/src/../.env" },
		{ .op = OPERATION_FS_READ, .target = "/srv/site/public/index.html" },
		{ .op = OPERATION_FS_WRITE, .target = "/home/user/project/build/main.o" },
		{ .op = OPERATION_NET_CONNECT, .target = "api.example.com:443" },
		{ .op = OPERATION_NET_CONNECT, .target = "169.254.169.254:80" },
		{ .op = OPERATION_EXEC, .target = "/usr/bin/git" },
		{ .op = OPERATION_ENV, .target = "LC_ALL" },
	};
	const struct variables variables = { .values = { [VARIABLE_HOME] = "/home/user" } };
	const struct policy_options options = { .variables = &variables };
	auto_manifest m = { 0 };
	auto_policy *policy = NULL;
	struct error e = { 0 };
	unsigned allowed = 0;

	if (manifest_read(&m, MANIFEST_UNKNOWN, "budget.yaml", manifest, sizeof(manifest) - 1, &e) <
			0 ||
		policy_new(&policy, (const struct permissions *const *)&m.permissions, 1, &options,
			&e) < 0)
		fail(&e);
	for (unsigned i = 0; i < n; i++) {
		struct decision d;

		if (policy_decide(policy, &requests[i % ROWS(requests)], &d) < 0)
			measure_die("policy_decide");
		allowed += d.verdict == VERDICT_ALLOW;
	}
	if (allowed < n / 2)
		measure_die("too little is allowed");
}

/* Redacted and encoded, as a trail does. */
static void tell(unsigned n)
{
	struct audit_event e = { .session = "5f0c2b9e-7a41",
		.user = "1000",
		.sandbox = "b-12",
		.program = "/usr/bin/node",
		.action = AUDIT_FS_READ,
		.decision = AUDIT_DENIED,
		.rule = "policy.yaml:12: ~/.ssh/**",
		.reason = "no rule grants it" };
	auto_buffer texts = { 0 }, bytes = { 0 };
	struct redactor *r = NULL;

	if (redactor_new(&r) < 0 || redactor_add(r, "TOKEN", "0123456789abcdef") < 0)
		measure_die("out of memory");
	for (unsigned i = 0; i < n; i++) {
		char target[64];
		struct audit_event one = e;

		(void)snprintf(target, sizeof(target), "/home/user/app/lib/index.js?v=%06u", i);
		one.target = target;
		buffer_clear(&texts);
		buffer_clear(&bytes);
		redact_event(r, &one, &texts);
		audit_event_encode(&one, &bytes);
	}
	redactor_free(r);
}

/* Looks at limits that the machine is far from: what each idle command costs, several times a
 * second. */
static void look(unsigned n)
{
	const struct tally_limits wide = { .memory = UINT64_C(1) << 60, .pids = UINT64_C(1) << 60 };
	struct tally_proc proc;

	if (tally_open(&proc) < 0)
		measure_die("/proc");
	while (n-- > 0)
		if (tally_check(&proc, &wide, NULL) != TALLY_WITHIN)
			measure_die("tally_check");
	tally_close(&proc);
}

static struct corral_builder *make_builder(void)
{
	struct corral_builder *b = NULL;

	if (corral_builder_new(&b) < 0)
		measure_die("out of memory");
	(void)corral_builder_warden(b, warden);
	(void)corral_builder_work_dir(b, "/usr");
	(void)corral_builder_allow_fs_read(b, "/usr/{,**}");
	(void)corral_builder_allow_fs_read(b, "/bin/{,**}");
	return b;
}

static struct corral_sandbox *build(struct corral_builder *b)
{
	struct corral_sandbox *sandbox = NULL;
	struct corral_error *e = NULL;

	if (corral_builder_build(b, &sandbox, &e) < 0)
		measure_die(corral_error_message(e));
	return sandbox;
}

static void run_commands(unsigned n)
{
	static const char *const argv[] = { "/bin/true", NULL };
	struct corral_builder *b = make_builder();
	struct corral_sandbox *sandbox = build(b);
	struct corral_call call = CORRAL_CALL;
	struct corral_error *e = NULL;
	int null[3];

	for (size_t i = 0; i < 3; i++)
		null[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
	call.stdio = null;
	for (unsigned i = 0; i < n; i++) {
		struct corral_result *result = NULL;

		if (corral_sandbox_execute_argv(sandbox, argv, &call, &result, &e) < 0)
			measure_die(corral_error_message(e));
		corral_result_free(result);
	}
	corral_sandbox_free(sandbox);
	corral_builder_free(b);
}

static void build_sessions(unsigned n)
{
	struct corral_builder *b = make_builder();

	while (n-- > 0)
		corral_sandbox_free(build(b));
	corral_builder_free(b);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(unsigned n);
	} kinds[] = {
		{ "parse", parse },
		{ "rules", compile_rules },
		{ "decide", decide },
		{ "tell", tell },
		{ "look", look },
		{ "command", run_commands },
		{ "session", build_sessions },
	};
	unsigned n = argc == 4 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;

	if (n == 0 || n > MOST)
		measure_die("usage: budget parse|rules|decide|tell|look|command|session N WARDEN");
	warden = measure_path(argv[3]);
	for (size_t i = 0; i < ROWS(kinds); i++) {
		if (strcmp(kinds[i].name, argv[1]) == 0) {
			kinds[i].run(n);
			return 0;
		}
	}
	measure_die("there is no such kind of work");
}
