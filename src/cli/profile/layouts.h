/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Packages of programs in a home (data/layouts.conf): what a program of PATH needs beside its own
 * file. `~/.local/bin/claude` is a link to `~/.local/lib/node_modules/@anthropic-ai/claude-code`,
 * and useless without that folder.
 *
 * A link grants nothing by itself: a command may have left it (host/planted.h). What counts is the
 * real file that the kernel finds behind it, with no link left on its way. If that lies in a folder
 * of the table, this folder may be read; so a link that was planted shows at most a package that an
 * installer put there, and never a place that its author chose. Links in a place that may be
 * written show nothing at all.
 */
#include <stddef.h>
#include <stdint.h>

#include "policy/permissions.h"

/* Paths below the home; places in layouts_texts, 0: none. */
struct layout {
	uint16_t folder;  /* of a package, a pattern; or of PATH, where `other` is something */
	uint16_t program; /* that has to be in it */
	uint16_t other;   /* what may be read then */
};

extern const char layouts_texts[];
extern const struct layout layouts[];
extern const size_t layouts_n;

struct layouts {
	struct permissions *to;
	const char *home;
	const char *real_home; /* without links */
	unsigned links;        /* that were looked at */
};

/* Links in all folders of PATH that are looked at, in the order of PATH. */
enum { LAYOUTS_LINKS_MAX = 1024 };

/* Adds to fs.read what the programs in a folder of PATH need, which lies below the home and outside
 * of all that may be written. -ENOMEM. */
int layouts_grant(struct layouts *l, const char *entry);
