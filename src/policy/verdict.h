/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The words that every part of the policy shares. Zero denies. */

/* Ordered: the strictest of several is the least. */
enum verdict { VERDICT_DENY, VERDICT_ASK, VERDICT_ALLOW };

enum operation {
	OPERATION_FS_READ,
	OPERATION_FS_WRITE,
	OPERATION_NET_CONNECT,
	OPERATION_EXEC,
	OPERATION_ENV,
	OPERATION_SERVICE,
};
enum { OPERATION_COUNT = 6 };

/* "deny", "ask", "allow". */
const char *verdict_name(enum verdict v);
static inline enum verdict verdict_strictest(enum verdict a, enum verdict b)
{
	return a < b ? a : b;
}

/* "fs.read", "fs.write", "net.connect", "exec", "env", "service". */
const char *operation_name(enum operation op);
/* -EINVAL if the word is not one of these. */
int operation_parse(const char *word, enum operation *ret);
