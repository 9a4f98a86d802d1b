/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* An enclave for tests of what it grants, asks and tells. */
#include "test/unit.h"

#include <corral/enclave.h>

#define URL "https://api.example.com/v1"
#define HOST "api.example.com:443"

extern char test_enclave_token[CORRAL_TOKEN_BYTES];

/* Permissions from YAML; the caller frees them. */
struct corral_permissions *test_enclave_permissions(const char *yaml);
/* Granted what the YAML says; NULL: nothing. The options may be NULL, too. */
struct corral_enclave *test_enclave(const char *yaml, const struct corral_enclave_options *o);

/* With the right token; what fails fails the test. */
void test_enclave_grant(
	struct corral_enclave *enclave, enum corral_operation op, const char *pattern);
void test_enclave_revoke(
	struct corral_enclave *enclave, enum corral_operation op, const char *pattern);

/* The code of a GET of that URL by that actor; *ret_question (may be NULL) as the error has it. */
int test_enclave_get(
	struct corral_enclave *enclave, const char *actor, const char *url, uint64_t *ret_question);

/* How many events in the log have all of these texts in them; NULL: any. */
unsigned test_enclave_told(struct corral_enclave *enclave, const char *action, const char *decision,
	const char *target, const char *reason);
