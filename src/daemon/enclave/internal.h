/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * corrald-enclave: tools for programs such as a desktop shell (fs_read, shell_exec …) on
 * one enclave of the library (corral/enclave.h). corrald hands calls over as it got them, by the
 * rows of daemon/route.h; each is read here once more.
 *
 * corrald-enclave.c has the loop and the calls; files.c, shell.c and policy.c do what they ask for,
 * in threads, because files and sandboxes may take their time; reply.c says how it went.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/path.h"
#include "broker/monitor/pool.h"
#include "corral/enclave.h"
#include "daemon/route.h"
#include "event/loop.h"
#include "warden/outbox.h"
#include "wire/frame.h"

enum {
	BRIDGE_FILE_MAX = 2 << 20,   /* bytes of a file that is read or written */
	BRIDGE_OUTPUT_MAX = 1 << 20, /* of each stream of a command, in its answer */
	BRIDGE_ANSWER_MAX = 4000000, /* bytes of JSON: less than MESSAGE_JSON_MAX */
	BRIDGE_THREADS = 8,          /* for files, and as many for commands */
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
	struct loop *loop;
	struct corral_enclave *enclave;
	char token[CORRAL_TOKEN_BYTES];
	struct bridge_policy policy;
	struct pool *files, *shells;
	struct watcher link;
	struct outbox out;
	struct frame frame;
	bool is_over;
	atomic_bool is_ended; /* by the user: it is over once that was answered */
};

/* A call: of the loop, but while a thread works on it. */
struct bridge_call {
	struct pool_job job;
	struct bridge *bridge;
	uint64_t id;
	struct buffer body; /* that the values point into */
	struct route_call call;
	unsigned status;
	struct buffer json; /* the answer */
};

typedef void bridge_handler(struct bridge_call *c);
bridge_handler bridge_fs_read, bridge_fs_write, bridge_fs_list;
bridge_handler bridge_shell_exec;
bridge_handler bridge_get_policy, bridge_set_policy, bridge_get_audit_log, bridge_export_audit_log;

/* Who calls, for the audit. */
extern const struct corral_by bridge_by;
/*
 * The path that was given by this name, in its normal form; *ret is out, or NULL if it was not
 * given. ".." goes by the text; where links lead is for the enclave to see. False: it was answered.
 */
bool bridge_path(struct bridge_call *c, const char *name, char out[PATH_BYTES], const char **ret);
/* An event, from any thread; dropped if corrald does not keep up: false. */
bool bridge_tell(struct bridge *b, const char *type, const struct buffer *json);

/* policy.c */
/* Makes the enclave; negative: it cannot be made. What is wrong with a file only grants nothing. */
int policy_open(struct bridge *b, const char *folder);
/* Reads the file again if it is another one than before. */
void policy_refresh(struct bridge *b);
/* If nothing is granted because there is no file: appends the name of the missing one. */
void policy_print_missing(struct bridge *b, struct buffer *out);

/* reply.c */
struct json_writer;
/* Adds the data, and "encoding": "utf8", or "base64" unless it is text and not too long. */
void reply_data(struct json_writer *w, const char *key, const char *data, size_t len, bool base64);
/* What a library call said: the status, and {"error": …}. Takes e over; may be NULL. */
void reply_refuse(struct bridge_call *c, int r, struct corral_error *e);
/* A sentence of our own. */
void reply_fail(struct bridge_call *c, unsigned status, const char *text);
/* {"op","target","rule","reason","remedy"} */
void reply_denial(struct json_writer *w, const char *key, const struct corral_denial *d);
