/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of secrets*.c share: what is asked of the lender, and how it is said.
 */
#pragma once

#include "cli/run/internal.h"
#include "wire/lend.h"

enum { SECRETS_LEAVES_MAX = 256 };

/* What is asked of the lender. */
struct secrets_plan {
	struct options_list words;   /* NAME, NAME=HOST:PORT: must be lent */
	struct options_list within;  /* NAME=HOST:PORT,PLACE[,PROGRAM]: of these names, no more */
	struct options_list tries;   /* NAME: of presets, may be lent */
	struct options_list inspect; /* HOST:PORT, of network.inspect */
	/* NAME=HOST:PORT,PLACE: what policies name, for programs that the broker starts. */
	struct options_list calls;
	struct options_list logins; /* words of --login */
	const struct permissions *base[SECRETS_LEAVES_MAX], *ceiling[SECRETS_LEAVES_MAX];
	size_t n_base, n_ceiling;
};

bool run_secrets_has(const struct options_list *list, const char *text);
/* Once, whatever the list has. */
int run_secrets_add(struct run *r, struct options_list *to, const char *text);
void run_secrets_note(const struct run *r, const char *who, const char *text);
/* The option or the word that a message is about. */
const char *run_secrets_who(const struct run *r);
/* Whether the user has named it, and so its hosts. A policy grants its hosts itself. */
bool run_secrets_is_option(const struct run *r, const char *name);
/* A file of the host that has another text inside; once for a path. */
int run_secrets_cover(struct run *r, const char *path, const char *text, bool is_base64);
/* Lists of authorities in other forms than PEM. pem: what the list in that form has. */
int run_secrets_stores(struct run *r, const char *pem);
/* Whether a name is that of a token of a login, of --login. */
bool run_secrets_is_login(const struct run *r, const char *name);
/* What is asked, by the policies, the options and the presets. */
int run_secrets_plan(struct run *r, struct secrets_plan *p);
