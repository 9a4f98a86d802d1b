/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * shell_exec: a program with its arguments, no shell, in a sandbox of the enclave. The answer has
 * what it printed, up to a bound. A caller that gives an `id` gets it as events too, as it comes:
 * one in SHELL_EVENT_MS for each stream, of up to SHELL_PIECE bytes, because all who listen have
 * one ring. What is more is only in the answer, and the next event says how much was left out.
 */
#include "daemon/enclave/bridge.h"
#include "daemon/enclave/reply.h"

void shell_exec(struct bridge *b, struct reply *c);
