/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a source has (vault/source-text.h), for the process that started corral-vault, which cannot
 * do this itself.
 *
 * A file is read only by a way that no command of the user can have changed: a link that one could
 * have left there would choose which file of the user's goes out as the value. A program must be
 * out of reach of all commands (host/planted.h): it runs with the user's rights. It gets no
 * variable of ours, no input, / as its folder, and a minute.
 *
 * A program prints the value, and nothing else; or a JSON object: `value`, and `expires` (RFC 3339,
 * or seconds since 1970) or `expires_in` (seconds). An object without `value` is the value as it
 * is; of it `Expiration` counts, too, as AWS has it.
 */
#include "base/error.h"
#include "vault/secret.h"

struct source_value {
	struct secret value; /* len is the value's; the caller frees it */
	uint64_t expires_s;  /* 0: not known */
};

int source_read(const char *text, struct source_value *ret, struct error *e);
/* What the output of a program means; for tests, too. -EINVAL. */
int source_parse(
	const void *output, size_t len, uint64_t now_s, struct source_value *ret, struct error *e);
/* Runs a program of the user's choice that is out of reach, and takes its output; input may be
 * NULL. */
int source_run(
	const char *const *argv, const struct secret *input, struct secret *ret, struct error *e);
/*
 * Runs corral-secret-service (services/secret/) with these words, which end with NULL, on the
 * session bus of this process: "get" and attributes, or "set", a label and attributes.
 */
int source_run_service(
	const char *const *words, const struct secret *input, struct secret *ret, struct error *e);
