/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * daemon.json, as AgenShield has it, or the same keys in daemon.yaml. Pure but for
 * config_find(), config_load() and config_write(). A
 * key that is not known is an error that names the nearest: in what guards an API a typo must not
 * mean "as usual". corrald(8) documents each key.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* What stored policies do; in the order of enum mode (policy/permissions.h). */
enum config_mode { CONFIG_ENFORCE, CONFIG_AUDIT, CONFIG_MONITOR };
enum config_level { CONFIG_ERROR, CONFIG_WARN, CONFIG_INFO, CONFIG_DEBUG };

struct config {
	uint16_t port;           /* of the listener on loopback; 0: any that is free */
	bool no_port;            /* `port: none`: the Unix socket alone */
	bool is_v6;              /* on ::1 */
	enum config_level level; /* what is written to the log for people */
	uint32_t heartbeat_ms;   /* between lines that keep event streams alive */
	uint32_t watch_ms;       /* between two looks of the security watcher */
	bool has_mode;           /* `mode` was given: it counts, and not that of the files */
	enum config_mode mode;
	char sandbox_mode[8]; /* `sandbox.mode`, of agents: sandbox, rx or rwx */
	char log_file[4096];  /* "": standard error */
	char skills[4096]; /* more folders with skills, each with its NUL, and one behind the last
			    */
	char source[4096]; /* the file that was read; "": none */
};

struct config config_default(void);
const char *config_level_name(enum config_level level);
const char *config_mode_name(enum config_mode mode);
/* A key and what it becomes. */
struct config_change {
	const char *key, *value; /* as text; a number in decimal */
};
enum { CONFIG_CHANGES_MAX = 8 };
/*
 * Writes the file anew with these keys of `daemon`, all others as they were, once what comes out
 * can be read: *ret is that. Comments of YAML are lost. A file that is not there is made.
 * mode: of the file; the system's is read by runs of all users.
 */
int config_write(const char *file, unsigned mode, const struct config_change *changes, size_t n,
	struct config *ret, struct error *e);
/* Reads the text of a file into *c, which has the values of keys that it does not name. */
int config_read(struct config *c, const char *file, const char *text, size_t len, struct error *e);
/*
 * Finds daemon.json or daemon.yaml in the folder and reads it; none is no error. Both: -EINVAL.
 */
int config_find(struct config *c, const char *folder, struct error *e);
/* The same of one file that was named. */
int config_load(struct config *c, const char *file, struct error *e);
