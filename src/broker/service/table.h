/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The services that have a back end, as data: which program serves one, which keys its section of
 * services.yaml has, which variables of the user's environment it is given, and what to do where it
 * is missing. `corral service`, the reader of services.yaml and the monitor follow the rows.
 *
 * Each back end is a process of its own (services/backend.h), also where one program serves
 * several: it has its own section, its own password and the scopes of its own service.
 *
 * To add one: a row here, its methods (broker/method.c, `.service` is the name of the row), and its
 * part of a program below src/services.
 */
#include <stdbool.h>
#include <stddef.h>

#include "codec/schema.h"

/*
 * Keys are typed fields: SCHEMA_LINE, SCHEMA_FILE, SCHEMA_NUMBER, SCHEMA_FLAG, SCHEMA_CHOICE. One
 * that is required is so where there is a section. A SCHEMA_FILE that is_secret is a file that its
 * owner alone may read: the back end gets what is in it, without the newline, as "password".
 */
enum { SERVICE_KEYS_MAX = 12 };

struct service_backend {
	const char *name;    /* "notifications"; method rows name it so */
	const char *section; /* of services.yaml, and the service of the policy (service-table.h) */
	const char *program; /* "corral-desktop", in libexec */
	const char *help;    /* what it does: one line */
	/* Without its section in services.yaml it is not started, and calls are refused with
	 * `example` as a hint. */
	bool needs_section;
	/* Without its section it has this folder in XDG_DATA_HOME, which is made; NULL: it has
	 * none. */
	const char *folder;
	/* What it uses is of the desktop, and only known by trying, which shows and reads nothing.
	 */
	bool is_of_desktop;
	const char *build; /* what to do where the program was not installed */
	/* A Chromium is started with it, whose pipes go along with its setup: first the one that it
	 * writes to (broker/service/chromium.h). */
	bool has_chromium;
	/* Variables of the user's environment outside, as host/lookup.h has them; ends with NULL.
	 */
	const char *const *variables;
	struct schema_field keys[SERVICE_KEYS_MAX];
	const char *example; /* a section for services.yaml, or NULL: nothing is to be set */
};

extern const struct service_backend service_backends[];
extern const size_t service_backend_count;

/* NULL: there is none. */
const struct service_backend *service_backend_find(const char *name);
/* The key of a section, whichever of its back ends has it. NULL: none has. */
const struct schema_field *service_key_find(const char *section, const char *name);
