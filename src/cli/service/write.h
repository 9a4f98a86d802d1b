/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Writes a section of the user's services.yaml. */
#include "base/error.h"
#include "broker/service/start.h"

/*
 * Adds a section from words KEY=VALUE to the user's file, which is made if it is not there. The
 * whole is read before it is written: what could not be read again is an error, and so is a section
 * that is there. *ret_path, in the arena, is the file.
 */
int write_section(struct arena *a, const struct service_session *s, const char *section,
	char *const *words, size_t n, const char **ret_path, struct error *e);
