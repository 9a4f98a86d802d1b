/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/login.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

void login_begin(struct login *l, const uint8_t bytes[LOGIN_CODE / 2], uint64_t now_ms)
{
	for (size_t i = 0; i < LOGIN_CODE / 2; i++)
		(void)snprintf(l->code + 2 * i, 3, "%02x", bytes[i]);
	l->until_ms = now_ms + LOGIN_MS;
	l->tries = LOGIN_TRIES;
}

bool login_take(struct login *l, const char *code, uint64_t now_ms)
{
	bool is_it;

	if (l->tries == 0)
		return false;
	l->tries--;
	is_it = now_ms < l->until_ms && strlen(code) == LOGIN_CODE &&
		sodium_memcmp(code, l->code, LOGIN_CODE) == 0;
	if (is_it || now_ms >= l->until_ms)
		l->tries = 0;
	if (l->tries == 0)
		memset(l->code, 0, sizeof(l->code));
	return is_it;
}
