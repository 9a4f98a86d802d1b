/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile is a list of rules, and of all rules about an operation the *last* that matches
 * decides. Permissions are judged the other way round: the first that matches. So everything is
 * written in the reverse order of judging:
 *
 *     (deny default)       what nothing grants
 *     allow lists          fs.read, fs.write, exec, network.allow
 *     rules                lowest priority first; at equal priority allow before ask before deny
 *     deny lists           fs.deny, network.deny
 *     the baseline         beats everything, so it comes last
 *
 * That holds among rules about the same operation. Whether it also holds between an operation and
 * its family (file-read-metadata, file-read*) is written nowhere, so nothing here depends on it:
 * denials name every operation that is allowed anywhere in the profile (DENY_READ).
 *
 * Layers (all_of) must all agree: (require-all …) of what each of them grants, and the denials of
 * all.
 */
#include "jail/seatbelt/seatbelt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "jail/seatbelt/internal.h"
#include "policy/baseline.h"

#define DENY_READ "file-read* file-read-metadata process-exec*"

/*
 * What a program on macOS needs whatever it does, as lines of a profile. Data: a line that turns
 * out to be missing is added here, and nowhere else.
 */

/* To start at all: the loader's files and services, null devices, itself. */
static const char *const basics[] = {
	"(allow process-fork)",
	"(allow process-info* (target same-sandbox))",
	"(allow signal (target same-sandbox))",
	"(allow sysctl-read)",
	"(allow file-read-metadata (literal \"/etc\") (literal \"/tmp\") (literal \"/var\"))",
	"(allow file-read*",
	"  (literal \"/\")",
	"  (literal \"/dev/random\")",
	"  (literal \"/dev/urandom\")",
	"  (literal \"/private/etc/localtime\")",
	"  (subpath \"/Library/Apple\")",
	"  (subpath \"/System\")",
	"  (subpath \"/private/var/db/dyld\")",
	"  (subpath \"/private/var/db/timezone\")",
	"  (subpath \"/usr/lib\")",
	"  (subpath \"/usr/share\"))",
	"(allow file-read* file-write* file-ioctl",
	"  (literal \"/dev/dtracehelper\")",
	"  (literal \"/dev/null\")",
	"  (literal \"/dev/tty\")",
	"  (literal \"/dev/zero\")",
	"  (subpath \"/dev/fd\"))",
	"(allow ipc-posix-shm-read-data (ipc-posix-name \"apple.shm.notification_center\"))",
	"(allow mach-lookup",
	"  (global-name \"com.apple.bsd.dirhelper\")",
	"  (global-name \"com.apple.logd\")",
	"  (global-name \"com.apple.system.logger\")",
	"  (global-name \"com.apple.system.notification_center\")",
	"  (global-name \"com.apple.system.opendirectoryd.libinfo\"))",
	NULL,
};

/* To find hosts by name and to check their certificates. */
static const char *const basics_network[] = {
	"; Seatbelt knows no networks: private addresses are reached too, but not this machine",
	"(allow network-outbound (literal \"/private/var/run/mDNSResponder\"))",
	"(allow file-read*",
	"  (literal \"/private/etc/hosts\")",
	"  (literal \"/private/etc/services\")",
	"  (literal \"/private/var/run/resolv.conf\")",
	"  (subpath \"/private/etc/ssl\"))",
	"(allow mach-lookup",
	"  (global-name \"com.apple.SystemConfiguration.DNSConfiguration\")",
	"  (global-name \"com.apple.SystemConfiguration.configd\")",
	"  (global-name \"com.apple.dnssd.service\")",
	"  (global-name \"com.apple.networkd\")",
	"  (global-name \"com.apple.trustd.agent\"))",
	NULL,
};

/* Filters, not rules: where programs of any agent write. Devices, and temporary folders. */
static const char *const basics_writes[] = {
	"(literal \"/dev/dtracehelper\")",
	"(literal \"/dev/null\")",
	"(literal \"/dev/ptmx\")",
	"(literal \"/dev/zero\")",
	"(regex #\"^/dev/tty[^/]*$\")",
	"(subpath \"/dev/fd\")",
	"(subpath \"/private/tmp\")",
	"(subpath \"/private/var/folders\")",
	NULL,
};

/* Where macOS keeps people's home folders; the baseline's "~/" means them all. */
static const char *const homes[] = { "/Users/*", "/var/root" };

enum access {
	ACCESS_READ,
	ACCESS_WRITE,
	ACCESS_EXEC,
	ACCESS_CONNECT,
	ACCESS_LISTEN,
	ACCESS_DANGEROUS, /* no access, but a list that layers must agree on all the same */
	ACCESS_COUNT,
};

struct seatbelt_profile {
	struct seatbelt_context context;
	const struct permissions *permissions;
	const struct permissions *const *layers; /* at least one */
	size_t n_layers;
	struct seatbelt_filters granted[ACCESS_COUNT];
	struct buffer out;
	int error; /* the first; what is written after it is thrown away */
};

static void seatbelt_print_lines(struct seatbelt_profile *pr, const char *const *lines)
{
	for (; *lines; lines++)
		buffer_printf(&pr->out, "%s\n", *lines);
}

static void seatbelt_print_rule(struct seatbelt_profile *pr, const char *action,
	const char *operations, struct seatbelt_filters *f)
{
	if (f->n == 0)
		return;
	seatbelt_filter_tidy(f);
	buffer_printf(&pr->out, "(%s %s", action, operations);
	for (size_t i = 0; i < f->n; i++)
		buffer_printf(&pr->out, "\n  %s", f->items[i]);
	buffer_adds(&pr->out, ")\n");
}

static void seatbelt_add_list(struct seatbelt_profile *pr, seatbelt_filter_fn *one,
	const struct grant_list *list, struct seatbelt_filters *ret)
{
	if (pr->error == 0)
		pr->error = seatbelt_filter_list(&pr->context, one, list, ret);
}

static void seatbelt_add_all(struct seatbelt_profile *pr, struct seatbelt_filters *to,
	const struct seatbelt_filters *from)
{
	for (size_t i = 0; pr->error == 0 && i < from->n; i++)
		pr->error = seatbelt_filter_add(&pr->context, to, from->items[i]);
}

/* --- allow lists --- */

static int seatbelt_check_layer(const struct permissions *p, bool alone, struct error *e)
{
	const char *what = NULL;

	if (p->mode != MODE_ENFORCE)
		what = "the modes audit and monitor";
	else if (p->fallback != VERDICT_DENY)
		what = "rules that allow whatever no rule names";
	else if (p->n_all_of && !alone)
		what = "an intersection inside an intersection";
	else if (p->n_rules && !alone)
		what = "an intersection of rules with other permissions";
	else if (p->network.rate.count || p->network.max_bytes != LIMIT_NONE ||
		 p->network.max_request_size != LIMIT_NONE || p->network.methods.n)
		what = "limits of the network";
	return what ? error_set(e, -EOPNOTSUPP, NULL, "Seatbelt cannot enforce %s", what) : 0;
}

static bool seatbelt_has_rules_about(const struct permissions *p, enum operation op)
{
	for (size_t i = 0; i < p->n_rules; i++) {
		if (!p->rules[i].disabled && p->rules[i].operations & 1U << op)
			return true;
	}
	return false;
}

/* Narrows f to what is in the others as well, or is not in them. */
static int seatbelt_meet(struct seatbelt_context *c, struct seatbelt_filters *f,
	struct seatbelt_filters *others, bool is_not)
{
	const char *a = seatbelt_filter_any(c, f), *b = seatbelt_filter_any(c, others), *both;

	if ((!a && f->n) || (!b && others->n))
		return -ENOMEM;
	f->n = 0;
	if (!a || !b)
		return 0;
	both = arena_printf(c->arena,
		is_not ? "(require-all %s (require-not %s))" : "(require-all %s %s)", a, b);
	return both ? seatbelt_filter_add(c, f, both) : -ENOMEM;
}

static void seatbelt_read_layers(struct seatbelt_profile *pr)
{
	for (size_t i = 0; pr->error == 0 && i < pr->n_layers; i++) {
		const struct permissions *p = pr->layers[i];
		struct seatbelt_filters f[ACCESS_COUNT] = { 0 };

		pr->error = seatbelt_check_layer(p, pr->n_layers == 1, pr->context.error);
		/* Writing implies reading; a listed program may be read; without a list any may run
		 * that may be read. */
		seatbelt_add_list(pr, seatbelt_filter_path, &p->fs_read, &f[ACCESS_READ]);
		seatbelt_add_list(pr, seatbelt_filter_path, &p->fs_write, &f[ACCESS_READ]);
		seatbelt_add_list(pr, seatbelt_filter_path, &p->fs_write, &f[ACCESS_WRITE]);
		seatbelt_add_list(pr, seatbelt_filter_program, &p->exec, &f[ACCESS_EXEC]);
		seatbelt_add_list(pr, seatbelt_filter_host, &p->network_allow, &f[ACCESS_CONNECT]);
		seatbelt_add_list(
			pr, seatbelt_filter_host, &p->network_private, &f[ACCESS_CONNECT]);
		seatbelt_add_list(pr, seatbelt_filter_listen, &p->listen, &f[ACCESS_LISTEN]);
		seatbelt_add_list(
			pr, seatbelt_filter_path, &p->dangerously_allow, &f[ACCESS_DANGEROUS]);
		if (p->exec_listed)
			seatbelt_add_all(pr, &f[ACCESS_READ], &f[ACCESS_EXEC]);
		else if (!seatbelt_has_rules_about(p, OPERATION_EXEC))
			seatbelt_add_all(pr, &f[ACCESS_EXEC], &f[ACCESS_READ]);
		for (int k = 0; pr->error == 0 && k < ACCESS_COUNT; k++) {
			if (i == 0)
				seatbelt_add_all(pr, &pr->granted[k], &f[k]);
			else
				pr->error =
					seatbelt_meet(&pr->context, &pr->granted[k], &f[k], false);
		}
	}
}
static bool seatbelt_reaches_out(const struct seatbelt_filters *f)
{
	for (size_t i = 0; i < f->n; i++) {
		if (strstr(f->items[i], " \"*:"))
			return true;
	}
	return false;
}

static void seatbelt_print_grants(struct seatbelt_profile *pr)
{
	struct seatbelt_filters *f = pr->granted, ancestors = { 0 };

	/* The way to a granted file can be walked: getcwd() and realpath() look at every folder. */
	for (size_t i = 0; pr->error == 0 && i < 2 * pr->n_layers; i++) {
		const struct permissions *p = pr->layers[i / 2];

		pr->error = seatbelt_filter_ancestors(
			&pr->context, i % 2 ? &p->fs_write : &p->fs_read, &ancestors);
	}
	buffer_adds(&pr->out, "\n; files\n");
	seatbelt_print_rule(pr, "allow", "file-read-metadata", &ancestors);
	seatbelt_print_rule(pr, "allow", "file-read*", &f[ACCESS_READ]);
	seatbelt_print_rule(pr, "allow", "file-write*", &f[ACCESS_WRITE]);
	buffer_adds(&pr->out, "\n; programs\n");
	seatbelt_print_rule(pr, "allow", "process-exec*", &f[ACCESS_EXEC]);
	buffer_adds(&pr->out, "\n; network\n");
	if (f[ACCESS_CONNECT].n == 0 && f[ACCESS_LISTEN].n == 0)
		buffer_adds(&pr->out, "(deny network*)\n");
	if (seatbelt_reaches_out(&f[ACCESS_CONNECT]))
		seatbelt_print_lines(pr, basics_network);
	seatbelt_print_rule(pr, "allow", "network-outbound", &f[ACCESS_CONNECT]);
	seatbelt_print_rule(pr, "allow", "network-bind network-inbound", &f[ACCESS_LISTEN]);
}

/* --- rules --- */

static int seatbelt_compare_rules(const void *a, const void *b)
{
	const struct rule *x = *(const struct rule *const *)a, *y = *(const struct rule *const *)b;

	if (x->priority != y->priority)
		return x->priority < y->priority ? -1 : 1;
	return (int)y->action - (int)x->action;
}

static void seatbelt_print_one_rule(struct seatbelt_profile *pr, const struct rule *rule)
{
	static const struct {
		enum operation operation;
		seatbelt_filter_fn *one;
		const char *allow, *deny;
	} rows[] = {
		{ OPERATION_FS_READ, seatbelt_filter_path, "file-read*", DENY_READ },
		{ OPERATION_FS_WRITE, seatbelt_filter_path, "file-write*", "file-write*" },
		{ OPERATION_EXEC, seatbelt_filter_program, "process-exec*", "process-exec*" },
		{ OPERATION_NET_CONNECT, seatbelt_filter_host, "network-outbound",
			"network-outbound" },
	};
	bool allow = rule->action == VERDICT_ALLOW;

	if (pr->error == 0 && rule->methods.n)
		pr->error = error_set(pr->context.error, -EOPNOTSUPP, &rule->where,
			"Seatbelt cannot enforce HTTP methods: it sees only connections");
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct seatbelt_filters f = { 0 };

		if (!(rule->operations & 1U << rows[i].operation))
			continue;
		seatbelt_add_list(pr, rows[i].one, &rule->patterns, &f);
		if (allow && seatbelt_reaches_out(&f))
			seatbelt_print_lines(pr, basics_network);
		seatbelt_print_rule(
			pr, allow ? "allow" : "deny", allow ? rows[i].allow : rows[i].deny, &f);
	}
}

static void seatbelt_print_rules(struct seatbelt_profile *pr)
{
	const struct permissions *p = pr->layers[0];
	const struct rule **sorted;
	size_t n = 0;

	if (pr->n_layers > 1 || p->n_rules == 0)
		return; /* check_layer has seen that layers of an intersection have none */
	sorted = arena_calloc(pr->context.arena, p->n_rules, sizeof(struct rule *));
	if (!sorted)
		pr->error = pr->error ? pr->error : -ENOMEM;
	for (size_t i = 0; sorted && i < p->n_rules; i++) {
		if (!p->rules[i].disabled)
			sorted[n++] = &p->rules[i];
	}
	if (n)
		qsort(sorted, n, sizeof(*sorted), seatbelt_compare_rules);
	buffer_adds(&pr->out, "\n; rules, the strongest last\n");
	for (size_t i = 0; i < n; i++)
		seatbelt_print_one_rule(pr, sorted[i]);
}

/* --- denials --- */

static void seatbelt_print_denials(struct seatbelt_profile *pr, bool connects)
{
	struct seatbelt_filters files = { 0 }, hosts = { 0 };

	for (size_t i = 0; i < pr->n_layers; i++) {
		seatbelt_add_list(pr, seatbelt_filter_path, &pr->layers[i]->fs_deny, &files);
		/* Where nothing may be reached, nothing needs to be denied. */
		if (connects)
			seatbelt_add_list(
				pr, seatbelt_filter_host, &pr->layers[i]->network_deny, &hosts);
	}
	if (files.n || hosts.n)
		buffer_adds(&pr->out, "\n; denied, whatever is granted above\n");
	seatbelt_print_rule(pr, "deny", DENY_READ " file-write*", &files);
	seatbelt_print_rule(pr, "deny", "network-outbound", &hosts);
}

static int seatbelt_add_baseline(
	struct seatbelt_profile *pr, const char *pattern, struct seatbelt_filters *ret)
{
	struct seatbelt_context *c = &pr->context;
	bool in_home = strncmp(pattern, "~/", 2) == 0;
	int r = 0;

	c->where = NULL;
	/* A home elsewhere than usual is known only if the caller says so. */
	if (!in_home || (c->vars && c->vars->values[VARIABLE_HOME]))
		r = seatbelt_filter_path(c, pattern, ret);
	for (size_t i = 0; r >= 0 && in_home && i < ROWS(homes); i++) {
		const char *text = arena_printf(c->arena, "%s%s", homes[i], pattern + 1);

		r = text ? seatbelt_filter_path(c, text, ret) : -ENOMEM;
	}
	return r;
}

static void seatbelt_print_baseline(struct seatbelt_profile *pr)
{
	struct seatbelt_filters f[2] = { 0 }, *fixed = &f[0], *secret = &f[1];

	for (size_t i = 0; pr->error == 0 && i < baseline_n_paths; i++)
		pr->error = seatbelt_add_baseline(pr, baseline_path_pattern(&baseline_paths[i]),
			&f[baseline_paths[i].secret]);
	for (size_t i = 0; pr->error == 0 && i < ROWS(f) && pr->granted[ACCESS_DANGEROUS].n; i++)
		pr->error =
			seatbelt_meet(&pr->context, &f[i], &pr->granted[ACCESS_DANGEROUS], true);
	buffer_adds(&pr->out, "\n; the baseline, which no grant overrides\n");
	seatbelt_print_rule(pr, "deny", DENY_READ " file-write*", secret);
	seatbelt_print_rule(pr, "deny", "file-write*", fixed);
}

/* --- the two shapes --- */

static void seatbelt_write_closed(struct seatbelt_profile *pr)
{
	bool connects = pr->granted[ACCESS_CONNECT].n ||
			seatbelt_has_rules_about(pr->layers[0], OPERATION_NET_CONNECT);

	buffer_adds(&pr->out, "(version 1)\n(deny default)\n\n; what every program needs\n");
	seatbelt_print_lines(pr, basics);
	seatbelt_print_grants(pr);
	seatbelt_print_rules(pr);
	seatbelt_print_denials(pr, connects);
}

static bool seatbelt_has_filter(const struct seatbelt_filters *f, const char *filter)
{
	for (size_t i = 0; i < f->n; i++) {
		if (strcmp(f->items[i], filter) == 0)
			return true;
	}
	return false;
}

static void seatbelt_write_open(struct seatbelt_profile *pr)
{
	struct seatbelt_filters *writes = &pr->granted[ACCESS_WRITE];
	/* All may be read, anything may run, and TCP reaches any host on any port. */
	bool is_open = pr->n_layers == 1 && pr->permissions->n_rules == 0 &&
		       !pr->permissions->exec_listed &&
		       seatbelt_has_filter(&pr->granted[ACCESS_READ], "(subpath \"/\")") &&
		       seatbelt_has_filter(&pr->granted[ACCESS_CONNECT],
			       "(require-all (require-not (remote ip \"localhost:*\")) "
			       "(remote tcp \"*:*\"))");

	if (pr->error == 0 && !is_open)
		pr->error = error_set(pr->context.error, -EINVAL, NULL,
			"this profile does not restrict reading, programs and the network, but "
			"these permissions do");
	buffer_adds(&pr->out,
		"(version 1)\n(allow default)\n\n; writes are confined\n(deny file-write*)\n");
	for (size_t i = 0; pr->error == 0 && basics_writes[i]; i++)
		pr->error = seatbelt_filter_add(&pr->context, writes, basics_writes[i]);
	seatbelt_print_rule(pr, "allow", "file-write*", writes);
	seatbelt_print_denials(pr, true);
}

static int seatbelt_print_as(const struct permissions *p, const struct variables *vars,
	struct buffer *out, struct error *e, void (*write)(struct seatbelt_profile *pr))
{
	const struct permissions *const alone[] = { p };
	auto_arena arena = { 0 };
	struct seatbelt_profile pr = {
		.context = { .arena = &arena, .vars = vars, .error = e },
		.permissions = p,
		.layers = p->n_all_of ? (const struct permissions *const *)p->all_of : alone,
		.n_layers = p->n_all_of ? p->n_all_of : 1,
	};

	seatbelt_read_layers(&pr);
	write(&pr);
	seatbelt_print_baseline(&pr);
	if (pr.error == 0 && pr.out.failed)
		pr.error = -ENOMEM;
	if (pr.error == 0)
		buffer_add(out, buffer_text(&pr.out), pr.out.len);
	buffer_deinit(&pr.out);
	return pr.error;
}

int seatbelt_print(const struct permissions *p, const struct variables *vars, struct buffer *out,
	struct error *e)
{
	return seatbelt_print_as(p, vars, out, e, seatbelt_write_closed);
}

int seatbelt_print_agent(const struct permissions *p, const struct variables *vars,
	struct buffer *out, struct error *e)
{
	return seatbelt_print_as(p, vars, out, e, seatbelt_write_open);
}
