/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORRAL_ENCLAVE_H
#define CORRAL_ENCLAVE_H
/*
 * Tools that run inside the host program, under the same policy as commands: files, commands, a
 * check for requests that the host makes itself. Every call is judged, and told to the audit.
 *
 *     char token[CORRAL_TOKEN_BYTES];
 *     struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
 *     struct corral_enclave *enclave = NULL;
 *     struct corral_error *e = NULL;
 *     char *data = NULL;
 *     size_t len;
 *
 *     corral_enclave_new(&enclave, &o, token, &e);
 *     corral_enclave_grant(enclave, token, CORRAL_FS_READ, "/srv/notes/{,**}", NULL, &e);
 *     if (corral_enclave_fs_read(enclave, NULL, "/srv/notes/a.txt", &data, &len, &e) < 0)
 *             fprintf(stderr, "%s\n", corral_error_message(e));
 *
 * What is judged is what is used: a file is opened once, without following anything out of what was
 * granted, and where it really lies must be granted as well as the name it was called by.
 *
 *     -EACCES       the policy does not allow it; corral_error_denial() says which rule
 *     -EINPROGRESS  a person has to be asked first; corral_error_question() is the number of the
 *                   question. Call again when it was answered.
 *     -EPERM        the token is wrong
 *     -ELOOP        it is not a regular file or folder: a device, a FIFO, a socket, a link of /proc
 *     -EMLINK       the file has more than one name, and the policy denies some names
 *     -EFBIG        it is larger than the limit
 *     -EBUSY        it was moved meanwhile; or something is mounted there
 *
 * What corral/policy.h says about errors holds here too. Any number of threads may use an enclave
 * at once; what one changes holds for the next call of every other. The library starts no threads
 * and forks nothing but through a sandbox.
 */
#include <stddef.h>
#include <stdint.h>

#include <corral/audit.h>
#include <corral/policy.h>
#include <corral/sandbox.h>

#ifdef __cplusplus
extern "C" {
#endif

struct corral_enclave;

/* A token: what one must have to change the policy, or to answer a question. Text, with its NUL. */
enum { CORRAL_TOKEN_BYTES = 65 };

/* Who calls: an agent, a tool. For the audit, and for what was agreed to. NULL: "". */
struct corral_by {
	size_t size;
	const char *actor;
	uint32_t pid; /* 0: not known */
	/* Relative paths of files start here: an absolute path. NULL: they are refused. ".." and
	 * "." in them are taken out of the text, before anything is looked up. */
	const char *folder;
};

/* What may be agreed to: no more than this, for so long, so often. */
struct corral_scope {
	size_t size;
	enum corral_operation op;
	const char *object; /* the target itself, as it was asked for: no pattern */
	const char *actor;  /* who may use it */
	uint64_t ttl_ms;    /* from when it was agreed to; 0: not at all */
	uint64_t count;     /* how often; 0: never */
};

struct corral_question {
	size_t size;
	uint64_t id;               /* 0: it is not in the queue (yet) */
	struct corral_scope scope; /* what is asked for; exactly this is shown, and remembered */
	const char *rule, *reason;
};

/*
 * Asks a person, and returns CORRAL_ALLOW or CORRAL_DENY. *answer is the scope that was shown; it
 * may be made smaller, and is taken as a denial if it was made larger. CORRAL_ASK: the question is
 * queued. Called by the thread that made the call, without a lock.
 */
typedef enum corral_verdict corral_ask(
	void *context, const struct corral_question *question, struct corral_scope *answer);

struct corral_enclave_options {
	size_t size;
	/* What can be granted at most: all of them must allow, whatever set_policy says. None: no
	 * such bound. At most 16. */
	const struct corral_permissions *const *ceiling;
	size_t n_ceiling;
	/* What is granted at first; NULL: nothing. Programs are always a list here, unless
	 * exec_readable says otherwise: what may be read may not run for that. */
	const struct corral_permissions *granted;
	const struct corral_variable *variables;
	size_t n_variables;
	struct corral_audit *audit; /* must outlive the enclave; NULL: one of its own, in memory */
	corral_ask *ask;            /* NULL: questions are queued */
	void *context;
	uint64_t ask_ttl_ms;     /* what questions ask for; 0: 5 minutes */
	uint64_t ask_count;      /* 0: 1 */
	uint64_t max_file_bytes; /* of a file that is read or written; 0: 64 MiB */
	const char *warden;      /* as corral_builder_warden() */
	const char *work_dir;    /* $WORK_DIR, and where commands start; NULL: none */
	/*
	 * A folder that is "/" for all file calls, in any mount namespace: an open descriptor,
	 * O_PATH will do, of which the enclave makes its own. Links are resolved below it. Nothing
	 * of /proc is read there, and no mount point is replaced or deleted (-EBUSY). Commands of
	 * shell_exec, and their folders, are the host's. NULL: the host's root.
	 */
	const int *root_fd;
	/*
	 * Absolute paths, below root_fd, of mounts that are the session's own: what lies on one of
	 * them needs no grant. Rules that deny or ask, and the baseline, count there too; what is
	 * mounted inside is no part of it. At most 16.
	 */
	const char *const *private_places;
	size_t n_private_places;
	/* Not 0: where the permissions have no list of programs, what may be read may run, as for
	 * the commands of a sandbox. For a host that serves a sandbox whose commands may do that
	 * anyway. */
	int exec_readable;
	/* Absolute paths of files and folders that commands of shell_exec and calls about files
	 * must not change, nor move, whatever is granted and by whatever link: what decides about
	 * other commands, such as the file that the policy was read from. At most 48. */
	const char *const *guarded;
	size_t n_guarded;
	/* Not 0: it does not join the user's daemon, corrald(8), that runs when it is made. One
	 * that joined sends it what the audit gets, and what the user ends there is -ECANCELED from
	 * then on. Without `ask`, the user may answer questions there, but for commands with input,
	 * variables or a folder: the next call of the enclave hears the answer. What is granted
	 * there lies below `granted` and `ceiling`, and ends when the host changes what is granted.
	 */
	int no_daemon;
	/* Not 0: with a `ceiling`, the user may grant there whatever the ceiling allows or asks
	 * about, also what `granted` does not. What `granted` denies stays denied. */
	int ceiling_grants;
};
#ifdef __cplusplus
#define CORRAL_ENCLAVE_OPTIONS                        \
	{                                             \
		sizeof(struct corral_enclave_options) \
	}
#else
#define CORRAL_ENCLAVE_OPTIONS                                \
	{                                                     \
		.size = sizeof(struct corral_enclave_options) \
	}
#endif

CORRAL_API int corral_enclave_new(struct corral_enclave **ret,
	const struct corral_enclave_options *o, char token[CORRAL_TOKEN_BYTES],
	struct corral_error **e);
/* No other thread may be using it. */
CORRAL_API void corral_enclave_free(struct corral_enclave *enclave);

/* Files. Paths are absolute, or relative to by->folder. *ret is freed with corral_free(). */

/* With a NUL after it that *ret_len does not count. */
CORRAL_API int corral_enclave_fs_read(struct corral_enclave *enclave, const struct corral_by *by,
	const char *path, char **ret, size_t *ret_len, struct corral_error **e);
/* The file is replaced as a whole, or stays as it was; its mode is kept (0644 less umask if new).
 */
CORRAL_API int corral_enclave_fs_write(struct corral_enclave *enclave, const struct corral_by *by,
	const char *path, const void *data, size_t len, struct corral_error **e);

enum corral_file_kind { CORRAL_FILE, CORRAL_FOLDER, CORRAL_LINK, CORRAL_OTHER };
struct corral_file {
	size_t size;
	const char *name; /* in its folder; of fs_stat: the path where it really is */
	enum corral_file_kind kind;
	uint64_t bytes;
	uint32_t mode; /* permission bits */
	int64_t modified_ns;
};
/*
 * The same two with more to say. fs_read_file: *ret_file is what was read, by the same descriptor;
 * its name is "". fs_write_file: the permission bits of a file that is new, less umask.
 */
CORRAL_API int corral_enclave_fs_read_file(struct corral_enclave *enclave,
	const struct corral_by *by, const char *path, struct corral_file *ret_file, char **ret,
	size_t *ret_len, struct corral_error **e);
CORRAL_API int corral_enclave_fs_write_file(struct corral_enclave *enclave,
	const struct corral_by *by, const char *path, uint32_t mode, const void *data, size_t len,
	struct corral_error **e);
/*
 * Writing a file piece by piece, for a download: it appears when it is complete, as by fs_write.
 * The policy is asked when it begins, and once more when the file is to appear; what was revoked
 * meanwhile is -EACCES, and a folder that was moved is -EBUSY. One thread at a time.
 */
struct corral_save;
struct corral_save_options {
	size_t size;
	uint32_t mode;      /* permission bits of a file that is new, less umask; 0: 0644 */
	uint64_t max_bytes; /* of the whole file; 0: as the enclave's max_file_bytes */
	/*
	 * What it is that is saved, such as its URL; NULL: what is not committed is gone. Otherwise
	 * it is kept beside the file, as ".NAME.HASH.corral-part", and the next save of the same
	 * path with the same text begins with it. Whoever may write in the folder may have changed
	 * it: check the whole. A link, a file with two names, one of another user, one that is too
	 * large: none of these is continued. Where the policy does not allow that name to be
	 * written, nothing is kept.
	 */
	const char *resume;
};
/* o may be NULL. */
CORRAL_API int corral_enclave_fs_save(struct corral_save **ret, struct corral_enclave *enclave,
	const struct corral_by *by, const char *path, const struct corral_save_options *o,
	struct corral_error **e);
/* How many bytes there are; before the first write those that an earlier save left. */
CORRAL_API uint64_t corral_save_bytes(const struct corral_save *s);
/* When they were written, in ns since 1970: a server can say whether its file is newer. 0: none. */
CORRAL_API int64_t corral_save_modified(const struct corral_save *s);
/* After what there is. -EFBIG: that would be too large. After an error nothing can be committed.
 */
CORRAL_API int corral_save_write(
	struct corral_save *s, const void *data, size_t len, struct corral_error **e);
/* Back to no bytes: the server would not go on where the earlier save ended. */
CORRAL_API int corral_save_restart(struct corral_save *s, struct corral_error **e);
/* The file gets its name. Once; then only free. */
CORRAL_API int corral_save_commit(struct corral_save *s, struct corral_error **e);
/* Ends it, and nothing is kept for another save. Only free it then. */
CORRAL_API void corral_save_discard(struct corral_save *s);
/* Ends it; without a commit the file is as it was. Before the enclave. Accepts NULL. */
CORRAL_API void corral_save_free(struct corral_save *s);
/* Calls back with each entry that may be read, by name; returns how many. */
typedef int corral_file_visit(void *context, const struct corral_file *file);
CORRAL_API long corral_enclave_fs_list(struct corral_enclave *enclave, const struct corral_by *by,
	const char *path, corral_file_visit *visit, void *context, struct corral_error **e);

struct corral_list_options {
	size_t size;
	/* Only entries that match: * ? [abc] {a,b}; with a slash the whole path from the folder,
	 * and ** across folders. NULL: all. */
	const char *pattern;
	int recursive; /* not 0: the folders in it too, no links; their entries are "sub/name" */
};
CORRAL_API long corral_enclave_fs_list_matching(struct corral_enclave *enclave,
	const struct corral_by *by, const char *path, const struct corral_list_options *o,
	corral_file_visit *visit, void *context, struct corral_error **e);
/* ret->name lives in `name`, at least 4096 bytes, or is "" if that is NULL. */
CORRAL_API int corral_enclave_fs_stat(struct corral_enclave *enclave, const struct corral_by *by,
	const char *path, struct corral_file *ret, char *name, struct corral_error **e);
/* A file, a link (not what it names), or an empty folder. */
CORRAL_API int corral_enclave_fs_delete(struct corral_enclave *enclave, const struct corral_by *by,
	const char *path, struct corral_error **e);

/* Commands */

/*
 * Runs a program with its arguments (argv ends with NULL; no shell) in a sandbox that has exactly
 * what is granted now. `call` as in corral/sandbox.h: cwd, timeout, stdin, output limit, variables,
 * and a callback that gets output as it comes. CORRAL_CALL_INPUT and _RAW are -EINVAL. Rules about
 * arguments ("git push:*") are held here, for this call; a program that has such does not run
 * inside the sandbox of others, and gets one of its own when it is called. ret may be NULL.
 */
CORRAL_API int corral_enclave_shell_exec(struct corral_enclave *enclave, const struct corral_by *by,
	const char *const *argv, const struct corral_call *call, struct corral_result **ret,
	struct corral_error **e);

/*
 * The same for a caller that does other things meanwhile: starts it, and returns when it runs. What
 * is said about corral_process_*() in corral/sandbox.h holds for these; a call that may not run is
 * refused by shell_start. Its end is in the audit once corral_shell_wait() returned 0; freeing it
 * kills it if it still runs.
 */
struct corral_shell;
CORRAL_API int corral_enclave_shell_start(struct corral_shell **ret, struct corral_enclave *enclave,
	const struct corral_by *by, const char *const *argv, const struct corral_call *call,
	struct corral_error **e);
CORRAL_API int corral_shell_fd(struct corral_shell *s);
CORRAL_API int corral_shell_dispatch(struct corral_shell *s);
CORRAL_API int corral_shell_wait(struct corral_shell *s, int timeout_ms, struct corral_result **ret,
	struct corral_error **e);
CORRAL_API int corral_shell_kill(struct corral_shell *s);
/* Before the enclave. Accepts NULL. */
CORRAL_API void corral_shell_free(struct corral_shell *s);

/* May the host make this request? 0: yes. Where a redirect leads is another request. */
CORRAL_API int corral_enclave_http_request(struct corral_enclave *enclave,
	const struct corral_by *by, const char *method, const char *url, struct corral_error **e);

/*
 * May the host do this? For what no other call here is about: a variable (CORRAL_ENV, its name), a
 * service (CORRAL_SERVICE, "browser.open:https://example.com/"), another operation. 0: yes.
 *
 * It decides by the name alone. For a path that is not enough: nothing is looked up, so a link that
 * leads elsewhere, or takes the name afterwards, is not seen. The file calls check the file that
 * they use; prefer them, and do not open a path because this call allowed it.
 */
CORRAL_API int corral_enclave_check(struct corral_enclave *enclave, const struct corral_by *by,
	enum corral_operation op, const char *target, struct corral_error **e);

/* Policy */

/* Canonical JSON of what is granted now (without the ceiling). */
CORRAL_API int corral_enclave_get_policy(struct corral_enclave *enclave, char **ret);
/* What a change did: *ret may be NULL; see corral_sandbox_update(). A wrong token is -EPERM. */
CORRAL_API int corral_enclave_set_policy(struct corral_enclave *enclave, const char *token,
	const struct corral_permissions *granted, struct corral_update *ret,
	struct corral_error **e);
CORRAL_API int corral_enclave_grant(struct corral_enclave *enclave, const char *token,
	enum corral_operation op, const char *pattern, struct corral_update *ret,
	struct corral_error **e);
/* Takes back a grant, by the same pattern; -ENOENT: there is none. What others grant stays. */
CORRAL_API int corral_enclave_revoke(struct corral_enclave *enclave, const char *token,
	enum corral_operation op, const char *pattern, struct corral_update *ret,
	struct corral_error **e);

/* Questions: where the policy says "ask". */

/* The number of the question after an error, or 0. */
CORRAL_API uint64_t corral_error_question(const struct corral_error *e);
/* Calls back with all that wait for an answer, oldest first; returns how many. */
typedef int corral_question_visit(void *context, const struct corral_question *question);
CORRAL_API long corral_enclave_questions(
	struct corral_enclave *enclave, corral_question_visit *visit, void *context);
/*
 * verdict: CORRAL_ALLOW or CORRAL_DENY. scope: NULL for what was asked for, or a smaller one;
 * -EINVAL if it is larger. A refusal is remembered for its ttl. *ret_approval (may be NULL): the
 * number of what was agreed to, or of the refusal. -ENOENT: no such question.
 */
CORRAL_API int corral_enclave_answer(struct corral_enclave *enclave, const char *token,
	uint64_t question, enum corral_verdict verdict, const struct corral_scope *scope,
	uint64_t *ret_approval, struct corral_error **e);
/*
 * A descriptor that becomes readable when a question was answered: call again what was refused with
 * -EINPROGRESS. Reading 8 bytes from it makes it wait for the next. It belongs to the enclave.
 * Negative: an errno value.
 */
CORRAL_API int corral_enclave_answers_fd(struct corral_enclave *enclave);
/*
 * Hands a part of an approval on to another actor: the scope must be no larger in anything. What
 * the other uses is used up here too, and ends when this ends.
 */
CORRAL_API int corral_enclave_hand_on(struct corral_enclave *enclave, uint64_t approval,
	const struct corral_scope *scope, uint64_t *ret_approval, struct corral_error **e);
/* Takes it back, with all that was handed on; or a refusal. */
CORRAL_API int corral_enclave_withdraw(struct corral_enclave *enclave, const char *token,
	uint64_t approval, struct corral_error **e);

/* Audit */

/* A JSON array of the latest, oldest first; limit 0: all that are in memory. */
CORRAL_API int corral_enclave_get_audit_log(
	struct corral_enclave *enclave, size_t limit, char **ret, struct corral_error **e);
/* To a file, as corral_audit_export(). */
CORRAL_API int corral_enclave_export_audit_log(struct corral_enclave *enclave, const char *format,
	const char *path, struct corral_error **e);

#ifdef __cplusplus
}
#endif
#endif
