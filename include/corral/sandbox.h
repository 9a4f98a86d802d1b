/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORRAL_SANDBOX_H
#define CORRAL_SANDBOX_H
/*
 * Running commands under a policy, for host programs that let an agent run things.
 *
 *     struct corral_builder *b = NULL;
 *     struct corral_sandbox *sandbox = NULL;
 *     struct corral_result *result = NULL;
 *     struct corral_error *e = NULL;
 *
 *     corral_builder_new(&b);
 *     corral_builder_work_dir(b, "/srv/job");
 *     corral_builder_allow_fs_read(b, "/usr/{,**}");
 *     corral_builder_allow_fs_write(b, "$WORK_DIR/{,**}");
 *     corral_builder_timeout(b, 30000);
 *     if (corral_builder_build(b, &sandbox, &e) < 0 ||
 *         corral_sandbox_execute(sandbox, "make test", NULL, &result, &e) < 0)
 *             fprintf(stderr, "%s\n", corral_error_message(e));
 *     else
 *             fputs(corral_result_stdout(result, NULL), stdout);
 *     corral_result_free(result);
 *     corral_sandbox_free(sandbox);
 *     corral_builder_free(b);
 *     corral_error_free(e);
 *
 * What corral/policy.h says about errors holds here too. A command that ran and failed is no error:
 * its result says so. A negative value means that it did not run, or that its end is not known:
 *
 *     -EACCES      the policy does not let it run; corral_error_denial() says which rule
 *     -ENOENT      the host has no such program, script or folder
 *     -ECANCELED   it was killed before it began
 *     -ECONNRESET  the session ended under the command's feet; the next call makes a new one
 *     -EOPNOTSUPP  this kernel, or this version, cannot hold what was asked for
 *
 * The library never forks the host program, starts no threads, has no global state, installs no
 * signal handlers, does not need SIGCHLD, raises no SIGPIPE, and prints nothing. It starts one
 * small program for each sandbox, corral-warden, with posix_spawn(). All its descriptors are
 * close-on-exec.
 *
 * Sandboxes and processes may be used by any number of threads at once. Builders and results belong
 * to one thread at a time. After fork(), the child must not touch any of them, not even to free it.
 */
#include <stddef.h>
#include <stdint.h>

#include <corral/policy.h>

#ifdef __cplusplus
extern "C" {
#endif

struct corral_builder;
struct corral_sandbox;
struct corral_process;
struct corral_result;

/* Something was refused. Strings are never NULL; "" where there is nothing to say. */
struct corral_denial {
	enum corral_operation op;
	const char *target; /* what was asked for: a path, a program, a host, NAME=value … */
	const char *rule;   /* the rule that decided, "policy.yaml:3: /srv/data" */
	const char *reason; /* why, in words */
	const char *remedy; /* what would allow it, in words */
	int exact;          /* 1: it was refused; 0: found out afterwards, the likely cause */
	uint64_t count;     /* how often it was tried, as far as it is known by now; at least 1 */
};

/* The denial after an error, or NULL. Lives as long as the error. */
CORRAL_API const struct corral_denial *corral_error_denial(const struct corral_error *e);

/* What happened, for an audit sink. */
enum corral_event_kind {
	CORRAL_EVENT_SESSION,    /* a session stands: the first, or one after a loss or an update */
	CORRAL_EVENT_LOST,       /* the session died; `message` */
	CORRAL_EVENT_STARTED,    /* a command runs */
	CORRAL_EVENT_ENDED,      /* it ended; `result` */
	CORRAL_EVENT_FAILED,     /* it did not run, or its end is not known; `message` */
	CORRAL_EVENT_DENIED,     /* `denial` */
	CORRAL_EVENT_CONNECTION, /* of a granted host: it is over, or failed; `connection` */
	/* There may be more some day: a sink leaves alone what it does not know. */
};

/* A connection, or an exchange by UDP, or several of them that ended in the same second. */
struct corral_connection {
	size_t size;             /* of this struct, as the library knows it */
	const char *target;      /* as in struct corral_destination */
	const char *address;     /* that was dialled; "" if it is not known */
	int failed;              /* 1: it was allowed, and came to nothing; 0: it is over */
	const char *reason;      /* why it failed; "" otherwise */
	uint64_t sent, received; /* bytes out of the sandbox, and into it */
	uint64_t count;          /* at least 1 */
};

struct corral_event {
	size_t size; /* of this struct, as the library knows it */
	enum corral_event_kind kind;
	uint64_t time_ns;                   /* of the day, since 1970 */
	uint64_t command;                   /* as corral_process_id(); 0: none, or not known */
	const char *program;                /* the command line, or the program; "" if none */
	const char *message;                /* "" if there is nothing to say */
	const struct corral_denial *denial; /* NULL but for DENIED */
	const struct corral_result *result; /* NULL but for ENDED */
	const struct corral_connection *connection; /* NULL but for CONNECTION */
	/* Of the network: the process that it was, as far as it is known; else 0 and NULL. */
	uint32_t pid;
	const char *actor;
};

/*
 * Called from within calls of the library, by the thread that made the call, while no lock is held;
 * by two threads at once if two are in calls. The event lasts for the call only.
 */
typedef void corral_audit_sink(void *context, const struct corral_event *event);

/*
 * The builder. Each call returns 0 or a negative errno; the first failure is kept and
 * corral_builder_build() fails with its sentence, so it is enough to look there.
 */

/*
 * Modes for a whole agent, as `corral run --mode` has them. sandbox and rx: everything may be read
 * but what the baseline protects; written are the data folder, extra folders, $TEMP and ~/.claude
 * only; the network and the environment are the host's. They differ in the prompt. rwx is no
 * sandbox: nothing is enforced.
 */
enum corral_mode { CORRAL_MODE_SANDBOX, CORRAL_MODE_RX, CORRAL_MODE_RWX };

/* "sandbox", "rx", "rwx", to show and to parse; NULL: there is no such mode. */
CORRAL_API const char *corral_mode_name(enum corral_mode mode);
/* -EINVAL if the name is none of these. */
CORRAL_API int corral_mode_parse(const char *name, enum corral_mode *ret);
/*
 * What to put into the prompt of an agent that runs in this mode, the same as `corral prompt`
 * prints; "" for rwx. *ret is the caller's to free(). The text protects nothing by itself. data_dir
 * is an absolute path; NULL with rwx only.
 */
CORRAL_API int corral_mode_prompt(
	enum corral_mode mode, const char *data_dir, char **ret, struct corral_error **e);

/* Grants nothing. */
CORRAL_API int corral_builder_new(struct corral_builder **ret);
/* Starts from these permissions, which are copied. Those of a parsed skill bring its $SKILL_DIR;
 * but its folder is used as it is, and whether it was approved is not asked: see
 * corral_builder_from_manifest(). */
CORRAL_API int corral_builder_from_permissions(
	struct corral_builder **ret, const struct corral_permissions *p);
/*
 * Reads a file in any format that Corral knows, or the manifest of a skill in that folder. Its
 * folder becomes $SKILL_DIR.
 *
 * Of a skill the whole folder is looked at, and whether the user approved just that (`corral
 * approve DIR`): if not, building fails with -EACCES. What was looked at is copied, and is what the
 * sandbox has at the folder's path, read-only, whatever happens to the folder; but for what the
 * manifest grants for writing in it ($SKILL_DIR/data/ and all below), which is the folder's own,
 * and from which nothing can be executed. -EINVAL: the folder holds more than one manifest, or the
 * manifest grants to write itself, its entry or its module; -E2BIG: more than 256 MiB. Each session
 * (the first, or one after an update or a loss) is built only while the folder is unchanged:
 * -ESTALE.
 */
CORRAL_API int corral_builder_from_manifest(
	struct corral_builder **ret, const char *path, struct corral_error **e);
/*
 * Starts from the policy that whoever started this program handed over, in any format that Corral
 * knows. The first of these variables that is set counts:
 *
 *     SANDBOX_POLICY_FD      the number of an open descriptor, 3 at least: a file or memfd, which
 * is read from its start, or a pipe or stream socket, up to its end SANDBOX_POLICY_FILE    the
 * absolute path of a file; see corral_builder_from_manifest() SANDBOX_POLICY         the policy
 * itself
 *
 * If none is set, everything is denied; so it is in set-uid programs, which do not look. A source
 * that is named but of no use is an error, and never the next one's turn: -EINVAL (no number, no
 * path, no policy), -EBADF (the descriptor is not open, or was not handed over: one that is closed
 * on exec is this program's own), -EFBIG (more than 4 MiB), or what reading failed with.
 *
 * The descriptor is closed when it was read, so a second call fails: keep the builder, which can be
 * used again. The variables stay set: a library cannot change the environment while other threads
 * may read it. Whoever starts programs outside of a sandbox takes them out, when no other thread
 * runs; commands in a sandbox never have them, whatever the policy grants. The file cannot be
 * changed by commands, nor can the way to it.
 */
CORRAL_API int corral_builder_from_environment(
	struct corral_builder **ret, struct corral_error **e);
/*
 * Starts from a mode. data_dir and the extra folders (ends with NULL; may be NULL) are absolute
 * paths, taken literally. The data folder is $DATA_DIR, which is made if it is missing, and
 * $WORK_DIR, where commands start, unless another is given. For sandbox and rx more can be granted,
 * denied and restricted.
 *
 * With CORRAL_MODE_RWX commands run without a jail, with all rights of the user and the whole
 * environment. Time-outs and limits of output, file size and open files hold; when a command ends
 * its process group is killed, but a process that left the group lives on. What only a jail could
 * enforce is refused: building fails with -EOPNOTSUPP if something was granted, denied or
 * restricted, or if memory or processes are limited. data_dir may be NULL.
 */
CORRAL_API int corral_builder_from_mode(struct corral_builder **ret, enum corral_mode mode,
	const char *data_dir, const char *const *extra, struct corral_error **e);
/*
 * Skills may run although they were not approved, as `corral run --yes` has it: for hosts that have
 * asked the user in their own way.
 */
CORRAL_API int corral_builder_allow_unapproved_skill(struct corral_builder *b);
CORRAL_API void corral_builder_free(struct corral_builder *b);

/* Each grants one pattern (corral-permissions(5)). */
CORRAL_API int corral_builder_allow_fs_read(struct corral_builder *b, const char *pattern);
CORRAL_API int corral_builder_allow_fs_write(struct corral_builder *b, const char *pattern);
CORRAL_API int corral_builder_allow_network(struct corral_builder *b, const char *host);
/* The first turns "whatever can be read" into a list of programs. */
CORRAL_API int corral_builder_allow_exec(struct corral_builder *b, const char *program);
/* NAME: the host's value; NAME=value: this one. */
CORRAL_API int corral_builder_allow_env(struct corral_builder *b, const char *name);
/* Denies win over grants. */
CORRAL_API int corral_builder_deny_fs(struct corral_builder *b, const char *pattern);
CORRAL_API int corral_builder_deny_network(struct corral_builder *b, const char *host);
/* No program but the shell of corral_sandbox_execute(), unless granted. */
CORRAL_API int corral_builder_restrict_exec(struct corral_builder *b);
/* Adds what p grants and denies. */
CORRAL_API int corral_builder_merge_permissions(
	struct corral_builder *b, const struct corral_permissions *p);
/* One more layer: only what p allows too. Holds for grants that are made later as well. */
CORRAL_API int corral_builder_restrict(
	struct corral_builder *b, const struct corral_permissions *p);

/* Limits of each command. They only ever narrow those of the permissions; 0 is a limit of 0.
 */
CORRAL_API int corral_builder_timeout(struct corral_builder *b, uint64_t milliseconds);
CORRAL_API int corral_builder_memory_limit(struct corral_builder *b, uint64_t bytes);
CORRAL_API int corral_builder_pids_limit(struct corral_builder *b, uint64_t processes);
/* Of stdout and stderr each: what is more is read, counted and dropped. */
CORRAL_API int corral_builder_output_limit(struct corral_builder *b, uint64_t bytes);
CORRAL_API int corral_builder_file_size_limit(struct corral_builder *b, uint64_t bytes);
CORRAL_API int corral_builder_open_files_limit(struct corral_builder *b, uint64_t descriptors);

/*
 * $WORK_DIR, and where commands start. Grants nothing. It must exist when the sandbox is built.
 * Without one, permissions that name $WORK_DIR get an empty folder of the sandbox's own in $TMPDIR,
 * which is removed with the sandbox; so does $SKILL_DIR where there is no skill.
 *
 * Folders and grants are not followed through symbolic links that an earlier command could have
 * made: building then fails with -EPERM (a folder) or -EACCES (a grant), and says where the link
 * leads. Links of root's where this user cannot write, and links in the home itself, are followed.
 */
CORRAL_API int corral_builder_work_dir(struct corral_builder *b, const char *dir);
/* $DATA_DIR. Grants nothing. Made with mode 0700 if it is missing when the sandbox is built. */
CORRAL_API int corral_builder_data_dir(struct corral_builder *b, const char *dir);
/* Gives a variable its value: SKILL_DIR, SHARED_DIR, HOME, TEMP … HOME comes from the environment.
 */
CORRAL_API int corral_builder_variable(
	struct corral_builder *b, const char *name, const char *value);
CORRAL_API int corral_builder_with_audit(
	struct corral_builder *b, corral_audit_sink *sink, void *context);
/*
 * The sandbox does not join the user's daemon, corrald(8). By itself it does if one runs: the
 * daemon hears of its commands, redacted as for corral_audit_sandbox(), and the user may end it
 * there; then commands are killed, and further ones are -ECANCELED. Nothing waits for the daemon,
 * but for a fifth of a second at most when a sandbox is freed that it has not seen yet. What it
 * says is heard in calls, and while one waits for a command.
 *
 * The user may also grant hosts, and with a broker files, programs and services, while the sandbox
 * lives: what its permissions allow or ask about, and never more. Such grants end by their time, by
 * the user, with the sandbox, and by corral_sandbox_update().
 */
CORRAL_API int corral_builder_without_daemon(struct corral_builder *b);
/*
 * How long a connection, or a call of a broker, waits for the user's answer where the permissions
 * ask; 0: it is refused at once, as it is without a daemon. By itself a minute. -EINVAL: more than
 * a day.
 */
CORRAL_API int corral_builder_ask_ms(struct corral_builder *b, uint64_t ms);
/*
 * Starts a broker beside each session, which answers what commands ask at the socket that their
 * variable SANDBOX_SOCKET names, under the sandbox's permissions (corral-broker; `sandbox-call` is
 * in their PATH). Building fails if there is none, or if it cannot serve. Its programs are those
 * that CORRAL_BROKER and CORRAL_SANDBOX_CALL name (not in set-uid programs), else the installed
 * ones. An update of the permissions makes a new session, and a new broker.
 *
 * If it dies, the sandbox goes on, and calls are refused with "connection refused" for the rest of
 * the session: the warden, which would have to start another, has confined itself by then so that
 * it can run no program. The next session (corral_sandbox_update(), or another sandbox) has one.
 *
 * Its calls are in the log if the sandbox's sink is corral_audit_sandbox(), and in the daemon's. A
 * sink of the host's own hears nothing of them.
 *
 * socket: NULL. With a path it fails with -EOPNOTSUPP, and that is to stay: a broker serves one
 * session. It has that sandbox's root, permissions and limits, which it was given when it started,
 * and its socket is in that sandbox's /dev; by the socket of another it would read another's files.
 */
CORRAL_API int corral_builder_with_broker(struct corral_builder *b, const char *socket);
/*
 * The same, and it also serves HTTP on the sandbox's loopback, for commands that can open no Unix
 * socket: SANDBOX_HTTP_URL and SANDBOX_TOKEN are in their environment, one token for each sandbox.
 * Fewer methods can be called so (docs/broker.md). Building fails if the permissions give commands
 * the host's network.
 */
CORRAL_API int corral_builder_broker_http(struct corral_builder *b);
/*
 * What a sandbox may do for its user, through its broker: "notifications.send",
 * "reminders.read:Work", SERVICE.ACCESS and one value of its scope (docs/services.md). Each call
 * adds one. This grants; with_broker() starts what does it.
 */
CORRAL_API int corral_builder_allow_service(struct corral_builder *b, const char *pattern);
/*
 * Sections of services.yaml (corral-services(5)), as YAML: they come before those of the user's
 * file and the system's. Keys are checked when a service is called first: a mistake is the answer
 * to that call. Passwords are named by password_file, never given here. Implies with_broker().
 */
CORRAL_API int corral_builder_services(struct corral_builder *b, const char *yaml);
/*
 * The program to start as warden. Unless given: the environment's CORRAL_WARDEN (not in set-uid
 * programs), else the one that was installed with the library.
 */
CORRAL_API int corral_builder_warden(struct corral_builder *b, const char *path);

/*
 * Makes the sandbox and waits until its session stands, so that everything which is wrong with the
 * policy or the system is reported here. The environment of the host is read now, not later. The
 * builder can be used again.
 */
CORRAL_API int corral_builder_build(
	struct corral_builder *b, struct corral_sandbox **ret, struct corral_error **e);

/* One call. Zero means: as the sandbox has it. Start with struct corral_call c = CORRAL_CALL; */
#ifdef __cplusplus
#define CORRAL_CALL                        \
	{                                  \
		sizeof(struct corral_call) \
	}
#else
#define CORRAL_CALL                                \
	{                                          \
		.size = sizeof(struct corral_call) \
	}
#endif

enum corral_stream { CORRAL_STDIN, CORRAL_STDOUT, CORRAL_STDERR };

enum {
	CORRAL_CALL_INPUT = 1 << 0, /* stdin stays open for corral_process_write() */
	CORRAL_CALL_TTY = 1 << 1,   /* a terminal of its own; what it prints is stdout */
	CORRAL_CALL_MERGE = 1 << 2, /* stderr goes where stdout goes */
	CORRAL_CALL_RAW = 1 << 3,   /* output waits in its pipes for corral_process_take_fd() */
};

/* Not 0: kill the command. */
typedef int corral_output_callback(
	void *context, enum corral_stream stream, const void *data, size_t len);

struct corral_call {
	size_t size;            /* sizeof(struct corral_call): set by CORRAL_CALL */
	const char *cwd;        /* absolute */
	const char *const *env; /* "NAME=value", … and NULL; the policy must grant each */
	uint64_t timeout_ms;    /* these two only narrow the limits of the sandbox */
	uint64_t output_limit;
	const void *input; /* stdin; none: it is empty */
	size_t input_len;
	unsigned flags;               /* CORRAL_CALL_… */
	unsigned short rows, columns; /* of the terminal; 0: 24 and 80 */
	/* Called with output as it comes; it is not kept then. From dispatch, wait and execute
	 * only. */
	corral_output_callback *output;
	void *context;
	/*
	 * Three descriptors for the command's stdio, -1: the library's own. They stay the caller's.
	 * Of pipes, stream sockets and files that are open for writing only bytes go in, copied by
	 * the warden until the command's end is reported; it has been written then, unless the call
	 * timed out or was killed while the caller did not read.
	 */
	const int *stdio;
};

/* The sandbox. All calls below wait until the command ended; `call` may be NULL. */

/*
 * /bin/sh -c line. The shell is implied by the call and grants nothing else.
 */
CORRAL_API int corral_sandbox_execute(struct corral_sandbox *s, const char *line,
	const struct corral_call *call, struct corral_result **ret, struct corral_error **e);
/* A program with its arguments; argv[0] is a path, or a name that PATH finds. Ends with NULL. */
CORRAL_API int corral_sandbox_execute_argv(struct corral_sandbox *s, const char *const *argv,
	const struct corral_call *call, struct corral_result **ret, struct corral_error **e);
/*
 * A script: by its #! line, or, with a runtime ("python", "node", "bash" …), by that. args (may be
 * NULL) ends with NULL. The script need not be executable.
 */
CORRAL_API int corral_sandbox_execute_script(struct corral_sandbox *s, const char *path,
	const char *runtime, const char *const *args, const struct corral_call *call,
	struct corral_result **ret, struct corral_error **e);
/*
 * The entry of a skill: a file in its folder, which must be executable. entry NULL, or the name
 * that the manifest there has: that one, by its runtime if it names one. The sandbox must have been
 * built by corral_builder_from_manifest() of that folder. -EACCES: it was not, or the skill is not
 * approved as it is now, or the entry leads out of its folder or to what the skill may write;
 * -ENOEXEC: it is not executable; -ESTALE: the folder is not what the sandbox was built from any
 * more.
 */
CORRAL_API int corral_sandbox_run_skill_entry(struct corral_sandbox *s, const char *skill_dir,
	const char *entry, const char *const *args, const struct corral_call *call,
	struct corral_result **ret, struct corral_error **e);
/*
 * The same by a runtime ("bash", "python", "node" …), which must be granted; the entry need not be
 * executable then. runtime NULL: as above.
 */
CORRAL_API int corral_sandbox_run_skill_entry_by(struct corral_sandbox *s, const char *skill_dir,
	const char *entry, const char *runtime, const char *const *args,
	const struct corral_call *call, struct corral_result **ret, struct corral_error **e);

/*
 * Other permissions from now on: all n layers must allow. Commands that start after this returns
 * have exactly these. For those that run, the network changes at once where single hosts were
 * granted (what is not granted any more is cut off); files, programs and variables stay as they
 * were until they end. *ret (may be NULL) says which. On failure everything stays as it was.
 *
 * Where more than hosts changed, the next command has a new session, whose private home and /tmp
 * are empty. Not from an audit sink that hears of an update: -EDEADLK.
 */
enum {
	CORRAL_PART_FILES = 1 << 0,
	CORRAL_PART_PROGRAMS = 1 << 1,
	CORRAL_PART_NETWORK = 1 << 2,
	CORRAL_PART_VARIABLES = 1 << 3,
	CORRAL_PART_LIMITS = 1 << 4,
};
struct corral_update {
	size_t size;         /* of this struct; set it before the call */
	uint64_t generation; /* of the policy: 1 for the first */
	unsigned changed;    /* CORRAL_PART_…: what is not as it was before */
	unsigned at_once;    /* of these: what holds for running commands too */
	unsigned next;       /* of these: what holds for commands that start from now on only */
	unsigned running;    /* commands that run on with something of `next` as it was */
};
CORRAL_API int corral_sandbox_update(struct corral_sandbox *s,
	const struct corral_permissions *const *layers, size_t n, struct corral_update *ret,
	struct corral_error **e);

/* Kills all commands that run now. The session stays. Returns how many. */
CORRAL_API int corral_sandbox_kill(struct corral_sandbox *s);
/* What the kernel holds here: 1 is everything, CORRAL_TIER_NONE nothing. */
enum { CORRAL_TIER_NONE = 5 };
CORRAL_API unsigned corral_sandbox_tier(struct corral_sandbox *s);
/*
 * How commands are run: "namespaces", a jail that enforces the permissions; or "none", which
 * enforces nothing. "none" is there for mode rwx alone: where a jail cannot be had, building fails.
 */
CORRAL_API const char *corral_sandbox_backend(const struct corral_sandbox *s);

struct corral_stats {
	uint64_t commands; /* that were started */
	uint64_t running;
	uint64_t refused; /* that were not: by the policy, or because it failed */
	uint64_t denials;
	uint64_t timeouts;
	uint64_t sessions; /* 1, and one more for each that was lost, or replaced by an update */
	uint64_t user_us, system_us;
	uint64_t peak_bytes;                              /* of memory, the largest of a command */
	uint64_t stdin_bytes, stdout_bytes, stderr_bytes; /* dropped ones included */
	/* Of the network, where single hosts are granted: connections that are over, UDP included,
	 * and the bytes that went out of the sandbox and into it by them. */
	uint64_t connections, sent_bytes, received_bytes;
};
/* size: sizeof(*ret). Fields that this version of the library does not know are zero. */
CORRAL_API void corral_sandbox_stats(
	struct corral_sandbox *s, struct corral_stats *ret, size_t size);

/* Where commands of the sandbox went, or wanted to go. */
struct corral_destination {
	const char *target;      /* "api.example.com:443", "udp://192.0.2.1:53"; never NULL */
	uint64_t connections;    /* that are over */
	uint64_t failed;         /* that were allowed, and came to nothing */
	uint64_t denied;         /* that were not allowed */
	uint64_t sent, received; /* bytes out of the sandbox, and into it */
};
/*
 * Fills at most n of them, in the order in which they were heard of, and returns how many there
 * are. size: sizeof(*ret). The targets live as long as the sandbox. No more than 4096 are kept
 * apart; what comes then is in the numbers of corral_sandbox_stats() only.
 */
CORRAL_API size_t corral_sandbox_destinations(
	struct corral_sandbox *s, struct corral_destination *ret, size_t n, size_t size);

/*
 * Ends the session with all that runs in it, and waits for that. Processes that still exist end
 * with -ECONNRESET and must be freed, too.
 */
CORRAL_API void corral_sandbox_free(struct corral_sandbox *s);

/* A process: a command that runs while the caller does other things. */

CORRAL_API int corral_process_start(struct corral_process **ret, struct corral_sandbox *s,
	const char *const *argv, const struct corral_call *call, struct corral_error **e);
CORRAL_API int corral_process_start_line(struct corral_process **ret, struct corral_sandbox *s,
	const char *line, const struct corral_call *call, struct corral_error **e);
CORRAL_API int corral_process_start_script(struct corral_process **ret, struct corral_sandbox *s,
	const char *path, const char *runtime, const char *const *args,
	const struct corral_call *call, struct corral_error **e);

CORRAL_API uint64_t corral_process_id(const struct corral_process *p);
/* Readable when corral_process_dispatch() has something to do. Belongs to the process. */
CORRAL_API int corral_process_fd(struct corral_process *p);
/* Does what can be done without waiting: callbacks come from here. 1: it ended; 0: not yet. */
CORRAL_API int corral_process_dispatch(struct corral_process *p);
/*
 * Dispatches until the end, or until timeout_ms passed (-1: no bound): then -EAGAIN. May be called
 * again, also by others: each call gives a reference to the same result.
 */
CORRAL_API int corral_process_wait(struct corral_process *p, int timeout_ms,
	struct corral_result **ret, struct corral_error **e);

/*
 * Queues bytes for stdin and returns how many were taken; dispatch and wait hand them on. -EAGAIN:
 * the queue is full, dispatch first; -EPIPE: the command has closed its end; -EINVAL: a length and
 * no bytes.
 */
CORRAL_API long corral_process_write(struct corral_process *p, const void *data, size_t len);
/* No more input, once the queue is empty. On a terminal: its end-of-file character. */
CORRAL_API int corral_process_close_stdin(struct corral_process *p);
/*
 * Gives the library's end of a stream to the caller, who closes it: the pipe, or the terminal's
 * master (which is all three). Non-blocking, close-on-exec. For output: with CORRAL_CALL_RAW, or
 * before the first dispatch. -EBADF: there is none, or it was taken; -EAGAIN: the terminal is not
 * there yet, dispatch first.
 */
CORRAL_API int corral_process_take_fd(struct corral_process *p, enum corral_stream stream);
/* To the command's foreground processes. -ESRCH: it ended. */
CORRAL_API int corral_process_signal(struct corral_process *p, int signal);
/* Kills it with all its processes. */
CORRAL_API int corral_process_kill(struct corral_process *p);
/* A new size for its terminal. */
CORRAL_API int corral_process_resize(
	struct corral_process *p, unsigned short rows, unsigned short columns);
/* Kills it if it still runs; does not wait for that. No thread may be using it. */
CORRAL_API void corral_process_free(struct corral_process *p);

/* A result: how a command ended. Strings live as long as the result does. */

/* As a shell has it: 128 + n if signal n killed it; 124 if it timed out. */
CORRAL_API int corral_result_exit_code(const struct corral_result *r);
/* The signal that killed it, or 0. */
CORRAL_API int corral_result_signal(const struct corral_result *r);
CORRAL_API int corral_result_timed_out(const struct corral_result *r);
CORRAL_API int corral_result_out_of_memory(const struct corral_result *r);
/* It asked for more processes than it may have. */
CORRAL_API int corral_result_too_many_pids(const struct corral_result *r);
/* It was killed by corral_process_kill(), or by its output callback. */
CORRAL_API int corral_result_killed(const struct corral_result *r);

/* What it printed, with a NUL after it; *ret_len (may be NULL) is the length. Never NULL. */
CORRAL_API const char *corral_result_stdout(const struct corral_result *r, size_t *ret_len);
CORRAL_API const char *corral_result_stderr(const struct corral_result *r, size_t *ret_len);
/* 1 if it printed more than was kept, or than could be written to `stdio` of the call; and how much
 * it printed in all. */
CORRAL_API int corral_result_stdout_truncated(const struct corral_result *r);
CORRAL_API int corral_result_stderr_truncated(const struct corral_result *r);
CORRAL_API uint64_t corral_result_stdout_bytes(const struct corral_result *r);
CORRAL_API uint64_t corral_result_stderr_bytes(const struct corral_result *r);

CORRAL_API uint64_t corral_result_duration_us(const struct corral_result *r);
CORRAL_API uint64_t corral_result_user_us(const struct corral_result *r);
CORRAL_API uint64_t corral_result_system_us(const struct corral_result *r);
/* Of all its processes with a cgroup, else of the largest. */
CORRAL_API uint64_t corral_result_peak_bytes(const struct corral_result *r);

/* The back end that ran it, as corral_sandbox_backend(). "none": nothing was enforced. */
CORRAL_API const char *corral_result_backend(const struct corral_result *r);

/* How a limit was held. */
enum corral_held_by {
	CORRAL_HELD_BY_NOTHING, /* there was no limit */
	CORRAL_HELD_BY_CGROUP,  /* by the kernel, for the whole command */
	CORRAL_HELD_BY_RLIMIT, /* by the kernel, for each process (memory), or the sandbox (pids) */
	CORRAL_HELD_BY_POLLING, /* by looking several times a second */
};
CORRAL_API enum corral_held_by corral_result_memory_held_by(const struct corral_result *r);
CORRAL_API enum corral_held_by corral_result_pids_held_by(const struct corral_result *r);

CORRAL_API size_t corral_result_denials(const struct corral_result *r);
/* NULL past the end. */
CORRAL_API const struct corral_denial *corral_result_denial(
	const struct corral_result *r, size_t i);
CORRAL_API void corral_result_free(struct corral_result *r);

#ifdef __cplusplus
}
#endif
#endif
