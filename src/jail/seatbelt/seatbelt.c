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
	struct buffer *out;
};

/* --- printing --- */

static void seatbelt_print_lines(struct buffer *out, const char *const *lines)
{
	for (; *lines; lines++)
		buffer_printf(out, "%s\n", *lines);
}

static void seatbelt_print_rule(
	struct buffer *out, const char *action, const char *operations, struct seatbelt_filters *f)
{
	if (f->n == 0)
		return;
	seatbelt_filter_tidy(f);
	buffer_printf(out, "(%s %s", action, operations);
	for (size_t i = 0; i < f->n; i++)
		buffer_printf(out, "\n  %s", f->items[i]);
	buffer_adds(out, ")\n");
}

/* --- what Seatbelt cannot say --- */

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
	return what ? error_set(e, -EOPNOTSUPP, NULL, "Seatbelt cannot hold %s", what) : 0;
}

/* --- allow lists --- */

static bool seatbelt_has_rules_about(const struct permissions *p, enum operation op)
{
	for (size_t i = 0; i < p->n_rules; i++) {
		if (!p->rules[i].disabled && p->rules[i].operations & 1U << op)
			return true;
	}
	return false;
}

static int seatbelt_add_all(struct seatbelt_context *c, struct seatbelt_filters *to,
	const struct seatbelt_filters *from)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < from->n; i++)
		r = seatbelt_filter_add(c, to, from->items[i]);
	return r;
}

/* What one layer grants. Writing implies reading; a listed program may be read; without a list any
 * may run that may be read. */
static int seatbelt_read_layer(struct seatbelt_context *c, const struct permissions *p,
	struct seatbelt_filters f[ACCESS_COUNT])
{
	const struct {
		const struct grant_list *list;
		seatbelt_filter_fn *one;
		enum access to;
	} steps[] = {
		{ &p->fs_read, seatbelt_filter_path, ACCESS_READ },
		{ &p->fs_write, seatbelt_filter_path, ACCESS_READ },
		{ &p->fs_write, seatbelt_filter_path, ACCESS_WRITE },
		{ &p->exec, seatbelt_filter_program, ACCESS_EXEC },
		{ &p->network_allow, seatbelt_filter_host, ACCESS_CONNECT },
		{ &p->listen, seatbelt_filter_listen, ACCESS_LISTEN },
		{ &p->dangerously_allow, seatbelt_filter_path, ACCESS_DANGEROUS },
	};

	for (size_t i = 0; i < ROWS(steps); i++) {
		int r = seatbelt_filter_list(c, steps[i].one, steps[i].list, &f[steps[i].to]);

		if (r < 0)
			return r;
	}
	if (p->exec_listed)
		return seatbelt_add_all(c, &f[ACCESS_READ], &f[ACCESS_EXEC]);
	if (!seatbelt_has_rules_about(p, OPERATION_EXEC))
		return seatbelt_add_all(c, &f[ACCESS_EXEC], &f[ACCESS_READ]);
	return 0;
}

/* Narrows what the layers before grant by one more. */
static int seatbelt_meet(
	struct seatbelt_context *c, struct seatbelt_filters *with, struct seatbelt_filters *f)
{
	const char *a = seatbelt_filter_any(c, with), *b = seatbelt_filter_any(c, f), *both;

	if ((!a && with->n) || (!b && f->n))
		return -ENOMEM;
	with->n = 0;
	if (!a || !b)
		return 0;
	both = arena_printf(c->arena, "(require-all %s %s)", a, b);
	return both ? seatbelt_filter_add(c, with, both) : -ENOMEM;
}

static int seatbelt_read_layers(struct seatbelt_profile *pr)
{
	for (size_t i = 0; i < pr->n_layers; i++) {
		struct seatbelt_filters f[ACCESS_COUNT] = { 0 };
		int r = seatbelt_check_layer(pr->layers[i], pr->n_layers == 1, pr->context.error);

		r = r < 0 ? r : seatbelt_read_layer(&pr->context, pr->layers[i], f);
		for (int k = 0; r >= 0 && k < ACCESS_COUNT; k++)
			r = i == 0 ? seatbelt_add_all(&pr->context, &pr->granted[k], &f[k])
				   : seatbelt_meet(&pr->context, &pr->granted[k], &f[k]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The way to a granted file can be walked: getcwd() and realpath() look at every folder on it. */
static int seatbelt_print_ancestors(struct seatbelt_profile *pr)
{
	struct seatbelt_filters f = { 0 };
	int r = 0;

	for (size_t i = 0; r >= 0 && i < pr->n_layers; i++) {
		r = seatbelt_filter_ancestors(&pr->context, &pr->layers[i]->fs_read, &f);
		if (r >= 0)
			r = seatbelt_filter_ancestors(&pr->context, &pr->layers[i]->fs_write, &f);
	}
	seatbelt_print_rule(pr->out, "allow", "file-read-metadata", &f);
	return r;
}

static bool seatbelt_reaches_out(const struct seatbelt_filters *f)
{
	for (size_t i = 0; i < f->n; i++) {
		if (strstr(f->items[i], " \"*:"))
			return true;
	}
	return false;
}

static int seatbelt_print_grants(struct seatbelt_profile *pr)
{
	struct seatbelt_filters *f = pr->granted;
	int r;

	buffer_adds(pr->out, "\n; files\n");
	r = seatbelt_print_ancestors(pr);
	seatbelt_print_rule(pr->out, "allow", "file-read*", &f[ACCESS_READ]);
	seatbelt_print_rule(pr->out, "allow", "file-write*", &f[ACCESS_WRITE]);
	buffer_adds(pr->out, "\n; programs\n");
	seatbelt_print_rule(pr->out, "allow", "process-exec*", &f[ACCESS_EXEC]);
	buffer_adds(pr->out, "\n; network\n");
	if (f[ACCESS_CONNECT].n == 0 && f[ACCESS_LISTEN].n == 0)
		buffer_adds(pr->out, "(deny network*)\n");
	if (seatbelt_reaches_out(&f[ACCESS_CONNECT]))
		seatbelt_print_lines(pr->out, basics_network);
	seatbelt_print_rule(pr->out, "allow", "network-outbound", &f[ACCESS_CONNECT]);
	seatbelt_print_rule(pr->out, "allow", "network-bind network-inbound", &f[ACCESS_LISTEN]);
	return r;
}

/* --- rules --- */

static int seatbelt_compare_rules(const void *a, const void *b)
{
	const struct rule *x = *(const struct rule *const *)a, *y = *(const struct rule *const *)b;

	if (x->priority != y->priority)
		return x->priority < y->priority ? -1 : 1;
	return (int)y->action - (int)x->action;
}

static int seatbelt_print_one_rule(struct seatbelt_profile *pr, const struct rule *rule)
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

	if (rule->methods.n)
		return error_set(pr->context.error, -EOPNOTSUPP, &rule->where,
			"Seatbelt cannot hold HTTP methods: it sees connections");
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct seatbelt_filters f = { 0 };
		int r;

		if (!(rule->operations & 1U << rows[i].operation))
			continue;
		r = seatbelt_filter_list(&pr->context, rows[i].one, &rule->patterns, &f);
		if (r < 0)
			return r;
		if (allow && seatbelt_reaches_out(&f))
			seatbelt_print_lines(pr->out, basics_network);
		seatbelt_print_rule(pr->out, allow ? "allow" : "deny",
			allow ? rows[i].allow : rows[i].deny, &f);
	}
	return 0;
}

static int seatbelt_print_rules(struct seatbelt_profile *pr)
{
	const struct permissions *p = pr->layers[0];
	const struct rule **sorted;
	size_t n = 0;
	int r = 0;

	if (pr->n_layers > 1 || p->n_rules == 0)
		return 0; /* check_layer has seen that layers of an intersection have none */
	sorted = arena_calloc(pr->context.arena, p->n_rules, sizeof(struct rule *));
	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_rules; i++) {
		if (!p->rules[i].disabled)
			sorted[n++] = &p->rules[i];
	}
	if (n)
		qsort(sorted, n, sizeof(*sorted), seatbelt_compare_rules);
	buffer_adds(pr->out, "\n; rules, the strongest last\n");
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = seatbelt_print_one_rule(pr, sorted[i]);
	return r;
}

/* --- denials --- */

static int seatbelt_print_denials(struct seatbelt_profile *pr, bool connects)
{
	struct seatbelt_filters files = { 0 }, hosts = { 0 };
	int r = 0;

	for (size_t i = 0; r >= 0 && i < pr->n_layers; i++) {
		r = seatbelt_filter_list(
			&pr->context, seatbelt_filter_path, &pr->layers[i]->fs_deny, &files);
		/* Where nothing may be reached, nothing needs to be denied. */
		if (r >= 0 && connects)
			r = seatbelt_filter_list(&pr->context, seatbelt_filter_host,
				&pr->layers[i]->network_deny, &hosts);
	}
	if (files.n || hosts.n)
		buffer_adds(pr->out, "\n; denied, whatever is granted above\n");
	seatbelt_print_rule(pr->out, "deny", DENY_READ " file-write*", &files);
	seatbelt_print_rule(pr->out, "deny", "network-outbound", &hosts);
	return r;
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

/* All of f, but for what dangerously_allow names. */
static int seatbelt_except_dangerous(struct seatbelt_profile *pr, struct seatbelt_filters *f)
{
	struct seatbelt_context *c = &pr->context;
	const char *any, *but, *text;

	if (pr->granted[ACCESS_DANGEROUS].n == 0 || f->n == 0)
		return 0;
	any = seatbelt_filter_any(c, f);
	but = seatbelt_filter_any(c, &pr->granted[ACCESS_DANGEROUS]);
	text = any && but ? arena_printf(c->arena, "(require-all %s (require-not %s))", any, but)
			  : NULL;
	f->n = 0;
	return text ? seatbelt_filter_add(c, f, text) : -ENOMEM;
}

static int seatbelt_print_baseline(struct seatbelt_profile *pr)
{
	struct seatbelt_filters secret = { 0 }, fixed = { 0 };
	int r = 0;

	for (size_t i = 0; r >= 0 && i < baseline_n_paths; i++)
		r = seatbelt_add_baseline(
			pr, baseline_paths[i].pattern, baseline_paths[i].secret ? &secret : &fixed);
	r = r < 0 ? r : seatbelt_except_dangerous(pr, &secret);
	r = r < 0 ? r : seatbelt_except_dangerous(pr, &fixed);
	buffer_adds(pr->out, "\n; the baseline, which no grant overrides\n");
	seatbelt_print_rule(pr->out, "deny", DENY_READ " file-write*", &secret);
	seatbelt_print_rule(pr->out, "deny", "file-write*", &fixed);
	return r;
}

/* --- the two shapes --- */

static int seatbelt_write_closed(struct seatbelt_profile *pr)
{
	bool connects;
	int r;

	buffer_adds(pr->out, "(version 1)\n(deny default)\n\n; what every program needs\n");
	seatbelt_print_lines(pr->out, basics);
	connects = pr->granted[ACCESS_CONNECT].n ||
		   seatbelt_has_rules_about(pr->layers[0], OPERATION_NET_CONNECT);
	r = seatbelt_print_grants(pr);
	r = r < 0 ? r : seatbelt_print_rules(pr);
	r = r < 0 ? r : seatbelt_print_denials(pr, connects);
	return r < 0 ? r : seatbelt_print_baseline(pr);
}

static bool seatbelt_has_filter(const struct seatbelt_filters *f, const char *filter)
{
	for (size_t i = 0; i < f->n; i++) {
		if (strcmp(f->items[i], filter) == 0)
			return true;
	}
	return false;
}

/* Open: all may be read, anything may run, and TCP reaches any host on any port. */
static bool seatbelt_is_open(const struct seatbelt_profile *pr)
{
	return pr->n_layers == 1 && pr->permissions->n_rules == 0 &&
	       !pr->permissions->exec_listed &&
	       seatbelt_has_filter(&pr->granted[ACCESS_READ], "(subpath \"/\")") &&
	       seatbelt_has_filter(&pr->granted[ACCESS_CONNECT],
		       "(require-all (require-not (remote ip "
		       "\"localhost:*\")) (remote tcp \"*:*\"))");
}

static int seatbelt_write_open(struct seatbelt_profile *pr)
{
	struct seatbelt_filters *writes = &pr->granted[ACCESS_WRITE];
	int r = 0;

	if (!seatbelt_is_open(pr))
		return error_set(pr->context.error, -EINVAL, NULL,
			"this profile leaves reading, programs and the network open, and these "
			"permissions do not");
	buffer_adds(pr->out,
		"(version 1)\n(allow default)\n\n; writes are confined\n(deny file-write*)\n");
	for (size_t i = 0; r >= 0 && basics_writes[i]; i++)
		r = seatbelt_filter_add(&pr->context, writes, basics_writes[i]);
	seatbelt_print_rule(pr->out, "allow", "file-write*", writes);
	r = r < 0 ? r : seatbelt_print_denials(pr, true);
	return r < 0 ? r : seatbelt_print_baseline(pr);
}

static int seatbelt_print_as(const struct permissions *p, const struct variables *vars,
	struct buffer *out, struct error *e, int (*write)(struct seatbelt_profile *pr))
{
	const struct permissions *const alone[] = { p };
	auto_arena arena = { 0 };
	auto_buffer text = { 0 };
	struct seatbelt_profile pr = {
		.context = { .arena = &arena, .vars = vars, .error = e },
		.permissions = p,
		.layers = p->n_all_of ? (const struct permissions *const *)p->all_of : alone,
		.n_layers = p->n_all_of ? p->n_all_of : 1,
		.out = &text,
	};
	int r = seatbelt_read_layers(&pr);

	r = r < 0 ? r : write(&pr);
	if (r >= 0 && text.failed)
		r = -ENOMEM;
	if (r >= 0)
		buffer_add(out, buffer_text(&text), text.len);
	return r;
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
