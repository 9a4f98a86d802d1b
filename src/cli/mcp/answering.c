/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/mcp/answering.h"

#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"

static uint64_t answering_now_ms(void)
{
	return clock_ms(CLOCK_BOOTTIME);
}

/*
 * A client in a sandbox would answer its own questions. What is started there has no_new_privs,
 * which every sandbox sets and no process can take off; so has all that is started from it.
 */
static int answering_check_outside(struct error *e)
{
	/* Of the kernel: a /proc may have been put in place. */
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0)
		return 0;
	return error_set(e, -EPERM, NULL,
		"--client-answers cannot be used in a sandbox, whose commands would answer their "
		"own questions (no_new_privs is set); start this server outside, or without it");
}

static int answering_begin(struct mcp_answering *a, uint64_t patience_ms, struct error *e)
{
	int r = answering_check_outside(e);

	if (r == 0)
		r = mcp_seal_init(&a->asking.seal);
	if (r < 0)
		return r;
	a->asking.principal = a->principal;
	a->asking.now_ms = answering_now_ms;
	a->asking.patience_ms = patience_ms;
	return 0;
}

int mcp_answering_begin(
	struct mcp_answering *a, struct mcp_server *s, uint64_t patience_ms, struct error *e)
{
	const int r = answering_begin(a, patience_ms, e);

	if (r < 0)
		return r;
	/* On standard input and output the client is whoever started this. */
	(void)snprintf(a->principal, sizeof(a->principal), "user %u", (unsigned)getuid());
	s->asking = &a->asking;
	return 0;
}

int mcp_answering_begin_for(
	struct mcp_answering *a, size_t token, uint64_t patience_ms, struct error *e)
{
	(void)snprintf(a->principal, sizeof(a->principal), "user %u, token %zu", (unsigned)getuid(),
		token);
	return answering_begin(a, patience_ms, e);
}

void mcp_answering_deinit(struct mcp_answering *a)
{
	mcp_seal_deinit(&a->asking.seal);
}
