/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a path means: found without following anything that was not judged, permitted, and held by a
 * descriptor, so that whatever is done to it is done to what was judged.
 */
#include <sys/stat.h>

#include "base/path.h"
#include "lib/enclave/internal.h"

enum enclave_wanted {
	ENCLAVE_THING, /* that is there */
	ENCLAVE_NAME,  /* in its folder, whether something has it or not; a link at the end is
			  followed */
	ENCLAVE_ENTRY, /* of its folder; a link at the end is itself meant */
};

struct enclave_place {
	char path[PATH_BYTES]; /* where it is, free of links */
	int folder;            /* O_PATH: what it lies in; -1 if that was not asked for */
	const char *name;      /* in that folder; points into path */
	int fd;                /* O_PATH: the thing itself; -1: nothing has that name yet */
	struct stat st;        /* of fd */
};

void enclave_place_deinit(struct enclave_place *p);
#define auto_enclave_place __attribute__((cleanup(enclave_place_deinit))) struct enclave_place

/*
 * Finds c->target, and has it permitted. 0: go ahead; there is something to tell then
 * (enclave_done). Otherwise it was told, and *e is filled.
 */

int enclave_place_find(struct enclave_call *c, enum operation op, enum enclave_wanted wanted,
	struct enclave_place *ret, struct corral_error **e);

/* enclave_done(), which also tells where it was if links led there. */
int enclave_place_done(
	struct enclave_call *c, const struct enclave_place *p, int r, struct corral_error **e);
