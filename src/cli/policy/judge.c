/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/policy/judge.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/path.h"
#include "cli/load.h"
#include "host/links.h"
#include "host/resolver.h"
#include "policy/explain.h"
#include "policy/network/host.h"
#include "threat/threat.h"

int judge_add(const struct judge *j, struct judgement *to, const struct judged *item)
{
	return ARENA_PUSH(j->call->arena, to->items, to->n, to->cap, *item) < 0
		       ? error_no_memory(j->call->error)
		       : 0;
}

/* A target that the policy cannot read, in words. */
static int malformed(const struct judge *j, const struct request *r, int code)
{
	struct host_request host;
	struct error why = { 0 };

	(void)error_set(j->call->error, code, NULL, "--target: `%s` cannot be judged as %s",
		r->target, operation_name(r->op));
	if (r->op == OPERATION_NET_CONNECT && host_request_parse(&host, r->target, &why) < 0)
		error_hint(j->call->error, "%s", why.text);
	else
		error_hint(j->call->error, "%s", operation_rows[r->op].expected);
	return code;
}

static int judge_decide(const struct judge *j, const struct request *r, struct judged *ret)
{
	int err = policy_decide(j->policy, r, &ret->decision);

	if (err < 0)
		return malformed(j, r, err);
	ret->request = *r;
	ret->verdict = ret->decision.verdict;
	return 0;
}

/*
 * The target itself, and where it leads if that is another path: the stricter answer counts.
 * `written` still has its . and .., which the policy's normal form has not: to the kernel `link/..`
 * is the parent of where the link leads.
 */
static int decide_both(
	const struct judge *j, const struct request *r, const char *written, struct judged *ret)
{
	char real[PATH_BYTES];
	struct judged there = { 0 };
	struct request other = *r;
	int err = links_follow(written, NULL, NULL, real);

	if (err < 0)
		return error_set(
			j->call->error, err, NULL, "--target: `%s`: %s", written, strerror(-err));
	err = judge_decide(j, r, ret);
	if (err < 0 || strcmp(real, r->target) == 0)
		return err;
	ret->real = other.target = arena_strdup(j->call->arena, real);
	if (!other.target)
		return error_no_memory(j->call->error);
	err = judge_decide(j, &other, &there);
	ret->real_verdict = there.verdict;
	if (err < 0 || there.verdict >= ret->verdict)
		return err;
	ret->by_real = true;
	ret->verdict = there.verdict;
	ret->request = there.request;
	ret->decision = there.decision;
	return 0;
}

/* What ~ or a variable at the start of a path stands for; "" where there is none. */
static int expand(const struct judge *j, const char *path, const char **ret, const char **ret_rest)
{
	enum variable v = VARIABLE_HOME;
	int r = 0;

	*ret = "";
	*ret_rest = path;
	if (path[0] == '$' || (path[0] == '~' && (path[1] == '/' || path[1] == '\0')))
		r = variable_split(path, &v, ret_rest, NULL, j->call->error);
	if (r != 1)
		return r;
	*ret = j->variables->values[v];
	if (*ret)
		return 0;
	return error_set(
		j->call->error, -ENOENT, NULL, "--target: $%s has no value here", variable_name(v));
}

int judge_path(const struct judge *j, const struct request *r, struct judged *ret)
{
	struct request asked = *r;
	const char *value = "", *rest = "", *written, *here = "";
	int err = *r->target ? expand(j, r->target, &value, &rest) : malformed(j, r, -EINVAL);

	if (err == 0 && !*value && rest[0] != '/')
		err = load_absolute(j->call, ".", &here);
	if (err < 0)
		return err;
	written = arena_printf(j->call->arena, "%s%s%s%s", here, *here ? "/" : "", value, rest);
	if (!written)
		return error_no_memory(j->call->error);
	err = load_absolute(j->call, written, &asked.target);
	ret->text = asked.target;
	return err < 0 ? err : decide_both(j, &asked, written, ret);
}

int judge_program(const struct judge *j, const struct request *r, struct judged *ret)
{
	struct request asked = *r;
	char file[PATH_BYTES];
	int err;

	if (strchr(r->target, '/'))
		return judge_path(j, r, ret);
	ret->name = r->target;
	err = resolver_find(r->target, file);
	if (err < 0) {
		ret->not_found = true;
		return judge_decide(j, r, ret);
	}
	ret->text = asked.target = arena_strdup(j->call->arena, file);
	return asked.target ? decide_both(j, &asked, asked.target, ret)
			    : error_no_memory(j->call->error);
}

static int judge_one(const struct judge *j, const struct request *r, struct judgement *ret)
{
	struct judged item = { .text = r->target };
	const bool is_file = r->op == OPERATION_FS_READ || r->op == OPERATION_FS_WRITE;
	int err = is_file                   ? judge_path(j, r, &item)
		  : r->op == OPERATION_EXEC ? judge_program(j, r, &item)
					    : judge_decide(j, r, &item);

	return err < 0 ? err : judge_add(j, ret, &item);
}

int judge_request(const struct judge *j, const struct request *r, struct judgement *ret)
{
	int err;

	/* With arguments of its own the target is one program, whatever characters its name has. */
	*ret = (struct judgement){ .is_line = r->op == OPERATION_EXEC && r->n_args == 0 &&
					      strpbrk(r->target, " \t\n|&;<>()`'\"\\") };
	err = ret->is_line ? judge_line(j, r, ret) : judge_one(j, r, ret);
	if (err < 0)
		return err;
	ret->deciding = &ret->items[0];
	for (size_t i = 1; i < ret->n; i++) {
		if (ret->items[i].verdict < ret->deciding->verdict)
			ret->deciding = &ret->items[i];
	}
	return 0;
}

/* In words */

void judge_reason(const struct judged *j, struct buffer *out)
{
	switch (j->kind) {
	case JUDGED_REQUEST:
		explain_reason(&j->request, &j->decision, out);
		break;
	case JUDGED_BUILTIN:
		buffer_adds(out, "the shell does this itself");
		break;
	case JUDGED_UNKNOWN:
		buffer_printf(out, "%s is only known when it runs", j->unknown);
		break;
	}
}

struct request judge_remedy_request(const struct judged *j)
{
	struct request r = j->request;

	if (j->name && !j->by_real)
		r.target = j->name;
	return r;
}

bool judge_is_interpreter(const struct judged *j)
{
	if (j->kind != JUDGED_REQUEST || j->request.op != OPERATION_EXEC ||
		j->verdict != VERDICT_ALLOW)
		return false;
	return threat_program(j->request.target, THREAT_INTERPRETER) ||
	       (j->real && threat_program(j->real, THREAT_INTERPRETER));
}
