/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* An enclave for tests of its files, and calls of which only the outcome counts. */
#include <corral/enclave.h>

#include "lib/enclave/test/test-tree.h"

extern char test_files_token[CORRAL_TOKEN_BYTES];

/* Grants are "read PATTERN", "write …", "deny …", "ask …", "danger …"; the list ends with NULL. */
struct corral_permissions *test_files_permissions(const char *const *lines);
struct corral_enclave *test_files_enclave(const char *const *lines);
struct corral_enclave *test_files_enclave_of(
	const char *const *lines, const struct corral_enclave_options *o);

/* Each returns the code; the message of a failure is test_files_message. Paths with "@". */
extern char test_files_message[1024];
/* Denied by a rule, not by the system or for another reason. */
extern bool test_files_denied;
/* The content becomes text, if there is room for it and its NUL. */
int test_files_read(struct corral_enclave *enclave, const char *path, char text[64]);
int test_files_write(struct corral_enclave *enclave, const char *path, const char *text);
int test_files_delete(struct corral_enclave *enclave, const char *path);
int test_files_stat(struct corral_enclave *enclave, const char *path, struct corral_file *ret);
/* The names, each with a space after it. */
long test_files_list(struct corral_enclave *enclave, const char *path, char names[256]);
