/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/test/test-property.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "policy/format/permissions-text.h"

/* SplitMix64. */
static uint64_t next(struct random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

struct random random_start(uint64_t seed)
{
	const char *more = getenv("CORRAL_TEST_SEED");

	return (struct random){ seed + (more ? strtoull(more, NULL, 10) * 1000003 : 0) };
}

unsigned random_pick(struct random *r, unsigned n)
{
	return (unsigned)(next(r) % n);
}

bool random_one_in(struct random *r, unsigned n)
{
	return random_pick(r, n) == 0;
}

#define ONE_OF(r, table) ((table)[random_pick(r, ROWS(table))])

/* The world */

const struct variables random_variables = {
	.values = {
		[VARIABLE_SKILL_DIR] = "/c",
		[VARIABLE_WORK_DIR] = "/b",
		[VARIABLE_DATA_DIR] = "/a*",
		[VARIABLE_SHARED_DIR] = "/ab/c",
		[VARIABLE_HOME] = "/a/b",
		[VARIABLE_TEMP] = "/",
	},
};

static const struct naive_program programs[] = {
	{ "git", { "/bin/git", "/lib/git" } },
	{ "ls", { "/bin/ls" } },
	{ "/bin/git", { "/lib/git" } },
	{ "/bin/ls", { "/bin/ls" } },
	{ "/opt/a", { "/opt/b/x" } },
};

const struct naive_world random_world = { &random_variables, programs, ROWS(programs) };
const struct naive_world random_bare_world = { &random_variables, NULL, 0 };

static int find_programs(
	void *context, const char *name, int (*found)(void *data, const char *path), void *data)
{
	(void)context;
	for (size_t i = 0; i < ROWS(programs); i++) {
		if (strcmp(programs[i].name, name) != 0)
			continue;
		for (size_t k = 0; k < NAIVE_FILES_MAX && programs[i].files[k]; k++) {
			int r = found(data, programs[i].files[k]);

			if (r < 0)
				return r;
		}
		return 0;
	}
	return -ENOENT;
}

static const struct resolver resolver = { .programs = find_programs };

const struct policy_options random_options = { .variables = &random_variables,
	.resolver = &resolver };
const struct policy_options random_bare_options = { .variables = &random_variables,
	.resolver = NULL };

/* Patterns */

typedef void pattern_fn(struct random *r, unsigned what, struct buffer *out);

static void path_pattern(struct random *r, unsigned what, struct buffer *out)
{
	static const char *const parts[] = { "a", "b", "c", "ab", "*", "?", "[ab]", "[!a]", "a*",
		"*b", "**", "**", "{a,b}", "{a,b/c}", ".a", ".*", "a?", "{,a}b", "\\a", "a\\*",
		"[[:digit:]a-b]", "*b*" };
	static const char *const starts[] = { "$HOME", "${HOME}", "$WORK_DIR", "$TEMP", "$DATA_DIR",
		"$SKILL_DIR", "$SHARED_DIR", "~" };
	static const char *const wholes[] = { "/**", "/", "**", "/bin/**", "/opt/*", "/lib/git",
		"/bin/git", "/etc/**", "$HOME/.ssh/**", "/root/.netrc", "**/git", "/home/**" };
	unsigned n = random_pick(r, 4);

	(void)what;
	if (random_one_in(r, 4)) {
		buffer_adds(out, ONE_OF(r, wholes));
		return;
	}
	/* A bare "~" is left out: as a program with arguments it would be a name. */
	if (random_one_in(r, 5))
		buffer_adds(out, starts[random_pick(r, n ? ROWS(starts) : ROWS(starts) - 1)]);
	else
		n++;
	for (unsigned i = 0; i < n; i++)
		buffer_printf(out, "/%s", ONE_OF(r, parts));
	/* "$TEMP/" is left out: is it the root, or all below? Files say "$TEMP/**". */
	if (random_one_in(r, 6))
		buffer_adds(out, random_one_in(r, 2) || n == 0 ? "/**" : "/");
}

static void host_pattern(struct random *r, unsigned what, struct buffer *out)
{
	static const char *const hosts[] = { "h.com", "a.h.com", "b.a.h.com", "*.h.com",
		"*.a.h.com", "*.com", "*", "localhost", "*.localhost", "x.local", "*.local",
		"corp.internal", "metadata.google.internal", "8.8.8.8", "8.8.0.0/16", "8.0.0.0/6",
		"0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "127.0.0.1", "127.0.0.0/8",
		"169.254.0.0/16", "[2606:4700::1]", "[2606:4700::]/32", "[::]/0", "[::1]",
		"[fd00::]/8", "H.COM", "a.h.com." };
	static const char *const ports[] = { "", "", ":443", ":80", ":1-1024", ":400-500", ":*",
		":1-65534" };
	static const char *const urls[] = { "https://h.com/v1/**", "https://h.com/*/x",
		"http://h.com/", "https://*.h.com/v1/x", "https://h.com/**", "http://10.1.2.3/v1",
		"https://h.com:8443/v1/*", "https://*/v1/**" };
	static const char *const sockets[] = { "unix:/run/a", "unix:/run/b" };

	if (random_one_in(r, 12)) {
		buffer_adds(out, ONE_OF(r, sockets));
	} else if (!(what & RANDOM_NO_URL) && random_one_in(r, 8)) {
		buffer_adds(out, ONE_OF(r, urls));
	} else {
		if (random_one_in(r, 6))
			buffer_adds(out, "udp://");
		buffer_adds(out, ONE_OF(r, hosts));
		buffer_adds(out, ONE_OF(r, ports));
	}
}

static const char *const argument_patterns[] = { "", "", "", ":*", ":", " push", " push:*",
	" push:", " push -f:*", " pull", " push\\ x:" };

/* Programs by name and by path; a glob with arguments too. */
static void command_pattern(struct random *r, unsigned what, struct buffer *out)
{
	static const char *const words[] = { "git", "git", "ls", "sh", "/bin/git", "/bin/ls",
		"/lib/git", "/opt/a", "/bin/*", "/opt/**", "/opt/", "*", "/**", "/{bin,opt}/git",
		"/a/b", "$HOME/x", "$WORK_DIR/**", "/opt/?", "/bin/\\git", "/opt/a\\ b" };

	(void)what;
	buffer_adds(out, ONE_OF(r, words));
	buffer_adds(out, ONE_OF(r, argument_patterns));
}

/* What may stand beside others in an entry where hops are followed: no literal paths. */
static void command_glob(struct random *r, unsigned what, struct buffer *out)
{
	static const char *const words[] = { "git", "git", "ls", "/bin/*", "/opt/**", "/**",
		"/lib/**", "/*/git" };

	(void)what;
	buffer_adds(out, ONE_OF(r, words));
	buffer_adds(out, ONE_OF(r, argument_patterns));
}

static void env_pattern(struct random *r, unsigned what, struct buffer *out)
{
	static const char *const words[] = { "A", "AB", "B", "A*", "*", "?", "*B", "A?", "A=1",
		"A=2", "AB=", "B=/x/y" };

	(void)what;
	buffer_adds(out, ONE_OF(r, words));
}

static void service_pattern(struct random *r, unsigned what, struct buffer *out)
{
	static const char *const words[] = { "reminders", "reminders.read", "reminders.write",
		"reminders:Work", "reminders.read:Home", "*", "email:x", "email", "clipboard.read",
		"calendar", "calendar.write:x" };
	static const char *const wild[] = { "reminders:W*", "reminders.read:?ork", "calendar:*",
		"email:*x" };

	if (!(what & RANDOM_WORDS) && random_one_in(r, 3))
		buffer_adds(out, ONE_OF(r, wild));
	else
		buffer_adds(out, ONE_OF(r, words));
}

static pattern_fn *const makers[OPERATION_COUNT] = {
	[OPERATION_FS_READ] = path_pattern,
	[OPERATION_FS_WRITE] = path_pattern,
	[OPERATION_NET_CONNECT] = host_pattern,
	[OPERATION_EXEC] = command_pattern,
	[OPERATION_ENV] = env_pattern,
	[OPERATION_SERVICE] = service_pattern,
};

/* Entries */

static void add_entry(struct random *r, unsigned what, struct permissions *p, struct grant_list *to,
	enum operation op)
{
	const struct location where = { "random.yaml", 1 + random_pick(r, 99), 3 };
	size_t n = random_one_in(r, 6) ? 2 + random_pick(r, 2) : 1;
	pattern_fn *make = makers[op];
	struct buffer texts[3] = { 0 };
	const char *patterns[3];

	if (n > 1 && op == OPERATION_EXEC && what & RANDOM_RESOLVED)
		make = command_glob;
	for (size_t i = 0; i < n; i++) {
		make(r, what, &texts[i]);
		patterns[i] = buffer_text(&texts[i]);
	}
	assert_int_equal(permissions_add_all(p, to, patterns, n, &where), 0);
	for (size_t i = 0; i < n; i++)
		buffer_deinit(&texts[i]);
}

static void add_entries(struct random *r, unsigned what, struct permissions *p,
	struct grant_list *to, enum operation op, unsigned max)
{
	unsigned n = random_pick(r, max + 1);

	for (unsigned i = 0; i < n; i++)
		add_entry(r, what, p, to, op);
}

static const struct {
	const char *name, *scope;
	unsigned access;
} services[] = {
	{ "reminders", "lists", SERVICE_READ | SERVICE_WRITE },
	{ "reminders", "lists", SERVICE_READ | SERVICE_WRITE },
	{ "calendar", "calendars", SERVICE_READ | SERVICE_WRITE },
	{ "email", "recipients", SERVICE_SEND },
	{ "clipboard", NULL, SERVICE_READ | SERVICE_WRITE },
};

static void add_service(struct random *r, unsigned what, struct permissions *p)
{
	static const char *const values[] = { "Work", "Home", "x", "W*", "*", "?ork" };
	/* Mail addresses are kept in lower case. */
	static const char *const addresses[] = { "work", "home@x", "x", "w*", "*", "?ork" };
	unsigned i = random_pick(r, ROWS(services)), n = random_pick(r, 4);
	struct service *s;
	struct service_scope *scope;

	for (size_t k = 0; k < p->n_services; k++) {
		if (strcmp(p->services[k].name, services[i].name) == 0)
			return; /* once in a file */
	}
	s = permissions_service(p, services[i].name);
	s->access = services[i].access & (1 + random_pick(r, 7));
	if (s->access == SERVICE_NONE)
		s->access = services[i].access;
	if (!services[i].scope || random_one_in(r, 3))
		return;
	scope = permissions_scope(p, s, services[i].scope);
	for (unsigned k = 0; k < n; k++)
		assert_int_equal(
			permissions_add(p, &scope->values,
				(strcmp(s->name, "email") == 0 ? addresses : values)[random_pick(
					r, what & RANDOM_WORDS ? 3 : 6)],
				NULL),
			0);
}

static void add_rule(struct random *r, unsigned what, struct permissions *p)
{
	static const int32_t priorities[] = { 0, 0, 1, 5, -1, INT32_MIN, INT32_MAX };
	static const char *const methods[] = { "GET", "POST" };
	/* No rule is about secrets, which come last. */
	enum operation op = (enum operation)random_pick(r, OPERATION_SECRET);
	struct rule rule = {
		.id = "r",
		.priority = ONE_OF(r, priorities),
		.action = (enum verdict)random_pick(r, 3),
		.operations = 1u << op,
		.disabled = random_one_in(r, 8),
	};

	if (op <= OPERATION_FS_WRITE && random_one_in(r, 2))
		rule.operations = 1u << OPERATION_FS_READ | 1u << OPERATION_FS_WRITE;
	add_entry(r, what, p, &rule.patterns, op);
	if (random_one_in(r, 3))
		add_entry(r, what, p, &rule.patterns, op);
	if (op == OPERATION_NET_CONNECT && !(what & RANDOM_NO_URL) && random_one_in(r, 3))
		assert_int_equal(permissions_add(p, &rule.methods, ONE_OF(r, methods), NULL), 0);
	assert_int_equal(permissions_add_rule(p, &rule), 0);
}

static void add_private(struct random *r, struct permissions *p)
{
	static const char *const names[] = { "h.com:*", "h.com:443", "*.h.com:80", "a.h.com:22-443",
		"x.local:*", "udp://h.com:*" };

	for (unsigned n = random_pick(r, 3); n > 0; n--)
		assert_int_equal(
			permissions_add(p, &p->network_private, ONE_OF(r, names), NULL), 0);
}

/* What has no patterns: an entry is one secret with one host and one place, or a program too. */
static void add_secrets(struct random *r, struct permissions *p)
{
	static const char *const entries[] = { "T=h.com:443,header", "T=h.com:443,query",
		"T=a.h.com:443,header", "U=h.com:443,header", "U=8.8.8.8:80,form",
		"U=[2606:4700::1]:443,body", "T=h.com:443,header,/usr/bin/a",
		"T=h.com:443,header,/usr/bin/b", "U=8.8.8.8:80,form,/usr/bin/a" };

	for (unsigned n = random_pick(r, 4); n > 0; n--)
		assert_int_equal(permissions_add(p, &p->secrets, ONE_OF(r, entries), NULL), 0);
}

static void add_lists(struct random *r, unsigned what, struct permissions *p)
{
	add_entries(r, what, p, &p->fs_read, OPERATION_FS_READ, 3);
	add_entries(r, what, p, &p->fs_write, OPERATION_FS_WRITE, 2);
	add_entries(r, what, p, &p->network_allow, OPERATION_NET_CONNECT, 4);
	if (random_one_in(r, 3))
		add_private(r, p);
	if (!(what & RANDOM_NO_DENY)) {
		add_entries(r, what, p, &p->fs_deny, OPERATION_FS_READ, 1);
		add_entries(r, what, p, &p->network_deny, OPERATION_NET_CONNECT, 1);
	}
	p->exec_listed = random_one_in(r, 2);
	if (p->exec_listed)
		add_entries(r, what, p, &p->exec, OPERATION_EXEC, 4);
	add_entries(r, what, p, &p->env, OPERATION_ENV, 3);
	for (unsigned n = random_pick(r, 3); n > 0; n--)
		add_service(r, what, p);
	add_secrets(r, p);
	if (random_one_in(r, 2))
		add_entries(r, what, p, &p->dangerously_allow, OPERATION_FS_READ, 2);
}

static void add_guest_path(struct random *r, struct permissions *p)
{
	struct guest_path g = { .guest = "/g", .host = "/a/c", .writable = random_one_in(r, 2) };

	assert_int_equal(permissions_add_guest_path(p, &g), 0);
}

static void fill_layer(struct random *r, unsigned what, struct permissions *p)
{
	add_lists(r, what, p);
	if (what & RANDOM_PLAIN)
		return;
	for (unsigned n = random_pick(r, 5); n > 0; n--)
		add_rule(r, what, p);
	if (random_one_in(r, 8))
		add_guest_path(r, p);
	if (random_one_in(r, 4))
		p->fallback = (enum verdict)random_pick(r, 3);
	if (random_one_in(r, 10))
		p->mode = random_one_in(r, 2) ? MODE_AUDIT : MODE_MONITOR;
}

static void add_network_methods(struct random *r, struct permissions *p)
{
	static const char *const methods[] = { "GET", "POST", "PUT" };

	if (p->mode == MODE_AUDIT || !random_one_in(r, 4))
		return;
	for (unsigned n = 1 + random_pick(r, 2); n > 0; n--)
		assert_int_equal(
			permissions_add(p, &p->network.methods, ONE_OF(r, methods), NULL), 0);
}

static void fill(struct random *r, unsigned what, struct permissions *p, unsigned depth)
{
	if (what & (RANDOM_PLAIN | RANDOM_ONE_LAYER) || depth == 2 || !random_one_in(r, 5)) {
		fill_layer(r, what, p);
		if (what & RANDOM_METHODS)
			add_network_methods(r, p);
		return;
	}
	for (unsigned n = 1 + random_pick(r, 2); n > 0; n--) {
		struct permissions *layer = permissions_new_layer(p);

		assert_non_null(layer);
		fill(r, what, layer, depth + 1);
		assert_int_equal(
			ARENA_PUSH(p->arena, p->all_of, p->n_all_of, p->cap_all_of, layer), 0);
	}
}

struct permissions *random_permissions(struct random *r, unsigned what)
{
	struct permissions *p = permissions_new();

	assert_non_null(p);
	fill(r, what, p, 0);
	return p;
}

/* Requests */

static void request_path(struct random *r, char *out, size_t size)
{
	static const char *const parts[] = { "a", "b", "c", "ab", ".a", "a*", "0b", "a", "b" };
	static const char *const wholes[] = { "/", "/bin/git", "/etc/a", "/root/.netrc",
		"/home/a/.aws/b", "/a/b/.ssh/k", "/a/b/.bashrc", "/a//b", "/a/./b/", "/a/../b",
		"/../c", "/opt/b/x", "a/b", "/c//" };
	unsigned n = 1 + random_pick(r, 3);
	size_t at = 0;

	if (random_one_in(r, 5)) {
		(void)snprintf(out, size, "%s", ONE_OF(r, wholes));
		return;
	}
	for (unsigned i = 0; i < n; i++)
		at += (size_t)snprintf(out + at, size - at, "/%s", ONE_OF(r, parts));
}

static void request_host(struct random *r, struct random_request *q)
{
	static const char *const hosts[] = { "h.com", "a.h.com", "b.a.h.com", "x.com", "localhost",
		"a.localhost", "x.local", "corp.internal", "metadata.google.internal", "8.8.8.8",
		"8.8.4.4", "9.9.9.9", "10.1.2.3", "10.2.0.1", "127.0.0.1", "127.0.0.2",
		"169.254.169.254", "[2606:4700::1]", "[2606:4700::2]", "[::1]", "[fd00::1]",
		"[::ffff:8.8.8.8]", "A.H.com.", "127.1", "0x8080808", "com", "xh.com" };
	static const char *const ports[] = { "", ":443", ":443", ":80", ":22", ":450", ":8443",
		":65535" };
	static const char *const urls[] = { "https://h.com/v1/x", "https://h.com/",
		"http://h.com/v1", "https://a.h.com/v1/x", "https://h.com:8443/v1/y",
		"http://10.1.2.3/v1", "https://h.com/v2/x", "https://h.com" };
	static const char *const sockets[] = { "unix:/run/a", "unix:/run/b", "unix:/run/c" };
	static const char *const methods[] = { "GET", "POST", "BREW" };

	if (random_one_in(r, 12)) {
		(void)snprintf(q->target, sizeof(q->target), "%s", ONE_OF(r, sockets));
	} else if (random_one_in(r, 5)) {
		(void)snprintf(q->target, sizeof(q->target), "%s", ONE_OF(r, urls));
		if (random_one_in(r, 2))
			q->request.method = ONE_OF(r, methods);
	} else {
		(void)snprintf(q->target, sizeof(q->target), "%s%s%s",
			random_one_in(r, 6) ? "udp://" : "", ONE_OF(r, hosts), ONE_OF(r, ports));
	}
	q->request.to_private = random_one_in(r, 3);
}

static void request_exec(struct random *r, struct random_request *q)
{
	static const char *const words[] = { "git", "git", "ls", "sh", "/bin/git", "/bin/git",
		"/bin/ls", "/lib/git", "/opt/a", "/opt/b/x", "/opt/x", "/a/b", "/a/b/x", "/b/c",
		"/bin//git", "/opt/a b", "bin/x", "/root/.netrc" };
	static const char *const args[] = { "push", "push", "pull", "-f", "x", "push x" };

	(void)snprintf(q->target, sizeof(q->target), "%s", ONE_OF(r, words));
	if (random_one_in(r, 4))
		return;
	q->request.args = q->args;
	q->request.n_args = random_pick(r, 4);
	for (size_t i = 0; i < q->request.n_args; i++)
		q->args[i] = ONE_OF(r, args);
}

static void request_service(struct random *r, struct random_request *q)
{
	static const char *const accesses[] = { "read", "write", "readwrite", "send", "open",
		"fly" };
	static const char *const values[] = { "", "", ":Work", ":Home", ":x", ":", ":lists=Work",
		":Home,lists=Work", ":HOME@X" };
	static const char *const names[] = { "reminders", "reminders", "calendar", "email",
		"clipboard", "vault" };

	if (random_one_in(r, 20))
		(void)snprintf(q->target, sizeof(q->target), "%s", ONE_OF(r, names));
	else
		(void)snprintf(q->target, sizeof(q->target), "%s.%s%s", ONE_OF(r, names),
			ONE_OF(r, accesses), ONE_OF(r, values));
}

static void request_secret(struct random *r, struct random_request *q)
{
	static const char *const targets[] = { "T=h.com:443", "T=h.com:443,header",
		"T=H.com.:443,header", "T=h.com:443,query", "T=a.h.com:443", "T=x.h.com:443",
		"U=h.com:443", "U=h.com:80", "U=8.8.8.8:80,form", "U=8.8.8.8:80",
		"U=[2606:4700:0::1]:443,body", "t=h.com:443", "T=h.com", "T", "T=h.com:443,cookie",
		"T=https://h.com/x", "=h.com:443", "T=udp://h.com:443",
		"T=h.com:443,header,/usr/bin/a", "T=H.com:443,header,/usr/bin/b",
		"T=h.com:443,query,/usr/bin/a", "U=8.8.8.8:80,form,/usr/bin/a",
		"T=h.com:443,header,a", "T=h.com:443,header,/usr/bin/*", "T=h.com:443,/usr/bin/a" };

	(void)snprintf(q->target, sizeof(q->target), "%s", ONE_OF(r, targets));
}

void random_request(struct random *r, struct random_request *q)
{
	static const char *const names[] = { "A", "AB", "B", "C", "A=1", "A=2", "AB=", "B=/x/y",
		"C=1", "B=1", "A=" };

	*q = (struct random_request){ .request.op =
					      (enum operation)random_pick(r, OPERATION_COUNT) };
	switch (q->request.op) {
	case OPERATION_FS_READ:
	case OPERATION_FS_WRITE:
		request_path(r, q->target, sizeof(q->target));
		break;
	case OPERATION_NET_CONNECT:
		request_host(r, q);
		break;
	case OPERATION_EXEC:
		request_exec(r, q);
		break;
	case OPERATION_ENV:
		(void)snprintf(q->target, sizeof(q->target), "%s", ONE_OF(r, names));
		break;
	case OPERATION_SERVICE:
		request_service(r, q);
		break;
	case OPERATION_SECRET:
		request_secret(r, q);
		break;
	}
	q->request.target = q->target;
}

/* Checking */

struct policy *random_compile(
	const struct permissions *const *layers, size_t n, const struct policy_options *o)
{
	struct policy *p = NULL;
	struct error e = { 0 };
	int r = policy_new(&p, layers, n, o, &e);

	if (r < 0) {
		print_error("policy_new: %d: %s\n", r, e.text);
		random_fail("it does not compile", NULL, layers, n);
	}
	return p;
}

enum verdict random_decide(const struct policy *p, const struct request *r)
{
	enum verdict v = VERDICT_ALLOW;

	for (size_t i = 0; i < policy_layers(p); i++) {
		struct decision d;

		if (policy_decide_layer(p, i, r, &d) < 0)
			return VERDICT_DENY;
		v = verdict_strictest(v, d.verdict);
	}
	return policy_layers(p) ? v : VERDICT_DENY;
}

void random_fail(
	const char *what, const struct request *r, const struct permissions *const *all, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		auto_buffer text = { 0 };

		permissions_print_yaml(all[i], &text);
		print_error("permissions %zu:\n", i);
		/* cmocka prints no more than a kilobyte at once. */
		for (const char *s = buffer_text(&text); *s; s += strcspn(s, "\n") + 1)
			print_error("%.*s\n", (int)strcspn(s, "\n"), s);
	}
	if (r) {
		print_error("%s %s", operation_name(r->op), r->target);
		for (size_t i = 0; r->args && i < r->n_args; i++)
			print_error(" <%s>", r->args[i]);
		print_error("%s %s\n", r->args || r->op != OPERATION_EXEC ? "" : " <unknown>",
			r->method ? r->method : "");
	}
	fail_msg("%s", what);
	abort();
}

void random_report(const char *what, size_t cases)
{
	print_message("# %s: %zu cases\n", what, cases);
}
