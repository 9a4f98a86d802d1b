/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/enclave/test/test-common.h"

#include <stdlib.h>
#include <string.h>

char test_enclave_token[CORRAL_TOKEN_BYTES];

struct corral_permissions *test_enclave_permissions(const char *yaml)
{
	struct corral_permissions *p = NULL;
	struct corral_error *e = NULL;

	if (corral_permissions_parse(&p, "test.yaml", yaml, strlen(yaml), &e) < 0)
		fail_msg("%s", corral_error_message(e));
	return p;
}

struct corral_enclave *test_enclave(const char *yaml, const struct corral_enclave_options *o)
{
	struct corral_enclave_options options = CORRAL_ENCLAVE_OPTIONS;
	struct corral_permissions *p = yaml ? test_enclave_permissions(yaml) : NULL;
	struct corral_enclave *enclave = NULL;
	struct corral_error *e = NULL;

	if (o)
		options = *o;
	options.granted = p;
	if (corral_enclave_new(&enclave, &options, test_enclave_token, &e) < 0)
		fail_msg("%s", corral_error_message(e));
	corral_permissions_free(p);
	return enclave;
}

void test_enclave_grant(
	struct corral_enclave *enclave, enum corral_operation op, const char *pattern)
{
	struct corral_error *e = NULL;

	if (corral_enclave_grant(enclave, test_enclave_token, op, pattern, NULL, &e) < 0)
		fail_msg("%s", corral_error_message(e));
}

void test_enclave_revoke(
	struct corral_enclave *enclave, enum corral_operation op, const char *pattern)
{
	struct corral_error *e = NULL;

	if (corral_enclave_revoke(enclave, test_enclave_token, op, pattern, NULL, &e) < 0)
		fail_msg("%s", corral_error_message(e));
}

int test_enclave_get(
	struct corral_enclave *enclave, const char *actor, const char *url, uint64_t *ret_question)
{
	const struct corral_by by = { .size = sizeof(by), .actor = actor };
	struct corral_error *e = NULL;
	int r = corral_enclave_http_request(enclave, &by, "GET", url, &e);

	if (ret_question)
		*ret_question = corral_error_question(e);
	corral_error_free(e);
	return r;
}

/* A line of the log is one event: {"number":1,…,"action":"fs.read","target":"…",…}. */
static bool has_field(const char *line, const char *name, const char *text)
{
	const char *at, *end, *found;
	char key[32] = "\"";

	if (!text)
		return true;
	(void)strcat(strcat(strcat(key, name), "\":\""), "");
	at = strstr(line, key);
	if (!at)
		return false;
	end = strstr(at + strlen(key), "\",\"");
	found = strstr(at + strlen(key), text);
	return found && (!end || found < end);
}

unsigned test_enclave_told(struct corral_enclave *enclave, const char *action, const char *decision,
	const char *target, const char *reason)
{
	char *log = NULL, *state = NULL;
	unsigned n = 0;

	assert_int_equal(corral_enclave_get_audit_log(enclave, 0, &log, NULL), 0);
	for (char *line = strtok_r(log, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
		n += line[0] == '{' && has_field(line, "action", action) &&
		     has_field(line, "decision", decision) && has_field(line, "target", target) &&
		     has_field(line, "reason", reason);
	corral_free(log);
	return n;
}
