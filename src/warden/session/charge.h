/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Limits of memory and processes by cgroup, where one can be had; the place is looked for when a
 * command first asks for such a limit. Where there is none, the command's init looks after them.
 */
#include "warden/session/command.h"
#include "wire/report.h"
#include "wire/start.h"

struct charge;

int charge_new(struct charge **ret);
void charge_free(struct charge *c);
/* Takes those limits out of `start` that a cgroup of the command will hold. */
int charge_prepare(struct charge *charge, struct command *c, struct start *start);
/* Moves the command's init into its cgroup. */
int charge_begin(struct charge *charge, struct command *c);
/* What the cgroup knows about a command that ended. */
void charge_report(const struct command *c, struct report *report);
