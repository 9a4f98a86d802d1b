/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The runtime folder (host/daemon-place.h): made, checked and locked, so that there is one daemon
 * in it, and no files of others are.
 */
#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "daemon/message.h"

struct runtime_folder {
	struct buffer path;
	int lock; /* of corrald.pid; -1: not taken */
	char token[MESSAGE_TOKEN + 1];
};

/* -EBUSY: another daemon has it. -EPERM: it is not ours, or others may write to it. */
int runtime_folder_open(struct runtime_folder *f, bool is_system, struct error *e);
/* Makes the token of this start: 256 bits, for the owner alone. */
int runtime_folder_token(struct runtime_folder *f, struct error *e);
/* A listening socket in it, of this type (SOCK_STREAM …), in place of one that was left over. */
int runtime_folder_listen(
	const struct runtime_folder *f, const char *name, int type, int *ret, struct error *e);
void runtime_folder_remove(const struct runtime_folder *f, const char *name);
/*
 * Where runs look for a daemon that is at no usual place, so that they hide its folder
 * (host/own.h): a link beside the log, and one in the usual state folder. The link stays.
 */
int runtime_folder_announce(const struct runtime_folder *f, const char *log, struct error *e);
/* Removes the token, and lets go of the lock. */
void runtime_folder_close(struct runtime_folder *f);
