/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the enclave grants: nothing, unless enclave.yaml (or enclave.json) of the daemon's folder
 * says so, and no more than enclave-ceiling.yaml (.json) allows, if there is one. The file is
 * looked at before each call; one that cannot be read or understood changes nothing, and its error
 * is an event and in get_policy. set_policy holds until the file changes.
 *
 * Corral's own folders are denied whatever is granted: they have the token, the log, and these
 * files.
 */
#include "daemon/enclave/bridge.h"
#include "daemon/enclave/reply.h"

/* Makes the enclave; negative: it cannot be made. What is wrong with a file only grants nothing.
 * The folder must outlive it. */
int policy_open(struct bridge *b, const char *folder);
void policy_close(struct bridge *b);
/* Reads the file again if it is another one than before. */
void policy_refresh(struct bridge *b);
/* If nothing is granted because there is no file: appends the name of the missing one. */
void policy_print_missing(struct bridge *b, struct buffer *out);

/* The calls. */
void policy_get(struct bridge *b, struct reply *c);
void policy_set(struct bridge *b, struct reply *c);
void policy_get_log(struct bridge *b, struct reply *c);
void policy_export_log(struct bridge *b, struct reply *c);
