/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The files of the page, compressed, in the program: corrald-http can open none. embed.py writes
 * the table from the files of this folder and the packages of npm (tools/fetch-npm).
 */
#include <stddef.h>

/* Bytes of all of them, compressed. */
enum { ASSETS_BYTES_MAX = 120 * 1000 };

struct asset {
	const char *path; /* "/app.js" */
	const char *type;
	const char *etag; /* with its quotes */
	const unsigned char *data;
	size_t len; /* as gzip has it */
};

extern const struct asset assets[];
extern const size_t assets_count;

/* NULL: there is none. */
const struct asset *asset_find(const char *path);
