/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/operation.h"

#include <errno.h>
#include <string.h>

#include "policy/algebra/meet.h"
#include "policy/algebra/subset.h"
#include "policy/explain.h"
#include "policy/layer.h"
#include "policy/match/env-name.h"
#include "policy/match/pattern.h"
#include "policy/match/secret.h"
#include "policy/operation-names.h"
#include "policy/permissions.h"
#include "policy/service-table.h"

static bool is_name_byte(char c, bool first)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
	       (!first && c >= '0' && c <= '9');
}

/* One that no request could match would set nothing, in silence. */
static int operation_check_env_size(const char *text, const struct location *where, struct error *e)
{
	const size_t len = strlen(text), name = strcspn(text, "=");

	if (len <= ENV_NAME_ITEM_MAX)
		return 0;
	(void)error_set(e, -E2BIG, where,
		"the variable %.*s has %zu bytes with its name; at most %d can be granted as "
		"NAME=value",
		name < 100 ? (int)name : 100, text, len, ENV_NAME_ITEM_MAX);
	error_hint(e, "set it outside and grant its name alone, or pass the value in a file");
	return -E2BIG;
}

/* NAME or NAME=value; a name that is only passed on may be a glob. */
static int operation_spell_env(enum operation op, const char *text, struct arena *a,
	const char **ret, const struct location *where, struct error *e)
{
	size_t len = strcspn(text, "=");
	const char *copy = NULL;
	bool glob = false;

	(void)op;
	for (size_t i = 0; i < len; i++) {
		bool wild = text[i] == '*' || text[i] == '?';

		if (!wild && !is_name_byte(text[i], i == 0))
			return error_set(e, -EINVAL, where,
				"`%.*s` is not a valid variable name: use letters, digits and _, "
				"and * and ? as wildcards",
				(int)len, text);
		glob = glob || wild;
	}
	if (len == 0)
		return error_set(e, -EINVAL, where, "the name of a variable is missing");
	if (text[len] == '=' && glob)
		return error_set(e, -EINVAL, where,
			"`%s` gives one value to many variables; name them one by one", text);
	if (strchr(text, '\n'))
		return error_set(e, -EINVAL, where, "the value of `%.*s` contains a line break",
			(int)len, text);
	if (operation_check_env_size(text, where, e) < 0)
		return -E2BIG;
	if (!ret)
		return 0;
	copy = arena_strdup(a, text);
	if (copy)
		*ret = copy;
	return copy ? 0 : -ENOMEM;
}

const struct operation_row operation_rows[OPERATION_COUNT] = {
	[OPERATION_FS_READ] = {
		.target = TARGET_PATH,
		.allow = LIST_FS_READ,
		.deny = LIST_FS_DENY,
		.granted_in = "fs.read or fs.write",
		.title = "What it could read",
		.verb = "read",
		.expected = "expected a path",
		.spell = pattern_canonical,
		.relate = meet_relate_paths,
		.subset = subset_files,
		.compile = layer_add_path,
		.line = explain_line_file,
	},
	[OPERATION_FS_WRITE] = {
		.target = TARGET_PATH,
		.allow = LIST_FS_WRITE,
		.deny = LIST_FS_DENY,
		.granted_in = "fs.write",
		.title = "What it could change",
		.verb = "change, create and delete",
		.expected = "expected a path",
		.spell = pattern_canonical,
		.relate = meet_relate_paths,
		.subset = subset_files,
		.compile = layer_add_path,
		.line = explain_line_file,
	},
	[OPERATION_NET_CONNECT] = {
		.target = TARGET_HOST,
		.allow = LIST_NETWORK_ALLOW,
		.deny = LIST_NETWORK_DENY,
		.granted_in = "network.allow",
		.title = "What it could reach",
		.verb = "connect to",
		.expected = "expected host:port, a URL or unix:/path",
		.spell = pattern_canonical,
		.relate = meet_relate_hosts,
		.meet = meet_hosts,
		.subset = subset_hosts,
		.compile = layer_add_host,
		.line = explain_line_host,
	},
	[OPERATION_EXEC] = {
		.target = TARGET_COMMAND,
		.allow = LIST_EXEC,
		.deny = LIST_NONE,
		.granted_in = "exec",
		.title = "What it could run",
		.verb = "run",
		.expected = "expected a program or a command line",
		.spell = pattern_canonical,
		.relate = meet_relate_texts,
		.meet = meet_commands,
		.subset = subset_commands,
		.compile = layer_add_command,
		.line = explain_line_command,
	},
	[OPERATION_ENV] = {
		.target = TARGET_NAME,
		.allow = LIST_ENV,
		.deny = LIST_NONE,
		.granted_in = "env",
		.title = "Variables it sees",
		.verb = "see",
		.expected = "expected NAME or NAME=value",
		.spell = operation_spell_env,
		.relate = meet_relate_names,
		.subset = subset_names,
		.compile = layer_add_name,
		.line = explain_line_name,
	},
	[OPERATION_SERVICE] = {
		.target = TARGET_SERVICE,
		.allow = LIST_NONE,
		.deny = LIST_NONE,
		.granted_in = "services",
		.title = "Services it could use",
		.verb = "use",
		.expected = "expected NAME.ACCESS or NAME.ACCESS:VALUE, as calendar.read:Work",
		.spell = service_spell,
		.subset = subset_services,
		.line = explain_line_service,
	},
	[OPERATION_SECRET] = {
		.target = TARGET_SECRET,
		.allow = LIST_SECRETS,
		.deny = LIST_NONE,
		.granted_in = "secrets",
		.title = "Secrets it could use",
		.verb = "use",
		.expected = "expected NAME=HOST:PORT, with ,PLACE and ,PROGRAM or without, as "
			    "GITHUB_TOKEN=api.github.com:443,query or "
			    "GITHUB_TOKEN=api.github.com:443,header,/usr/bin/gh",
		.spell = secret_spell,
		.relate = meet_relate_secrets,
		.subset = subset_secrets,
		.line = explain_line_secret,
	},
};

#define AT(member) .offset = offsetof(struct permissions, member)
#define BIT(name) (1U << OPERATION_##name)

/* fs.write grants reading as well, and fs.deny denies both. */
const struct list_row list_rows[LIST_COUNT] = {
	[LIST_FS_READ] = { "fs.read", AT(fs_read), OPERATION_FS_READ, .verdict = VERDICT_ALLOW,
		.decides = BIT(FS_READ) },
	[LIST_FS_WRITE] = { "fs.write", AT(fs_write), OPERATION_FS_WRITE, .verdict = VERDICT_ALLOW,
		.decides = BIT(FS_READ) | BIT(FS_WRITE) },
	[LIST_FS_DENY] = { "fs.deny", AT(fs_deny), OPERATION_FS_READ, .verdict = VERDICT_DENY,
		.decides = BIT(FS_READ) | BIT(FS_WRITE) },
	[LIST_NETWORK_ALLOW] = { "network.allow", AT(network_allow), OPERATION_NET_CONNECT,
		.verdict = VERDICT_ALLOW, .decides = BIT(NET_CONNECT) },
	[LIST_NETWORK_PRIVATE] = { "network.private", AT(network_private), OPERATION_NET_CONNECT,
		.spell = pattern_private, .verdict = VERDICT_ALLOW, .decides = BIT(NET_CONNECT) },
	[LIST_NETWORK_DENY] = { "network.deny", AT(network_deny), OPERATION_NET_CONNECT,
		.verdict = VERDICT_DENY, .decides = BIT(NET_CONNECT) },
	[LIST_EXEC] = { "exec", AT(exec), OPERATION_EXEC, .verdict = VERDICT_ALLOW,
		.decides = BIT(EXEC) },
	[LIST_ENV] = { "env", AT(env), OPERATION_ENV, .verdict = VERDICT_ALLOW,
		.decides = BIT(ENV) },
	[LIST_SECRETS] = { "secrets", AT(secrets), OPERATION_SECRET, .verdict = VERDICT_ALLOW,
		.decides = BIT(SECRET) },
	[LIST_DANGEROUSLY_ALLOW] = { "dangerously_allow", AT(dangerously_allow),
		OPERATION_FS_READ },
	[LIST_LISTEN] = { "network.listen", AT(listen), OPERATION_NET_CONNECT, .words = true },
	[LIST_INSPECT] = { "network.inspect", AT(inspect), OPERATION_NET_CONNECT, .words = true },
	[LIST_METHODS] = { "network.methods", AT(network.methods), OPERATION_NET_CONNECT,
		.words = true },
};

const char *operation_name(enum operation op)
{
	return operation_names[op];
}

int operation_parse(const char *word, enum operation *ret)
{
	for (int op = 0; op < OPERATION_COUNT; op++) {
		if (strcmp(word, operation_names[op]) == 0) {
			*ret = (enum operation)op;
			return 0;
		}
	}
	return -EINVAL;
}
