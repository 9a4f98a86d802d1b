/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The zygote's part in a network without rules (net/enter/capture.h): the sockets by which the
 * relay listens are made here, inside. Those at addresses that are granted are bound before any
 * command is there; the others wait for names (net/enter/listeners.h).
 */
#include "base/error.h"
#include "jail/plan/plan.h"
#include "net/enter/capture.h"

/*
 * After capture_open() gave -EOPNOTSUPP. What is captured goes to ret, the listeners go over the
 * socket. -EOPNOTSUPP: the plan grants what cannot be held this way, and the error says what.
 */
int lazy_capture(int socket, const struct plan *p, int ret[CAPTURE_COUNT], struct error *e);
