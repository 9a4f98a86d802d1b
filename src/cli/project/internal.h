/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What `corral init` is made of. */
#include <stdbool.h>

#include "cli/project/facts.h"
#include "cli/project/project.h"

struct buffer;

struct project_proposal {
	bool has_install, has_test, has_build; /* commands of these names */
};

/* propose.c: the text of a file for these facts. */
void project_propose(const struct facts *f, struct buffer *out, struct project_proposal *ret);

/* check.c: the names in it are known, and its grants do not contradict its preset. -ENOENT, -EINVAL
 * with the line. */
int project_check_file(const struct project_file *f, struct call *c);

/* find.c: opens a folder by no link; -EPERM with a sentence if others can change it. */
int project_open_folder(struct call *c, const char *path, int *ret_fd);
