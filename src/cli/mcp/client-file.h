/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The file of a client on this machine, and what is known of the install into it.
 *
 * Programs that the user did not write may put things in the way: a project that was fetched, a
 * command in a sandbox that may write a folder. So the file is found once, read by a descriptor,
 * and exchanged only if it still is the file that was read (host/replace.h).
 */
#include <stdbool.h>

#include "base/path.h"
#include "host/replace.h"
#include "mcp/client/client.h"

struct call;

struct client_place {
	const struct mcp_client *client;
	char named[PATH_BYTES]; /* as the client has it */
	char path[PATH_BYTES];  /* where that leads: no link is on it */
	struct replace host;
	bool exists;
	struct buffer text;
};

/*
 * Finds and reads the file: `file` if it is given, else that of the project in the current folder,
 * else the user's. makes: a folder that is missing is made when the file is written. A negative
 * errno with the call's error filled.
 */
int client_place_open(struct client_place *ret, const struct mcp_client *client, const char *file,
	bool is_project, struct call *c);
void client_place_close(struct client_place *p);
/* Replaces the file by this text, if it still is as it was read; NULL: removes it. */
int client_place_put(struct client_place *p, const struct buffer *text, struct call *c);

/* What an install did, kept in the user's state folder, for that user alone. */
struct client_record {
	struct client_installed is;
	bool was_changed; /* the file is not as the install left it */
	struct buffer text;
};

/* Of installs and uninstalls at the same time one goes on. *ret is the caller's to close. */
int client_record_lock(struct call *c, int *ret);
/* 0, or -ENOENT: nothing is recorded for this file; then the error is empty. */
int client_record_read(struct client_record *ret, const struct client_place *p, struct call *c);
void client_record_deinit(struct client_record *r);
/* `wrote` is what the file is to be. */
int client_record_write(const struct client_installed *is, const struct client_place *p,
	const struct buffer *wrote, struct call *c);
/* What was read before, if the file could not be written; NULL: there was nothing. */
void client_record_restore(const struct client_record *was, const struct client_place *p);
int client_record_remove(const struct client_place *p, struct call *c);
