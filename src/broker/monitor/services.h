/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a method of a service needs beside the generic handler (broker/monitor/services.c): done in
 * a thread, after the policy allowed all targets and before the call goes to the back end.
 */
#include "broker/monitor/monitor.h"
#include "wire/frame.h"

struct services_request {
	/* Descriptors that go along, such as contents of files in sealed memfds (wire/frame.h);
	 * closed with the call. */
	int fds[FRAME_FDS_MAX];
	size_t n_fds;
	uint64_t bytes;       /* in them: they count for max_size */
	enum rpc_class class; /* of a failure whose code does not say it; RPC_PARAMS before */
};

/*
 * May replace values of c->call.params (in c->arena) and add descriptors. Negative: the call is
 * refused, with the error if it has one, by monitor_fail().
 */
typedef int services_preparation(
	struct monitor_call *c, struct services_request *r, struct corral_error **e);
