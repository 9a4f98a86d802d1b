/* SPDX-License-Identifier: Apache-2.0 */
/* How a page gets the token: `corral dashboard` asks for a code, and the page shows it. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>

#include "base/clock.h"
#include "daemon/supervisor/internal.h"

void api_login_code(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	uint8_t bytes[LOGIN_CODE / 2];
	auto_buffer json = { 0 };

	(void)c;
	if (!s->port) {
		api_fail(s, id, 409,
			"the daemon has no port, so a browser cannot reach it; start corrald "
			"without `--port none`");
		return;
	}
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
		api_fail(s, id, 503, "no random numbers");
		return;
	}
	login_begin(&s->login, bytes, loop_boot_now(s->loop));
	buffer_printf(&json,
		"{\"code\":\"%s\",\"url\":\"http://%s:%u/#code=%s\",\"expires_ms\":%" PRIu64 "}\n",
		s->login.code, s->config.is_v6 ? "[::1]" : "127.0.0.1", s->port, s->login.code,
		clock_ms(CLOCK_REALTIME) + LOGIN_MS);
	api_send(s, id, &json);
}

void api_login(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	static const char why[] = "this link was used already, or is older than a minute; "
				  "`corral dashboard` makes a new one";
	auto_buffer json = { 0 };

	if (!login_take(&s->login, route_value(c, "code"), loop_boot_now(s->loop))) {
		api_fail(s, id, 401, why);
		return;
	}
	buffer_printf(&json, "{\"token\":\"%s\"}\n", s->folder.token);
	api_send(s, id, &json);
}
