/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A command as a path: "/" program "/" argument "/" argument …, each word encoded so that it holds
 * no slash and is never empty. Then "git push:*" is the folder /git/push with all below it, "git
 * push:" is that path alone, "git" is the folder /git, and the set for paths matches commands too,
 * at the same price.
 */
#include <stdbool.h>
#include <stddef.h>

enum { COMMAND_KEY_BYTES = 4096 };

struct command_key {
	char text[COMMAND_KEY_BYTES];
	size_t len;
	bool full; /* a word did not fit; a mark that no pattern has stands in its place */
};

void command_key_start(struct command_key *k, const char *program);
void command_key_add(struct command_key *k, const char *word);
/* The arguments are not known: matches only patterns that take any. */
void command_key_add_unknown(struct command_key *k);
