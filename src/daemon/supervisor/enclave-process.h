/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* corrald-enclave: the child that answers /api/invoke. */
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "daemon/route.h"
#include "event/loop.h"
#include "warden/outbox.h"
#include "process/child.h"
#include "wire/frame.h"

enum { ENCLAVE_CALLS_MAX = 64 };

struct supervisor;

/* A call of set_policy, and enclave.yaml and .json before it: a file that changed since then counts
 * more. */
struct enclave_policy {
	struct buffer call;
	struct stat files[2];
};

/* A call that corrald-enclave has. */
struct invoked_call {
	uint64_t number;              /* its own; 0: none */
	uint64_t id;                  /* corrald-http's */
	size_t generation;            /* of corrald-http: another one has other calls */
	struct enclave_policy policy; /* of set_policy: the call itself */
};

struct enclave_process {
	struct child child;
	struct watcher link;
	struct outbox out;
	struct frame frame;
	struct invoked_call calls[ENCLAVE_CALLS_MAX];
	uint64_t n_calls;
	size_t n_started;
	struct enclave_policy policy; /* the last call of set_policy that succeeded */
};

/* Hands a call of /api/invoke/… over, and answers it when that is done. */
void enclave_process_call(struct supervisor *s, uint64_t id, const struct route_call *c);
void enclave_process_end(struct supervisor *s);
/* The same, for good. */
void enclave_process_close(struct supervisor *s);
