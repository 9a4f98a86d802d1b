/* SPDX-License-Identifier: Apache-2.0 */
/* Where Corral was built without a fetcher. */
#include "broker/monitor/handlers.h"
#include "broker/monitor/internal.h"

static void network_refuse(struct monitor_call *c)
{
	static const struct rpc_refusal why = { .class = RPC_SERVICE,
		.message = "this broker cannot fetch: Corral was built without libcurl",
		.hint = "a program inside can connect to granted hosts itself" };

	monitor_refuse(c, &why);
}

void network_http(struct monitor_call *c)
{
	network_refuse(c);
}

void network_download(struct monitor_call *c)
{
	network_refuse(c);
}

void sockets_open(struct monitor_call *c)
{
	network_refuse(c);
}

void sockets_read(struct monitor_call *c)
{
	network_refuse(c);
}

void sockets_write(struct monitor_call *c)
{
	network_refuse(c);
}

void sockets_close(struct monitor_call *c)
{
	network_refuse(c);
}

void sockets_end_of(struct monitor *m, uint64_t connection)
{
	(void)m;
	(void)connection;
}

void sockets_end_all(struct monitor *m)
{
	(void)m;
}

void sockets_review(struct monitor *m, const struct policy *p)
{
	(void)m;
	(void)p;
}

void network_free(struct network *n)
{
	(void)n;
}
