/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A file that is there as a whole or not at all, and only for its owner (mode 0600): it is written
 * without a name, or under another one, and takes its own when all is in it.
 */
#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"

struct audit_file {
	int fd;
	const char *path;
	struct buffer temp; /* the other name; empty while it has none */
};

/* -EINVAL: what is there is no plain file, so it cannot be replaced. path must live on. */
int audit_file_begin(struct audit_file *f, const char *path, struct error *e);
/* It is complete: gives it its name. */
int audit_file_finish(struct audit_file *f, struct error *e);
/* Also if it was not finished: then nothing is left. */
void audit_file_deinit(struct audit_file *f);
#define AUDIT_FILE_NONE  \
	{                \
		.fd = -1 \
	}
#define auto_audit_file __attribute__((cleanup(audit_file_deinit))) struct audit_file
