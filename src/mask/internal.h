/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the files of this folder share; mask.h is the contract for everybody else. */
#include <stdbool.h>

#include "base/buffer.h"
#include "mask/mask.h"

/* form.c: text into a tree of maps, and back. The error has no text of the file. */
int mask_form_read(
	enum mask_form form, struct document *ret, const char *text, size_t len, struct error *e);
int mask_form_print(enum mask_form form, const struct node *root, struct buffer *out);

/* lines.c: the forms that are made of lines. */
int mask_lines_ini(struct document *d, char *text, struct error *e);
int mask_lines_settings(struct document *d, char *text, struct error *e);
int mask_lines_netrc(struct document *d, char *text, struct error *e);
int mask_lines_urls(struct document *d, char *text, struct error *e);
/* Adds a scalar to a map. -EINVAL: the name is there. */
int mask_lines_put(struct document *d, struct node *map, const char *key, const char *value);
/* "line 3 of it …" */
int mask_lines_refuse(struct error *e, unsigned line, const char *why);

/* values.c: what values are. */
/* May be shown: short, of plain characters, and like no key of a service. */
bool mask_values_is_name(const char *text);
bool mask_values_is_word(const char *text);
bool mask_values_is_url(const char *text);
bool mask_values_is_names(const char *text);
/* "${NAME}" of npm: a variable, not a value. */
bool mask_values_is_variable(const char *text);
/* Whether the form can have it, so that every reader takes it for the same. */
bool mask_values_is_secret(enum mask_form form, const char *text);
/* Whether a text has the bytes of a value, as they are or in a usual encoding. */
int mask_values_are_in(const char *value, const char *text, size_t len, bool *ret);
