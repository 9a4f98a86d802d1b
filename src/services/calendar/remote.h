/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A store on a server: CalDAV, or a sentence that says that this build has none. */
#include "services/calendar/store.h"

struct remote_options {
	const char *url, *user, *password;
	const char *authorities; /* a file; NULL: the system's */
	enum item_kind kind;
};

int remote_open(struct store **ret, const struct remote_options *o, struct error *e);
