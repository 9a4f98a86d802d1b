/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The warden's own walls. Once the session stands it needs its sockets, its watch, and its cgroups:
 * no other file, no program, no capability, none of the calls that commands do not get either.
 */
#include "base/error.h"

int self_confine(struct error *e);
