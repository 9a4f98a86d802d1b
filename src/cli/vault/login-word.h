/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The word of `corral run --login`: NAME=HOST:PORT/PATH, then hosts that the token may go to, each
 * HOST:PORT behind a comma.
 */
#include "cli/options.h"

enum { LOGIN_WORD_HOSTS_MAX = 16, LOGIN_WORD_PATH_MAX = 512 };

struct login_word {
	const char *name;
	const char *path; /* of the token endpoint, with its first slash */
	/* Spelt as in grants. The first is the one that answers with tokens. */
	const char *hosts[LOGIN_WORD_HOSTS_MAX];
	size_t n_hosts;
};

/* Texts are in the call's arena. -EINVAL, with a sentence. */
int login_word_read(struct call *c, const char *word, struct login_word *ret);
