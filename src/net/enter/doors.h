/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Sockets of the host that a policy grants (unix:/path). Inside there is one of the same name that
 * the relay listens on; it connects to the host's for everyone who comes. Only bytes pass: no
 * descriptors, no credentials.
 *
 * The folder of the host's socket is opened once, before anything runs inside, and only the last
 * name is looked up again, without following links: so a server may be restarted, but no program
 * can put another folder, or a link, in its way.
 */
#include "base/error.h"
#include "net/pump.h"
#include "net/recorder.h"

struct doors;

enum { DOORS_MAX = 64, DOORS_VISITORS_MAX = 1024 /* at once, through all of them */ };

struct door {
	const char *path; /* the host's, free of links */
	int folder;       /* O_PATH, of the folder it is in */
	int listener;     /* inside; -1: not there yet */
};

/* Opens the folder. */
int door_open(struct door *ret, const char *path, struct error *e);

/* The descriptors become the doors'. */
int doors_new(struct doors **ret, struct loop *l, struct pump_room *room, struct recorder *recorder,
	const struct door *doors, size_t n);
void doors_free(struct doors *d);
/* These are granted from now on. Who came in by another is put out, with a record. */
void doors_review(struct doors *d, const char *const *paths, size_t n);
