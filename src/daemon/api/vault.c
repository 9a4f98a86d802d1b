/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vault: each call is a use of `corral vault`, so no value and no key is in the daemon. A
 * passphrase would have to pass through the process that parses HTTP: it is typed in a terminal
 * instead. What opens the vault without one can be used from here.
 */
#include "daemon/api/api.h"
#include "daemon/api/tool.h"
#include "daemon/supervisor/bus.h"
#include "daemon/supervisor/supervisor.h"

/* Whoever looks at the vault asks for its state again. */
static void api_vault_tell(
	struct supervisor *s, unsigned status, const char *subject, const struct buffer *text)
{
	(void)subject;
	(void)text;
	if (status == 200)
		bus_publish(s, "vault", "{}");
}

static void api_vault_tool(struct supervisor *s, const struct route_call *c, uint64_t id,
	const char *const *argv, tool_teller *tell)
{
	tool_start(s, c,
		&(struct tool_request){ .argv = argv, .id = id, .refuses = true, .tell = tell });
}

void api_vault(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	api_vault_tool(s, c, id, (const char *const[]){ "vault", "status", "--json", NULL }, NULL);
}

void api_vault_lock(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	api_vault_tool(
		s, c, id, (const char *const[]){ "vault", "lock", "--json", NULL }, api_vault_tell);
}

void api_vault_unlock(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	const char *seconds = route_value(c, "seconds");
	auto_arena a = { 0 };
	const char *argv[] = { "vault", "unlock", "--json", NULL, NULL };

	if (seconds)
		argv[3] = arena_printf(&a, "--for=%ss", seconds);
	if (seconds && !argv[3])
		api_fail(s, id, 500, "out of memory");
	else
		api_vault_tool(s, c, id, argv, api_vault_tell);
}
