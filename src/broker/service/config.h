/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * services.yaml: one section for each service that needs to know a server, a folder or a program.
 *
 *     email:
 *       server: smtp.example.com
 *       password_file: ~/.config/corral/smtp-password
 *
 * It is read from up to three places. A section of the first that has one counts as a whole: what
 * the host program gave (corral_builder_services()), the user's file, the system's. Keys are those
 * of broker/service/table.h; everything else is an error that names file and line. A file that
 * others can change is refused, and so is a password file that others can read.
 */
#include <stddef.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "broker/value.h"

enum { CONFIG_SECTIONS_MAX = 16, CONFIG_PASSWORD_MAX = 4096 };

struct service_section {
	const char *name;
	const struct value_item *items; /* in the order of the file; a password file by its path */
	size_t n;
	struct location where;
};

struct service_config {
	struct arena arena;
	struct service_section sections[CONFIG_SECTIONS_MAX];
	size_t n_sections;
};

struct service_config_places {
	const char *text;   /* what the host gave; NULL or "": nothing */
	const char *user;   /* a file; NULL: none. One that is not there has no sections */
	const char *system; /* the same */
	const char *home;   /* for ~/ ; NULL: such paths are errors */
};

/* The user's services.yaml, as XDG_CONFIG_HOME and the home say, in the arena. */
const char *service_config_user_file(struct arena *a, const char *config_home, const char *home);
#define SERVICE_CONFIG_SYSTEM_FILE "/etc/corral/services.yaml"

/* *ret is empty after an error. */
int service_config_read(
	struct service_config *ret, const struct service_config_places *p, struct error *e);
void service_config_deinit(struct service_config *c);
#define auto_service_config __attribute__((cleanup(service_config_deinit))) struct service_config

/* NULL: there is none. */
const struct service_section *service_config_find(const struct service_config *c, const char *name);
/* A value by its key; NULL: it is not set. */
const char *service_section_get(const struct service_section *s, const char *key);
/* Appends the password that a file holds, without the newline at its end. */
int service_password_read(const char *path, struct buffer *out, struct error *e);
