/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * corral.yaml, the file of a project (docs/project.md): the profile or agent that its commands
 * start from, packs, grants in the grammar of permissions, and commands with names. Pure: the
 * caller brings the bytes, and knows whether they are approved.
 */
#include <stddef.h>

#include "base/error.h"
#include "policy/permissions.h"

#define PROJECT_NAME "corral.yaml"

enum {
	PROJECT_BYTES_MAX = 64 << 10, /* a person has to read it */
	PROJECT_COMMANDS_MAX = 64,
	PROJECT_WORDS_MAX = 256, /* of one command */
	PROJECT_PACKS_MAX = 32,
	PROJECT_NAME_MAX = 64,
};

struct project_command {
	const char *name;
	const char **words; /* ends with NULL */
	size_t n;
	struct location where;
};

struct project_file {
	/* What it grants on top of the preset; everything else lives in its arena. */
	struct permissions *permissions;
	const char *preset; /* a profile or an agent; NULL: none is named */
	struct location preset_where;
	const char **packs;
	size_t n_packs;
	struct location packs_where;
	bool asks_denied; /* `ask: denied`, as --ask-denied */
	struct project_command *commands;
	size_t n_commands, cap_commands;
};

/*
 * *p need not be initialised; on failure it is empty. file: for messages, and the origin of the
 * grants. -EINVAL: it is no such file, with the place and the nearest key; -ENOTSUP: a newer
 * version.
 */
int project_file_read(
	struct project_file *p, const char *file, const char *text, size_t len, struct error *e);
void project_file_deinit(struct project_file *p);
#define auto_project_file __attribute__((cleanup(project_file_deinit))) struct project_file

/* The command of that name, or NULL. */
const struct project_command *project_file_find(const struct project_file *p, const char *name);
/* Takes out what reaches the network: for a run that is to have none. */
void project_file_cut_network(struct project_file *p);
