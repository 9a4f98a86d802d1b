/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/login.h"

#include <sodium.h>
#include <string.h>

#include "base/ascii.h"
#include "codec/encoding.h"

void login_begin(struct login *l, const uint8_t secret[LOGIN_SECRET], uint64_t now_ms)
{
	memcpy(l->secret, secret, LOGIN_SECRET);
	l->until_ms = now_ms + LOGIN_MS;
}

static bool login_knows(const struct login *l, const struct login_request *q)
{
	const char *const lines[] = { "corral-login-1", q->nonce, NULL };
	uint8_t mac[PROOF_MAC / 2];
	char proof[PROOF_MAC + 1];

	if (!ascii_is_hex_text(q->nonce, PROOF_ID) || !ascii_is_hex_text(q->proof, PROOF_MAC))
		return false;
	proof_mac(l->secret, lines, mac);
	encoding_hex(mac, sizeof(mac), proof);
	return sodium_memcmp(proof, q->proof, PROOF_MAC) == 0;
}

bool login_take(
	struct login *l, const struct login_request *q, uint64_t now_ms, struct login_answer *ret)
{
	const char *const tab[] = { "corral-tab-1", q->nonce, q->tab, NULL };
	const char *const own[] = { "corral-daemon-1", q->nonce, q->tab, q->start, NULL };
	const bool is_late = now_ms >= l->until_ms;
	const bool is_it = !is_late && login_knows(l, q);
	uint8_t mac[PROOF_MAC / 2];

	if (is_it) {
		proof_mac(l->secret, tab, ret->key);
		proof_mac(l->secret, own, mac);
		encoding_hex(mac, sizeof(mac), ret->proof);
	}
	if (is_it || is_late)
		sodium_memzero(l, sizeof(*l));
	return is_it;
}
