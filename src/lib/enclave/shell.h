/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One call of shell_exec: what is to run, where, with which variables and which input; and the
 * words for it. What is judged is what runs: the program is a path from here on, found in the
 * system's usual folders and not by anybody's PATH.
 */
#include "base/arena.h"
#include "lib/enclave/internal.h"

struct enclave_shell {
	struct enclave_call c;
	struct corral_call call;
	struct arena arena;
	const char **argv; /* argv[0] is a path, but for a name that the host has no program of */
	size_t n_argv;
	/* The folder, each variable, and last the program with its arguments. */
	struct request *requests;
	size_t n_requests;
};

void enclave_shell_deinit(struct enclave_shell *s);
#define auto_enclave_shell __attribute__((cleanup(enclave_shell_deinit))) struct enclave_shell

/* Reads a call, and finds what is meant: s->c must have begun. -EINVAL, -E2BIG … with a sentence.
 */
int enclave_shell_read(struct enclave_shell *s, const char *const *argv,
	const struct corral_call *call, struct error *e);
