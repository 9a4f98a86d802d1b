/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proof of confinement: the walls that stand around the command when it starts. A session of tier 1
 * is built step by step (warden/zygote.c), and each step that fails ends it; so where one stands,
 * all of these do. What differs from run to run is in the plan: network, programs, limits.
 */
#include "cli/run/run.h"
#include "jail/landlock.h"
#include "policy/format/unit.h"

static void run_audit_walls_put_network(const struct run *r, struct buffer *out)
{
	switch (r->plan->network) {
	case PLAN_NETWORK_NONE:
		buffer_adds(out, "network namespace with nothing but loopback; no relay");
		break;
	case PLAN_NETWORK_RELAY:
		buffer_adds(out, "network namespace with a relay to what is granted");
		break;
	case PLAN_NETWORK_HOST:
		buffer_adds(out, "the network of the host; no relay");
		break;
	}
}

static void put_amount(enum limit which, uint64_t value, struct buffer *out)
{
	switch (which) {
	case LIMIT_TIMEOUT_MS:
		unit_print_duration(value, out);
		break;
	case LIMIT_MEMORY:
	case LIMIT_OUTPUT:
	case LIMIT_FILE_SIZE:
		unit_print_size(value, out);
		break;
	default:
		buffer_printf(out, "%llu", (unsigned long long)value);
		break;
	}
}

void run_audit_limit(const struct run *r, enum limit which, struct buffer *out)
{
	buffer_printf(out, "%s ", limit_name(which));
	put_amount(which, r->limits.values[which], out);
}

void run_audit_walls(const struct run *r, struct buffer *out)
{
	buffer_adds(out, "user, pid, mount, ipc, uts and cgroup namespaces; ");
	run_audit_walls_put_network(r, out);
	buffer_printf(out,
		"; a tree of %zu mounts and entries; Landlock ABI %d; seccomp; no capabilities; no "
		"new privileges; %s",
		r->plan->n, landlock_version(),
		r->plan->exec_listed ? "only listed programs run" : "any program it can read runs");
	for (enum limit i = 0; i < LIMIT_COUNT; i++) {
		if (r->limits.values[i] == LIMIT_NONE)
			continue;
		buffer_adds(out, "; limit: ");
		run_audit_limit(r, i, out);
	}
}
