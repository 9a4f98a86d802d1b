/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/verdict.h"

#include <errno.h>
#include <string.h>

static const char *const verdicts[] = {
	[VERDICT_DENY] = "deny",
	[VERDICT_ASK] = "ask",
	[VERDICT_ALLOW] = "allow",
};

static const char *const operations[OPERATION_COUNT] = {
	[OPERATION_FS_READ] = "fs.read",
	[OPERATION_FS_WRITE] = "fs.write",
	[OPERATION_NET_CONNECT] = "net.connect",
	[OPERATION_EXEC] = "exec",
	[OPERATION_ENV] = "env",
	[OPERATION_SERVICE] = "service",
};

const char *verdict_name(enum verdict v)
{
	return verdicts[v];
}

const char *operation_name(enum operation op)
{
	return operations[op];
}

int operation_parse(const char *word, enum operation *ret)
{
	for (int op = 0; op < OPERATION_COUNT; op++) {
		if (strcmp(word, operations[op]) == 0) {
			*ret = (enum operation)op;
			return 0;
		}
	}
	return -EINVAL;
}
