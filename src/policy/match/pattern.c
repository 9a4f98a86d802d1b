/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/match/pattern.h"

#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "policy/baseline.h"
#include "policy/match/command.h"
#include "policy/match/glob.h"
#include "policy/network/host.h"
#include "policy/variable.h"

/* Alternatives keep the spelling they were written in. */
static int canonical_path(const char *text, struct buffer *out, struct arena *scratch,
	const struct location *where, struct error *e)
{
	const char *rest = text;
	enum variable v;
	struct glob g;
	int r = variable_split(text, &v, &rest, where, e);

	if (r < 0)
		return r;
	if (r == 1) {
		buffer_printf(out, "$%s", variable_name(v));
		if (*rest == '\0')
			return 0;
		/* After a folder's name a slash means all below, not the root. */
		if (strspn(rest, "/") == strlen(rest))
			rest = "/**";
	}
	r = glob_parse(&g, scratch, rest, where, e);
	if (r < 0)
		return r;
	if (g.n > 1 || strchr(rest, '{'))
		buffer_adds(out, rest);
	else
		glob_print(&g.alternatives[0], out);
	return 0;
}

static int canonical_command(const char *text, struct buffer *out, struct arena *scratch,
	const struct location *where, struct error *e)
{
	auto_buffer program = { 0 };
	struct command_pattern p;
	int r = command_pattern_parse(&p, scratch, text, where, e);

	if (r < 0)
		return r;
	if (!p.is_name && !p.line) {
		r = canonical_path(p.program, &program, scratch, where, e);
		if (r < 0)
			return r;
		if (program.failed)
			return -ENOMEM;
		p.program = buffer_text(&program);
	}
	command_pattern_print(&p, out);
	return 0;
}

int pattern_canonical(enum operation op, const char *text, struct arena *a, const char **ret,
	const struct location *where, struct error *e)
{
	auto_arena scratch = { 0 };
	auto_buffer out = { 0 };
	struct host_pattern host;
	enum glob_kind kind;
	size_t len;
	int r = 0;

	/* Nearly all are written as they are printed. */
	if ((op == OPERATION_FS_READ || op == OPERATION_FS_WRITE) &&
		glob_plain(text, &len, &kind)) {
		if (ret)
			*ret = arena_strdup(a, text);
		return ret && !*ret ? -ENOMEM : 0;
	}

	switch (operation_rows[op].target) {
	case TARGET_PATH:
		r = canonical_path(text, &out, &scratch, where, e);
		break;
	case TARGET_HOST:
		r = host_pattern_parse(&host, &scratch, text, where, e);
		if (r == 0)
			host_pattern_print(&host, &out);
		break;
	case TARGET_COMMAND:
		r = canonical_command(text, &out, &scratch, where, e);
		break;
	case TARGET_NAME:
	case TARGET_SERVICE:
	case TARGET_SECRET:
		buffer_adds(&out, text);
		break;
	}
	if (r < 0)
		return r;
	if (out.failed)
		return -ENOMEM;
	if (ret)
		*ret = arena_strdup(a, buffer_text(&out));
	return ret && !*ret ? -ENOMEM : 0;
}

/* Why it cannot be an entry of network.private; NULL: it can. */
static const char *pattern_private_fault(const struct host_pattern *h)
{
	const struct baseline_net *guard;

	if (h->kind == HOST_ANY)
		return "would open every private address to every name; list the names";
	if (h->kind == HOST_PREFIX)
		return "is an address; grant it in network.allow";
	if (h->kind != HOST_NAME && h->kind != HOST_SUBDOMAINS)
		return "is not a host name";
	if (host_pattern_is_narrowed(h))
		return "has a path, which a connection does not show; write NAME:PORT";
	guard = baseline_guard_of_name(h->name);
	return guard && !guard->is_private ? "is this machine; grant it in network.allow" : NULL;
}

int pattern_private(enum operation op, const char *text, struct arena *a, const char **ret,
	const struct location *where, struct error *e)
{
	auto_arena scratch = { 0 };
	struct host_pattern h;
	const char *fault;
	int r = host_pattern_parse(&h, &scratch, text, where, e);

	if (r < 0)
		return r;
	fault = pattern_private_fault(&h);
	if (fault)
		return error_set(e, -EINVAL, where, "`%s` %s", text, fault);
	return pattern_canonical(op, text, a, ret, where, e);
}
