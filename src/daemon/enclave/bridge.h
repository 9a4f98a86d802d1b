/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * corrald-enclave: tools for programs such as a desktop shell (fs_read, shell_exec …) on
 * one enclave of the library (corral/enclave.h). corrald hands calls over as it got them, by the
 * rows of daemon/route.h; each is read here once more.
 *
 *     corrald-enclave.c     the loop and the calls, in threads: files and sandboxes may take their
 *                           time
 *     files, shell, policy  do what a call asks for, with this struct
 *     reply                 says how it went
 */
#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "corral/enclave.h"

enum {
	BRIDGE_FILE_MAX = 2 << 20,   /* bytes of a file that is read or written */
	BRIDGE_OUTPUT_MAX = 1 << 20, /* of each stream of a command, in its answer */
	BRIDGE_ANSWER_MAX = 4000000, /* bytes of JSON: less than MESSAGE_JSON_MAX */
};

/* What is granted, and where that comes from: guarded by its lock. */
struct bridge_policy {
	pthread_mutex_t lock;
	const char *folder;                 /* of enclave.yaml or enclave.json */
	struct stat seen;                   /* the file, when it was read; zeroed: there was none */
	char *path;                         /* of the file that is in force; NULL: none */
	bool is_set;                        /* set_policy is in force, and no file */
	struct corral_permissions *ceiling; /* NULL: none */
	/* JSON: why the file is not in force, and why nothing can be granted; NULL: it is, it can.
	 */
	char *error, *ceiling_error;
};

struct bridge {
	/* An event, from any thread. False: it was dropped, because corrald does not keep up. */
	bool (*tell)(struct bridge *b, const char *type, const struct buffer *json);
	struct corral_enclave *enclave;
	char token[CORRAL_TOKEN_BYTES];
	struct bridge_policy policy;
};

/* Who calls, for the audit. */
#define BRIDGE_BY (&(const struct corral_by){ .size = sizeof(struct corral_by), .actor = "invoke" })
