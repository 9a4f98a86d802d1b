/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/policy/ask.h"

#include "base/array.h"
#include "policy/network/host.h"

static int take_operation(struct call *c, const struct options_row *row, const char *value)
{
	const char *names[OPERATION_COUNT];

	if (operation_parse(value, row->target) == 0)
		return 0;
	for (int op = 0; op < OPERATION_COUNT; op++)
		names[op] = operation_name((enum operation)op);
	return options_unknown_word(c, row, value, names, OPERATION_COUNT);
}

static int take_method(struct call *c, const struct options_row *row, const char *value)
{
	static const char *const known[] = { "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE",
		"OPTIONS" };

	if (host_method(value))
		return options_text(c, row, value);
	return options_unknown_word(c, row, value, known, ROWS(known));
}

static int ask_parse(struct ask *a, struct call *c)
{
	const struct options_row rows[] = {
		{ "policy", 'p', "FILE",
			"a file or folder with permissions, a skill or rules;\n"
			"if repeated, all of them must allow",
			options_list, &a->policies, OPTIONS_MANY },
		{ "op", 'o', "OP", "fs.read, fs.write, net.connect, exec, env or service",
			take_operation, &a->request.op, OPTIONS_REQUIRED },
		{ "target", 't', "TARGET",
			"of what: a path; host:port or a URL; a program or a whole\n"
			"command line; NAME or NAME=value; service.access:value",
			options_text, &a->request.target, OPTIONS_REQUIRED },
		{ "arg", 'a', "ARG", "an argument of the program; may be repeated", options_list,
			&a->arguments, OPTIONS_MANY },
		{ "method", 'm', "METHOD", "the HTTP method, for a URL", take_method,
			&a->request.method, OPTIONS_OPTIONAL },
		LOAD_SET(&a->load),
		OPTIONS_JSON(&a->json),
	};

	return options_parse(c, rows, ROWS(rows));
}

/* Options that say something only together with another. */
static int ask_check(const struct ask *a, struct call *c)
{
	if (a->policies.n == 0)
		return options_misused(c, "--policy FILE is missing");
	if (a->arguments.n && a->request.op != OPERATION_EXEC)
		return options_misused(c, "--arg goes with --op exec only");
	if (a->request.method && a->request.op != OPERATION_NET_CONNECT)
		return options_misused(c, "--method goes with --op net.connect only");
	return 0;
}

int ask_run(struct ask *a, struct call *c)
{
	static const char *const none = NULL;
	struct judge j = { .call = c, .variables = &a->load.variables };
	int r = ask_parse(a, c);

	if (r == 0)
		r = ask_check(a, c);
	if (r == 0)
		r = load_begin(&a->load, c);
	if (r == 0)
		r = load_add_all(&a->load, c, a->policies.items, a->policies.n, MANIFEST_UNKNOWN);
	if (r == 0)
		r = load_compile(&a->load, c, &a->policy);
	if (r != 0)
		return r;
	/* As in a shell, a name alone is a program without arguments. */
	a->request.args = a->arguments.n ? a->arguments.items : &none;
	a->request.n_args = a->arguments.n;
	j.policy = a->policy;
	return judge_request(&j, &a->request, &a->judgement);
}

void ask_deinit(struct ask *a)
{
	policy_free(a->policy);
	load_deinit(&a->load);
}

int ask_status(const struct ask *a)
{
	static const int statuses[] = {
		[VERDICT_DENY] = STATUS_NO,
		[VERDICT_ASK] = STATUS_ASK,
		[VERDICT_ALLOW] = STATUS_YES,
	};

	return statuses[a->judgement.deciding->verdict];
}
