/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings of the sandbox's own network namespace, in /proc/sys/net, which shows those of whoever
 * looks. The kernel's defaults are for links on which packets get lost and arrive late. Here none
 * does, but many connections come and go between two addresses: of each only the port of one side
 * tells it from the others, so a connection that has ended must be forgotten soon.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "net/enter/internal.h"

#define NET "/proc/sys/net/"

static const struct {
	const char *path, *value;
} settings[] = {
	/* Servers inside may have any port. */
	{ NET "ipv4/ip_unprivileged_port_start", "0" },
	{ NET "core/somaxconn", "4096" },
	/* A port is free again a second after its connection has ended. */
	{ NET "ipv4/tcp_tw_reuse", "1" },
	{ NET "netfilter/nf_conntrack_tcp_timeout_time_wait", "1" },
	{ NET "netfilter/nf_conntrack_tcp_timeout_close", "1" },
	{ NET "netfilter/nf_conntrack_tcp_timeout_last_ack", "5" },
	{ NET "netfilter/nf_conntrack_udp_timeout", "5" },
	{ NET "netfilter/nf_conntrack_udp_timeout_stream", "5" },
	/* What comes in the middle of a connection that was not tracked from its start, as those of
	 * the relay to servers inside, is no new one, to be led elsewhere. */
	{ NET "netfilter/nf_conntrack_tcp_loose", "0" },
	/* A half-closed one has not: it may be silent for as long as an open one. */
	{ NET "netfilter/nf_conntrack_tcp_timeout_fin_wait", "432000" },
	{ NET "netfilter/nf_conntrack_tcp_timeout_close_wait", "432000" },
};

static int capture_settings_put(const char *path, const char *value)
{
	auto_fd fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		return -errno;
	return 0;
}

bool capture_settings_ipv6(void)
{
	/* Of all, which only concerns interfaces to come, and of the one that is there. */
	return capture_settings_put(NET "ipv6/conf/all/disable_ipv6", "0") == 0 &&
	       capture_settings_put(NET "ipv6/conf/lo/disable_ipv6", "0") == 0;
}

int capture_settings(struct error *e)
{
	for (size_t i = 0; i < ROWS(settings); i++) {
		int r = capture_settings_put(settings[i].path, settings[i].value);

		/* Older kernels do not have all of them for each namespace. */
		if (r < 0 && r != -ENOENT)
			return error_set(e, r, NULL, "cannot write %s to %s: %s", settings[i].value,
				settings[i].path, strerror(-r));
	}
	return 0;
}
