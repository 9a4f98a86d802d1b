/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/match/command.h"

#include <string.h>

/* Bytes below 0x20 do not occur in words that matter; 0x01 starts what is encoded. */
#define ESCAPE '\001'

static bool command_key_put(struct command_key *k, const char *s, size_t n)
{
	if (n + 8 > COMMAND_KEY_BYTES - k->len)
		return false;
	memcpy(k->text + k->len, s, n);
	k->len += n;
	return true;
}

static bool put_encoded(struct command_key *k, char c)
{
	const char slash[] = { ESCAPE, 's' }, escape[] = { ESCAPE, 'e' };

	if (c == '/')
		return command_key_put(k, slash, 2);
	if (c == ESCAPE)
		return command_key_put(k, escape, 2);
	return command_key_put(k, &c, 1);
}

/* A word of its own that no encoded word equals. Room for it is always left. */
static void put_mark(struct command_key *k, char what)
{
	k->text[k->len++] = '/';
	k->text[k->len++] = ESCAPE;
	k->text[k->len++] = what;
}

void command_key_add(struct command_key *k, const char *word)
{
	size_t start = k->len;
	bool fits;

	if (k->full)
		return;
	fits = command_key_put(k, "/", 1);
	if (*word == '\0' && fits)
		fits = command_key_put(k, "\001n", 2);
	for (; *word && fits; word++)
		fits = put_encoded(k, *word);
	if (!fits) {
		k->len = start;
		k->full = true;
		put_mark(k, 't');
	}
	k->text[k->len] = '\0';
}

void command_key_add_unknown(struct command_key *k)
{
	if (!k->full)
		put_mark(k, 'u');
	k->text[k->len] = '\0';
}

void command_key_start(struct command_key *k, const char *program)
{
	k->len = 0;
	k->full = false;
	command_key_add(k, program);
}
