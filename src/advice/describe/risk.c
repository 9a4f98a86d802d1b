/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much could go wrong. Single grants are rarely bad; combinations are: a secret is harmless
 * where nothing leaves, a network is harmless where there is nothing to send. So a layer is boiled
 * down to facts, and a table says what combinations of facts amount to.
 *
 * Most facts come from lint.h, which knows what is wide, secret or code; that way the advice to
 * whoever writes permissions and the warning to whoever approves them never disagree. Where lint
 * could not look at everything that is a fact, too. Of several layers only those facts count that
 * hold in each: less than that cannot be allowed by all of them.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "policy/match/service.h"
#include "advice/describe/internal.h"

enum fact {
	READ_OTHERS = 1 << 0,  /* what is neither its own nor the system's */
	READ_WIDE = 1 << 1,    /* a whole home, or everything */
	WRITE_OTHERS = 1 << 2, /* what is not its own */
	WRITE_WIDE = 1 << 3,
	WRITE_SYSTEM = 1 << 4,
	WRITE_CODE = 1 << 5, /* what other programs run later */
	NET = 1 << 6,
	NET_ANY = 1 << 7, /* hosts of anybody */
	NET_PRIVATE = 1 << 8,
	SEND = 1 << 9,     /* mail, a browser: ways out that are no connections */
	CODE = 1 << 10,    /* any code can run */
	ROOT = 1 << 11,    /* more rights than the user has */
	SESSION = 1 << 12, /* the user's screen, keys or other programs */
	SECRETS = 1 << 13, /* in variables */
	SECRET_IN_POLICY = 1 << 14,
	LOADED_CODE = 1 << 15, /* variables that make programs load code */
	SERVICE_WIDE = 1 << 16,
	BASELINE = 1 << 17,     /* lifted */
	UNBOUND = 1 << 18,      /* what no rule names is not blocked */
	UNSURE = 1 << 19,       /* not everything could be looked at */
	USES_SECRETS = 1 << 20, /* without seeing them, at hosts that are named */
	FACTS = (1 << 21) - 1,
};

const char *describe_risk_name(enum risk risk)
{
	static const char *const names[] = { "low", "medium", "high", "critical" };

	return names[risk];
}

/* Facts */

static const struct {
	char id[32];
	unsigned facts;
} known[] = {
	{ "invalid-pattern", UNSURE },
	{ "not-compared", UNSURE },
	{ "write-everything", WRITE_WIDE | READ_WIDE },
	{ "write-home", WRITE_WIDE | READ_WIDE },
	{ "write-system", WRITE_SYSTEM },
	{ "read-everything", READ_WIDE },
	{ "read-home", READ_WIDE },
	{ "deferred-execution", WRITE_CODE },
	{ "write-path", WRITE_CODE },
	{ "dangerously-allow", BASELINE },
	{ "exec-everything", CODE },
	{ "exec-root", ROOT | CODE },
	{ "exec-any-code", CODE },
	{ "exec-glob", CODE },
	{ "write-then-exec", CODE },
	{ "net-everything", NET_ANY },
	{ "net-public-suffix", NET_ANY },
	{ "net-drop", NET_ANY },
	{ "net-dns", NET_ANY },
	{ "net-private", NET_PRIVATE },
	{ "net-private-name", NET_PRIVATE },
	{ "unix-root", ROOT },
	{ "unix-session", SESSION },
	{ "env-everything", SECRETS },
	{ "env-secret", SECRETS },
	{ "env-secret-value", SECRET_IN_POLICY },
	{ "env-code", LOADED_CODE },
	{ "service-unscoped", SERVICE_WIDE },
	{ "mode-monitor", UNBOUND },
	{ "mode-audit", UNBOUND },
	{ "default-allow", UNBOUND },
};

/*
 * What is the skill's own, or (only_own false) what belongs to the system and holds nobody's work.
 * One pattern of several that must all match is enough to keep within.
 */
static bool grant_is_harmless(const struct grant *g, bool only_own)
{
	static const char folders[][16] = { "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64",
		"/etc", "/nix/store", "/gnu/store", "/dev/null", "/dev/zero", "/dev/random",
		"/dev/urandom", "/dev/full", "/dev/tty" };
	enum variable v;
	const char *rest;

	for (size_t i = 0; i < g->n; i++) {
		bool variable = variable_split(g->all[i], &v, &rest, NULL, NULL) == 1;

		if (variable &&
			(v == VARIABLE_SKILL_DIR || v == VARIABLE_DATA_DIR || v == VARIABLE_TEMP))
			return true;
		for (size_t k = 0; !variable && !only_own && k < ROWS(folders); k++) {
			if (path_is_below(g->all[i], folders[k]))
				return true;
		}
	}
	return false;
}

/* What it means that a service may be used. */
static const struct {
	char name[16];
	unsigned access, facts;
} service_facts[] = {
	{ "email", SERVICE_SEND, SEND },
	{ "browser", SERVICE_OPEN | SERVICE_NAVIGATE | SERVICE_EVAL | SERVICE_LOGIN, SEND },
	{ "browser", SERVICE_SCREENSHOT, READ_OTHERS },
	{ "vault", SERVICE_READ, USES_SECRETS },
	{ "calendar", SERVICE_READ, READ_OTHERS },
	{ "calendar", SERVICE_WRITE, WRITE_OTHERS },
	{ "reminders", SERVICE_READ, READ_OTHERS },
	{ "reminders", SERVICE_WRITE, WRITE_OTHERS },
	{ "clipboard", SERVICE_READ, READ_OTHERS },
	{ "clipboard", SERVICE_WRITE, WRITE_OTHERS },
};

static unsigned facts_of_service(const char *name, size_t len, unsigned access)
{
	unsigned facts = 0;

	for (size_t i = 0; i < ROWS(service_facts); i++) {
		bool same = strlen(service_facts[i].name) == len &&
			    memcmp(service_facts[i].name, name, len) == 0;

		if (same && access & service_facts[i].access)
			facts |= service_facts[i].facts;
	}
	return facts;
}

/* A pattern for services, as rules have them; without an access it means every access. */
static unsigned facts_of_service_pattern(const char *pattern)
{
	struct service_request r;

	if (strcmp(pattern, "*") == 0)
		return SEND | USES_SECRETS | READ_OTHERS | WRITE_OTHERS;
	if (service_request_parse(&r, pattern) < 0)
		return UNSURE;
	return facts_of_service(r.name, r.name_len, r.access ? r.access : ~0u);
}

static unsigned facts_of_grant(enum operation op, const struct grant *g)
{
	switch (op) {
	case OPERATION_FS_READ:
		return grant_is_harmless(g, false) ? 0 : READ_OTHERS;
	case OPERATION_FS_WRITE:
		return grant_is_harmless(g, true) ? 0 : WRITE_OTHERS | READ_OTHERS;
	case OPERATION_NET_CONNECT:
		return NET;
	case OPERATION_SERVICE:
		return facts_of_service_pattern(g->all[0]);
	default:
		return 0;
	}
}

static unsigned facts_of_list(enum operation op, const struct grant_list *list)
{
	unsigned facts = 0;

	for (size_t i = 0; i < list->n; i++)
		facts |= facts_of_grant(op, &list->items[i]);
	return facts;
}

unsigned describe_facts(const struct describe *c, bool among)
{
	const struct permissions *p = c->p;
	unsigned facts = 0;
	bool any_program = !p->exec_listed;

	for (size_t i = 0; i < c->found.n * ROWS(known); i++) {
		if (strcmp(c->found.items[i / ROWS(known)].id, known[i % ROWS(known)].id) == 0)
			facts |= known[i % ROWS(known)].facts;
	}
	/* What no rule names is everything. */
	if (facts & UNBOUND)
		return FACTS;
	facts |= facts_of_list(OPERATION_FS_READ, &p->fs_read);
	facts |= facts_of_list(OPERATION_FS_WRITE, &p->fs_write);
	facts |= facts_of_list(OPERATION_NET_CONNECT, &p->network_allow);
	facts |= p->secrets.n ? USES_SECRETS : 0;
	facts |= p->listen.n || p->network_private.n ? NET : 0;
	for (size_t i = 0; i < p->n_services; i++)
		facts |= facts_of_service(
			p->services[i].name, strlen(p->services[i].name), p->services[i].access);
	for (size_t i = 0; i < p->n_guest_paths; i++) {
		const struct guest_path *g = &p->guest_paths[i];
		const struct grant grant = { .all = (const char **)&g->host, .n = 1 };

		facts |= facts_of_grant(
			g->writable ? OPERATION_FS_WRITE : OPERATION_FS_READ, &grant);
	}
	for (size_t i = 0; i < p->n_rules; i++) {
		const struct rule *r = &p->rules[i];

		if (r->disabled)
			continue;
		any_program = any_program && !(r->operations >> OPERATION_EXEC & 1);
		for (int op = 0; r->action == VERDICT_ALLOW && op < OPERATION_COUNT; op++) {
			if (r->operations >> op & 1)
				facts |= facts_of_list((enum operation)op, &r->patterns);
		}
	}
	facts |= any_program ? CODE : 0;
	return facts & UNSURE && among ? FACTS & ~UNBOUND : facts;
}

/* What facts amount to */

static const struct row {
	unsigned facts; /* all of them */
	enum risk risk;
	unsigned unless; /* said already, by a worse row */
	char reason[112];
} rows[] = {
	{ UNBOUND, RISK_CRITICAL, 0,
		"what no rule names is not blocked, so nearly everything is possible" },
	{ ROOT, RISK_CRITICAL, UNBOUND,
		"could take over the machine, and with it everything else" },
	{ WRITE_WIDE, RISK_CRITICAL, UNBOUND,
		"could change or delete a whole home, or every file" },
	{ BASELINE | NET, RISK_CRITICAL, UNBOUND,
		"could read what the baseline protects, such as keys, and send it out" },
	{ BASELINE | SEND, RISK_CRITICAL, UNBOUND | NET,
		"could read what the baseline protects, such as keys, and send it out" },
	{ SECRETS | NET_ANY, RISK_CRITICAL, UNBOUND, "could send secrets to any host" },
	{ READ_WIDE | NET_ANY, RISK_CRITICAL, UNBOUND, "could send nearly every file to any host" },

	{ BASELINE, RISK_HIGH, UNBOUND | NET | SEND, "a part of the baseline is lifted" },
	{ SESSION, RISK_HIGH, UNBOUND,
		"could act as you: with your keys, on your screen, in your programs" },
	{ WRITE_CODE | NET_ANY, RISK_HIGH, UNBOUND | WRITE_WIDE,
		"could leave code behind that runs later, outside of the sandbox" },
	{ WRITE_SYSTEM, RISK_HIGH, UNBOUND, "could change files of the system" },
	{ SECRETS | NET, RISK_HIGH, UNBOUND | NET_ANY,
		"could send secrets to the hosts that it may reach" },
	{ SECRETS | SEND, RISK_HIGH, UNBOUND | NET, "could send secrets out by mail or browser" },
	{ READ_WIDE | NET, RISK_HIGH, UNBOUND | NET_ANY,
		"could send nearly every file to the hosts that it may reach" },
	{ READ_WIDE | SEND, RISK_HIGH, UNBOUND | NET,
		"could send nearly every file out by mail or browser" },
	{ READ_OTHERS | NET_ANY, RISK_HIGH, UNBOUND | READ_WIDE,
		"could send what it may read to any host" },
	{ CODE | NET_ANY, RISK_HIGH, UNBOUND, "could fetch code from anywhere and run it" },
	{ CODE | NET_PRIVATE, RISK_HIGH, UNBOUND,
		"could attack services of this machine or of a private network" },
	{ UNSURE, RISK_HIGH, UNBOUND,
		"too long, too complex or invalid: not everything could be checked" },

	{ WRITE_CODE, RISK_MEDIUM, UNBOUND | WRITE_WIDE | NET_ANY,
		"could leave code behind that runs later, outside of the sandbox" },
	{ READ_WIDE, RISK_MEDIUM, UNBOUND | NET | SEND | WRITE_WIDE,
		"could read a whole home, or every file" },
	{ WRITE_OTHERS, RISK_MEDIUM, UNBOUND | WRITE_WIDE,
		"could change or delete what is not its own" },
	{ READ_OTHERS | NET, RISK_MEDIUM, UNBOUND | READ_WIDE | NET_ANY,
		"could send what it may read to the hosts that it may reach" },
	{ READ_OTHERS | SEND, RISK_MEDIUM, UNBOUND | READ_WIDE,
		"could send what it may read out by mail or browser" },
	{ CODE | NET, RISK_MEDIUM, UNBOUND | NET_ANY,
		"could fetch code from the hosts that it may reach and run it" },
	{ NET_ANY, RISK_MEDIUM, UNBOUND | CODE, "could reach hosts of strangers" },
	{ NET_PRIVATE, RISK_MEDIUM, UNBOUND | CODE,
		"could reach this machine or a private network" },
	{ SECRETS, RISK_MEDIUM, UNBOUND | NET | SEND, "could see secrets" },
	{ USES_SECRETS, RISK_MEDIUM, UNBOUND,
		"could act with secrets of the vault at the hosts that they are named for" },
	{ LOADED_CODE, RISK_MEDIUM, UNBOUND, "variables make its programs load other code" },
	{ SERVICE_WIDE, RISK_MEDIUM, UNBOUND, "could use a service without a bound" },
	{ SECRET_IN_POLICY, RISK_MEDIUM, UNBOUND, "a secret is written into the permissions" },

	{ READ_OTHERS, RISK_LOW, FACTS & ~CODE,
		"could read what is not its own, but send it nowhere" },
	{ SEND, RISK_LOW, FACTS & ~CODE,
		"could send mail or open pages, with nothing of yours in them" },
	{ NET, RISK_LOW, FACTS,
		"could reach the hosts that are named, with nothing of yours to send" },
};

/* What none of the facts allows. */
static unsigned describe_denied(unsigned facts)
{
	static const struct {
		unsigned facts, stop;
	} needs[] = {
		{ NET | NET_ANY | NET_PRIVATE | SEND, SKILL_STOP_NET },
		{ BASELINE, SKILL_STOP_SECRETS },
		{ SECRETS, SKILL_STOP_ENV },
		{ WRITE_OTHERS | WRITE_WIDE | WRITE_SYSTEM | WRITE_CODE, SKILL_STOP_WRITE },
		{ ROOT, SKILL_STOP_ROOT },
	};
	unsigned denied = 0;

	for (size_t i = 0; !(facts & (UNBOUND | UNSURE)) && i < ROWS(needs); i++)
		denied |= facts & needs[i].facts ? 0 : needs[i].stop;
	return denied;
}

int describe_judge(struct description *d, unsigned facts, struct arena *a)
{
	d->risk = RISK_LOW;
	d->denies = describe_denied(facts);
	for (size_t i = 0; i < ROWS(rows); i++) {
		if ((facts & rows[i].facts) != rows[i].facts)
			continue;
		if (rows[i].risk > d->risk)
			d->risk = rows[i].risk;
		d->permitted = d->confined = d->risk;
		if (!(facts & rows[i].unless & ~rows[i].facts) &&
			describe_add(a, &d->reasons, "%s", rows[i].reason) < 0)
			return -ENOMEM;
	}
	if (d->reasons.n)
		return 0;
	return describe_add(a, &d->reasons, "touches only its own files and what it needs to run");
}

int describe_unknown(struct description *d, struct arena *a)
{
	d->risk = d->permitted = d->confined = RISK_HIGH;
	d->denies = 0;
	d->reasons = (struct description_lines){ 0 };
	return describe_add(
		a, &d->reasons, "its manifest cannot be read, so what it asks for is not known");
}

/* The scan */

static const struct {
	enum skill_severity severity;
	enum risk at_least, from, to; /* what was `from` or worse becomes `to` */
	const char *what;
} describe_steps[] = {
	{ SKILL_HIGH, RISK_HIGH, RISK_HIGH, RISK_CRITICAL, "dangerous" },
	{ SKILL_MEDIUM, RISK_MEDIUM, RISK_CRITICAL, RISK_CRITICAL, "doubtful" },
	{ SKILL_LOW, RISK_LOW, RISK_CRITICAL, RISK_CRITICAL, "odd" },
};

static enum risk describe_raise(enum risk before, const size_t counts[SKILL_HIGH + 1])
{
	enum risk risk = before;

	for (size_t i = 0; i < ROWS(describe_steps); i++) {
		enum risk to = before >= describe_steps[i].from ? describe_steps[i].to
								: describe_steps[i].at_least;

		if (counts[describe_steps[i].severity] && to > risk)
			risk = to;
	}
	return risk;
}

int describe_rate(struct description *d, const size_t counts[SKILL_HIGH + 1], struct arena *a)
{
	d->risk = describe_raise(d->risk, counts);
	for (size_t i = 0; i < ROWS(describe_steps); i++) {
		size_t n = counts[describe_steps[i].severity];

		if (n && describe_add(a, &d->reasons,
				 "its files hold %zu %s %s; read %s before you approve", n,
				 describe_steps[i].what, n == 1 ? "place" : "places",
				 n == 1 ? "it" : "them") < 0)
			return -ENOMEM;
	}
	return 0;
}

void describe_confine(struct description *d, const size_t counts[SKILL_HIGH + 1])
{
	d->confined = describe_raise(d->permitted, counts);
}
