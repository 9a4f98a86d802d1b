/* SPDX-License-Identifier: Apache-2.0 */
/* How a tab of the page gets its key: `corral dashboard` asks for a link, and the page proves that
 * it knows what stands in it (daemon/login.h). */
#include <sodium.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "codec/json-writer.h"
#include "daemon/api/api.h"
#include "daemon/supervisor/http-link.h"
#include "daemon/supervisor/supervisor.h"

void api_login_code(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	uint8_t secret[LOGIN_SECRET];
	char code[2 * LOGIN_SECRET + 1];
	auto_buffer json = { 0 };
	struct json_writer w = { .out = &json };

	(void)c;
	if (!s->listeners.port) {
		api_fail(s, id, 409,
			"the daemon has no port, so a browser cannot reach it; start corrald "
			"without `--port none`");
		return;
	}
	if (getrandom(secret, sizeof(secret), 0) != (ssize_t)sizeof(secret)) {
		api_fail(s, id, 503, "no random numbers");
		return;
	}
	login_begin(&s->api.login, secret, loop_boot_now(s->loop));
	encoding_hex(secret, sizeof(secret), code);
	json_open_map(&w, NULL);
	json_put_text(&w, "code", code);
	json_put_format(&w, "url", "http://%s.localhost:%u/#code=%s", s->http.label,
		s->listeners.port, code);
	json_put_count(&w, "expires_ms", clock_ms(CLOCK_REALTIME) + LOGIN_MS);
	json_end_line(&w);
	sodium_memzero(secret, sizeof(secret));
	api_send(s, id, &json);
}

void api_login(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	uint8_t bytes[PROOF_ID / 2];
	struct message_tab t = { 0 };
	struct login_answer a = { 0 };
	const struct login_request q = { .nonce = route_value(c, "nonce"),
		.proof = route_value(c, "proof"),
		.tab = t.id,
		.start = s->http.start };
	auto_buffer json = { 0 };
	struct json_writer w = { .out = &json };

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
		api_fail(s, id, 503, "no random numbers");
		return;
	}
	encoding_hex(bytes, sizeof(bytes), t.id);
	if (!login_take(&s->api.login, &q, loop_boot_now(s->loop), &a)) {
		api_fail(s, id, 401, API_WRONG_LINK);
		return;
	}
	memcpy(t.key, a.key, sizeof(t.key));
	if (http_link_add_tab(s, &t) < 0) {
		api_fail(s, id, 503, "out of memory");
		return;
	}
	json_open_map(&w, NULL);
	json_put_text(&w, "tab", t.id);
	json_put_text(&w, "start", s->http.start);
	json_put_text(&w, "proof", a.proof);
	json_end_line(&w);
	api_send(s, id, &json);
}
