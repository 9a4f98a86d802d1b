/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * corrald.c has options, start and end; supervisor.c the loop and the sockets; http-process.c the
 * process that reads HTTP; enclave-process.c the one that has /api/invoke; sandboxes.c those that
 * joined; acks.c what is committed of what they send; known.c what the log has of it already;
 * missed.c what runs left while there was no daemon; bus.c events; api.c and tool.c the answers;
 * security-watch.c what is wrong; journal.c what is written.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "audit/missed.h"
#include "audit/trail.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/link.h"
#include "daemon/config.h"
#include "daemon/login.h"
#include "daemon/message.h"
#include "daemon/route.h"
#include "daemon/supervisor/runtime-folder.h"
#include "daemon/peers/origin.h"
#include "event/loop.h"
#include "warden/outbox.h"
#include "wire/child.h"
#include "wire/frame.h"
#include "wire/join.h"

enum {
	HTTP_STARTS_MAX = 5, /* of corrald-http in HTTP_STARTS_MS; more wait until those are over */
	HTTP_STARTS_MS = 10 * 1000,
	API_CALLS_MAX = 512, /* not answered yet: tools, lines, orders and the enclave have fewer */
	ENCLAVE_CALLS_MAX = 64,
	BUS_KEPT = 256,      /* events that a new corrald-http gets */
	TOOLS_CALLS_MAX = 8, /* that answer calls at once */
	TOOLS_MAX = 10,      /* with those of the daemon itself */
	TOOL_LINES = 2,      /* of calls that wait: by TCP, by the Unix socket */
	TOOL_LINE_MAX = 128,
	TOOL_LINE_BYTES = 8 << 20,
	TOOL_WAIT_MS = 20 * 1000, /* in a line; TOOL_MS follow */
	SANDBOXES_MAX = 4096,
	SANDBOX_HELLO_MS = 5 * 1000, /* for one that connected to say who it is */
	ORDERS_MAX = 64,
	ORDER_MS = 10 * 1000, /* for a sandbox to carry one out */
	TOOL_MS = 30 * 1000,
	TOOL_OUTPUT_MAX = 3 << 20,
};

struct supervisor;

struct http_process {
	struct child child;
	struct watcher link;
	struct outbox out;
	struct timer again;
	uint64_t started[HTTP_STARTS_MAX]; /* ms: the last ones, in a ring */
	size_t n_started;
	struct frame frame;
	uint64_t last_call; /* that it made */
	bool is_heard;      /* calls of `frame` are under way */
	/* It was sent what there was: there may be room for more, or it broke a rule. */
	void (*flushed)(struct supervisor *s);
	char start[PROOF_ID + 1]; /* names this one: counts of tabs begin anew with it */
};

/* A call that was not answered yet; the log gets it with its answer's status. */
struct api_pending {
	const struct route *route; /* NULL: the place is free */
	uint64_t id;
	bool by_unix;
};

/* A call of set_policy, and enclave.yaml and .json before it: a file that changed since then counts
 * more. */
struct enclave_policy {
	struct buffer call;
	struct stat files[2];
};

/* A call that corrald-enclave has. */
struct invoked_call {
	uint64_t number;              /* its own; 0: none */
	uint64_t id;                  /* corrald-http's */
	size_t generation;            /* of corrald-http: another one has other calls */
	struct enclave_policy policy; /* of set_policy: the call itself */
};

struct enclave_process {
	struct child child;
	struct watcher link;
	struct outbox out;
	struct frame frame;
	struct invoked_call calls[ENCLAVE_CALLS_MAX];
	uint64_t n_calls;
	size_t n_started;
	struct enclave_policy policy; /* the last call of set_policy that succeeded */
};

/* health.c */
struct health {
	struct timer timer;
	struct watcher answer; /* our end of a connection to corrald-http */
	pid_t asked;           /* which one */
	uint64_t asked_at;     /* by the loop */
	bool is_good;          /* the last answer was right */
};

struct bus_event {
	uint64_t id;
	struct buffer body;
};

struct bus {
	struct bus_event kept[BUS_KEPT];
	uint64_t first_id, next_id;
};

/* tool-queue.c */
struct tool_line {
	struct link waiting;
	size_t n, bytes;
};

struct tool_queue {
	struct tool_line lines[TOOL_LINES];
	size_t turn; /* which line is served next, modulo TOOL_LINES */
};

struct tool;
struct order;
struct questions;
struct json_writer;

/* What finds. A look of one replaces what it found before. */
enum security_source { WATCH_SCAN, WATCH_LOG, WATCH_OWN, WATCH_PEER };

struct security_finding {
	enum security_source source;
	char id[64];
	const char *severity, *kind; /* words of tables */
	char *text, *where, *remedy;
	uint64_t since_ms, until_ms; /* until: of what happened once; 0: until it is cured */
	bool is_seen;                /* by the look that is under way */
};

/* The security watcher (security-watch.c). */
struct security_watch {
	struct timer timer, soon;
	struct watcher changes; /* inotify */
	struct security_finding *findings;
	size_t n, cap;
	uint64_t checked_ms, verified_ms; /* time of day; 0: not yet */
	uint64_t scanned_at, verify_at;   /* by the loop: when it was begun; when it is due */
	uint64_t verify_began;
	bool is_scanning, is_verifying, is_changed;
};

/*
 * Events of a session that are in the log behind a number (known.c): what is sent again, or is in a
 * file, may be among them.
 */
struct known_event {
	uint64_t sequence, time_ns;
	enum audit_action action;
};

struct known {
	struct known_event *events;
	size_t n, cap, read;
};

/* How far events of a connection are acknowledged (acks.c). */
struct acks {
	uint64_t received;     /* events, on this connection */
	uint64_t told;         /* that were acknowledged */
	uint64_t last;         /* the last one's number in the trail's ring; 0: none is there */
	uint64_t mark;         /* a number before, 0: none */
	uint64_t marked;       /* received by then */
	uint64_t mark_log;     /* the log's number by then */
	uint64_t since, doubt; /* JOIN's number; received up to the last that the log had already */
	struct known known;    /* that may come again */
	bool has_left;         /* the rest is in a file, too: nothing more comes */
	uint64_t left_number;  /* in its name */
};

/* A sandbox that joined: whoever holds its session is at the other end. */
struct sandbox {
	struct link link;
	struct supervisor *s;
	struct watcher watcher;
	struct timer timer;
	struct origin_peer peer;
	struct arena arena; /* of the texts below */
	struct join who;    /* .id is NULL before it said so */
	uint64_t events, denied;
	struct acks acks;
	bool is_stopping;
	struct questions *questions; /* and its grants; NULL: none yet */
	struct {
		struct buffer permissions, ceiling, limits;
	} details; /* what it may do, each as JSON; empty: it was not said yet */
};

/* The folder policy.d, custom/ in it, and the nearest folder above that is there. */
enum { POLICIES_WATCHED = 3 };

struct policies {
	struct watcher watcher;
	struct timer timer;
	int watched[POLICIES_WATCHED]; /* inotify's numbers; -1: it is not there */
	bool is_busy, is_due;          /* corral runs; something changed meanwhile */
	unsigned failures;             /* one after the other */
};

/* Files of runs that ended while no daemon ran (missed.c). */
enum { MISSED_SHOWN = 16, MISSED_LEAVING_MAX = 1024 };

/* The file of a run whose events we got: it goes when they are committed. */
struct missed_leaving {
	char name[AUDIT_MISSED_NAME];
	uint64_t last; /* of its events, in the trail's ring */
};

struct missed {
	struct buffer folder;
	struct watcher watcher; /* inotify */
	struct timer timer;
	unsigned failures;           /* one after the other */
	char *strange[MISSED_SHOWN]; /* names of what is there and cannot be taken */
	size_t n_strange;
	char stuck[MISSED_SHOWN][AUDIT_MISSED_NAME]; /* of these, those whose name stays */
	size_t n_stuck;
	int presence;    /* the log's folder, locked: this daemon is there; -1: nothing is kept */
	bool is_guarded; /* other users cannot lock it */
	bool is_present; /* it is locked: another daemon knows of us */
	int prepared;    /* a file for the next run (audit/missed.h); -1: none */
	struct missed_leaving *leaving; /* MISSED_LEAVING_MAX */
	size_t n_leaving;
	/* Of AUDIT_MISSED_TAKEN: the runs that were counted, and in the trail's ring the number of
	 * the record that says so; 0: it is committed. */
	uint64_t full_runs, full_number;
};

/* What is counted for Prometheus (metrics.c), since the daemon started. */
struct metrics {
	uint64_t joined, refused_peers;
	uint64_t decisions[AUDIT_DECISION_COUNT]; /* of events of sandboxes */
	uint64_t requests[6];                     /* by the first digit of their status */
};

/* Tabs of the page that know their key (daemon/proof.h), in a ring. */
struct tabs {
	struct message_tab rows[PROOF_TABS_MAX];
	size_t n; /* so far */
};

struct supervisor {
	struct loop *loop;
	struct metrics metrics;
	struct config config;
	bool is_system;
	struct buffer config_folder; /* "": none is known */
	struct runtime_folder folder;
	struct login login;
	struct tabs tabs;
	struct marks own;
	uint64_t started_ms; /* time of day */
	/* Listeners. Given ones are the service manager's, and stay. */
	struct watcher tcp[2]; /* on 127.0.0.1 and on ::1 */
	struct {
		struct timer second;
		uint64_t n, more; /* in this second; those that are told together */
		bool by_unix;
	} wrong_links;
	char label[PROOF_ID + 1]; /* the page's host is LABEL.localhost, for this start */
	uint16_t port;            /* of both; 0: there is none */
	struct watcher api, join;
	bool is_given;
	bool is_full; /* clients wait in the listeners until corrald-http has room */
	struct link sandboxes;
	size_t n_sandboxes;
	struct watcher signals;
	struct timer watchdog, tick;
	struct http_process http;
	struct api_pending calls[API_CALLS_MAX];
	struct health health;
	struct enclave_process enclave;
	struct policies policies;
	struct missed missed;
	struct bus bus;
	struct tool *tools[TOOLS_MAX];
	struct tool_queue tool_queue;
	struct security_watch watch;
	int unwatched; /* why changes of some folders are not seen at once: an errno value; 0: all
			  are */
	bool is_files_limit;              /* EMFILE: of open files, not of inotify */
	struct order *orders[ORDERS_MAX]; /* that a sandbox has not answered yet */
	uint64_t last_order;
	/* The log. */
	struct audit_trail *trail;
	uint64_t acknowledged, lost; /* up to this number in its ring; as it said then */
	int log_failure;             /* of which a line was said; 0: none */
	bool is_ack_due;             /* also if nothing was committed since */
	struct buffer log_path;
	int log_fd; /* for people */
	bool is_over;
};

/* supervisor.c */
int supervisor_open(struct supervisor *s, struct error *e);
int supervisor_run(struct supervisor *s);
void supervisor_close(struct supervisor *s);

/* listeners.c */
int listeners_open(struct supervisor *s, struct error *e);
void listeners_close(struct supervisor *s);
/* There is room for clients again. */
void listeners_go_on(struct supervisor *s);

/* http-process.c */
int http_process_start(struct supervisor *s);
void http_process_end(struct supervisor *s);
/* It broke a rule, has died, or does not answer: another one is started. */
void http_process_lose(struct supervisor *s, const char *why);
/* A connection; refusal: why all that it asks is refused, or "". */
void http_process_hand_over(struct supervisor *s, int fd, bool by_tcp, const char *refusal);

/* http-link.c */
/* Something was put into the outbox of corrald-http. */
void http_link_flush(struct supervisor *s);
/* Whether it takes a connection at once. */
bool http_link_has_room(const struct supervisor *s);
int http_link_send_tab(struct supervisor *s, const struct message_tab *t);
/* A tab of the page from now on. */
int http_link_add_tab(struct supervisor *s, const struct message_tab *t);

/* enclave-process.c */
/* Hands a call of /api/invoke/… over, and answers it when that is done. */
void enclave_process_call(struct supervisor *s, uint64_t id, const struct route_call *c);
void enclave_process_end(struct supervisor *s);
/* The same, for good. */
void enclave_process_close(struct supervisor *s);

/* bus.c */
/* Sends an event to all clients that listen; json is one object in one line. */
void bus_publish(struct supervisor *s, const char *type, const char *json);
/* The same without http_link_flush(), which the caller owes. */
void bus_add(struct supervisor *s, const char *type, const char *json);
/* What a new corrald-http has missed. */
void bus_repeat(struct supervisor *s);
void bus_begin(struct bus *b);
void bus_deinit(struct bus *b);

/* security-watch.c */
int security_watch_open(struct supervisor *s);
void security_watch_close(struct supervisor *s);
/* Something that happened once; it is shown for WATCH_PEER_MS. */
void security_watch_tell_peer(struct supervisor *s, const char *socket, pid_t pid, const char *why);
/* A process inside a sandbox, or one that cannot be told from that, connected. */
void security_watch_tell_refused(
	struct supervisor *s, const char *name, const struct origin_peer *peer, const char *why);
/* If changes of folders are not seen at once: said now, and by each look. */
void security_watch_tell_unwatched(struct supervisor *s);
void security_watch_print(const struct supervisor *s, struct buffer *out);
size_t security_watch_count(const struct supervisor *s, const char *severity); /* NULL: any */

/* metrics.c */
void metrics_print(const struct supervisor *s, struct buffer *out);

/* health.c */
/* Asks corrald-http for /api/health now and then; one that does not answer is started again. */
int health_open(struct supervisor *s);
void health_close(struct supervisor *s);
/* It has answered lately. */
bool health_is_good(const struct supervisor *s);

/* api.c */
void api_call(struct supervisor *s, uint64_t id, const struct route_call *c);

/* api-calls.c */
/*
 * What a call does. The record of a change is committed before it is answered. One that grants
 * something, or may, or that acts on the host, is in the log before it is made; if the log cannot
 * be written, it is not made. What takes away is made in any case.
 */
enum api_effect { API_READS, API_TAKES, API_GRANTS };
enum api_effect api_calls_effect(const struct route *r);
void api_note(struct supervisor *s, const struct message_note *m);
/* Records a call with the status of its answer, once; reason: why it was refused, or "". */
void api_answered(struct supervisor *s, uint64_t id, unsigned status, const char *reason);
/* corrald-http has ended: its calls get no answer. */
void api_forget_calls(struct supervisor *s);

/* api-answer.c */
void api_reply(struct supervisor *s, uint64_t id, unsigned status, const char *json, size_t len);
/* {"error": text} with this status. */
void api_fail(struct supervisor *s, uint64_t id, unsigned status, const char *text);
void api_send(struct supervisor *s, uint64_t id, const struct buffer *json);
typedef void api_handler(struct supervisor *s, uint64_t id, const struct route_call *c);
/* api-config.c */
api_handler api_config, api_config_put;
/* api-policies.c */
api_handler api_policies, api_policy, api_policy_put, api_policy_remove, api_policy_version,
	api_policy_undo;
/* api-rules.c */
api_handler api_rules, api_rule, api_rule_add, api_rule_put, api_rule_change, api_rule_remove;
/* api-skills.c */
api_handler api_skills, api_skill, api_skill_changes, api_skill_approve;
/* api-login.c */
enum { API_WRONG_LINKS_MAX = 20 }; /* per second that are recorded one by one */
#define API_WRONG_LINK                                                                           \
	"this link was used already, or is older than a minute; `corral dashboard` makes a new " \
	"one"
api_handler api_login, api_login_code;

/* tool.c: `corral` itself answers, in a process of its own; what it reads is not read here. */
/* What one of the daemon itself printed; status: its exit status, or -EIO if it did not end well.
 */
typedef void tool_taker(struct supervisor *s, int status, struct buffer *text);
/* What one answered a call with: for the log. status: HTTP's. subject: the request's. */
typedef void tool_teller(
	struct supervisor *s, unsigned status, const char *subject, const struct buffer *text);
struct tool_request {
	const char *const *argv; /* behind "corral"; ends with NULL */
	const char *input;       /* for its standard input; NULL: none */
	bool is_lines;           /* its output is JSON Lines: {"records": […]} is made of it */
	bool is_cut;             /* and lines that do not fit are left out */
	bool refuses;            /* its statuses 1, 4 and 5 are refusals: 422, 409, 404 */
	const char *record;      /* what is done then, for the log; NULL: nothing is */
	uint64_t id;             /* of the call */
	tool_taker *take;        /* gets the output, and there is no call; NULL: the call does */
	tool_teller *tell;       /* is called with the answer, too; or NULL */
	const char *subject;     /* what the call is about, for `tell`; or NULL */
	uint64_t ms;             /* how long it may take; 0: TOOL_MS */
};
/* For a call. It runs at once, or waits for its turn, or is refused; what it points to is copied.
 */
void tool_start(struct supervisor *s, const struct route_call *c, const struct tool_request *r);
/* Answers a call that it cannot be started. -EBUSY: because too many wait. */
void tool_refuse(struct supervisor *s, uint64_t id, int error);
/* Of the daemon itself. -EBUSY: too many run. */
int tool_start_own(struct supervisor *s, const struct tool_request *r);
/* A word "--option=value" for a tool: a value may begin with "-". */
const char *tool_option(struct arena *a, const char *option, const char *value);
void tool_end_all(struct supervisor *s);

/* tool-queue.c: calls that wait for a place of TOOLS_CALLS_MAX. */
void tool_queue_open(struct supervisor *s);
/* -EBUSY: the line is full. */
int tool_queue_add(struct supervisor *s, bool by_unix, const struct tool_request *r);
/* A place may have become free. The caller flushes corrald-http's outbox. */
void tool_queue_serve(struct supervisor *s);
/* The client of this call has gone. Nothing if it does not wait. */
void tool_queue_leave(struct supervisor *s, uint64_t id);
/* All clients have gone: none of the calls is carried out or answered, and the log says so. */
void tool_queue_clear(struct supervisor *s);

/* changes.c: inotify, or what to do without it. */
/* An instance for w, unless it has one. If the kernel gives none, w stays without. */
int changes_open(struct supervisor *s, struct watcher *w);
/* As inotify_add_watch(), of a folder; also -1 if w has no instance. */
int changes_add(struct supervisor *s, const struct watcher *w, const char *path, uint32_t what);
/* The limit that keeps us from seeing all changes at once; NULL: none does. */
const char *changes_limit(const struct supervisor *s);
/* Why they are not seen at once, by a limit or another error; nothing if they are. */
void changes_why(const struct supervisor *s, struct buffer *out);

/* policies.c: stored policies are watched; a change is recorded, and an event. */
int policies_open(struct supervisor *s);
void policies_close(struct supervisor *s);
/* Watches the folders; if changes are not seen at once, looks at them. */
int policies_look(struct supervisor *s);

/* missed.c: events that runs left are taken into the log, once. */
int missed_open(struct supervisor *s);
void missed_close(struct supervisor *s);
/* The same for the folder of these files. */
int missed_watch(struct supervisor *s);
/* A run has gone: what it left may be taken now. */
void missed_look_soon(struct supervisor *s);
/* Makes the file for the next run, unless there is one: a run has gone, and none waits for it. */
void missed_prepare(struct supervisor *s);
/* It left a file ID.N, and nothing is in it that we did not get; last: as in missed_leaving. */
void missed_leave(struct supervisor *s, const char *id, uint64_t number, uint64_t last);
/* Removes the files whose events are committed. */
void missed_settle(struct supervisor *s, uint64_t committed);
/* Some events were lost on their way to the log: the files must be read. */
void missed_doubt(struct supervisor *s);

/* known.c */
/* Reads what the log has, the last ones if these are many; all that we got is committed before.
 * number: of the log. Negative: not now, as -EBUSY if another process holds the log. */
int known_read(struct supervisor *s, const char *session, uint64_t number, struct known *ret);
/* True if it was among them; it is removed. */
bool known_take(struct known *k, const struct audit_event *e);
void known_deinit(struct known *k);
#define auto_known __attribute__((cleanup(known_deinit))) struct known

/* acks.c */
/* JOIN: its session, and the id of the frame (wire/join.h). -EBUSY: what the log has of it cannot
 * be read now. The connection is closed then, and the run comes again, or leaves a file. */
int acks_open(struct sandbox *b, const char *session, uint64_t id);
/* JOINED. */
void acks_joined(struct sandbox *b);
/* An event: true if the log has it already. */
bool acks_has(struct sandbox *b, const struct audit_event *e);
/* An event that is in the log by another way: it is acknowledged only. */
void acks_pass(struct sandbox *b);
/* It was added to the trail's ring under this number. */
void acks_note(struct sandbox *b, uint64_t number);
int acks_on_left(struct sandbox *b, const struct frame *f);
/* The connection is over. */
void acks_close(struct sandbox *b);
/* Acknowledges what was committed since the last time. */
void acks_turn(struct supervisor *s);

/* sandboxes.c */
/* The one at hand may be freed meanwhile. */
#define sandboxes_for_each(b, s)                                                          \
	for (struct sandbox *b = container_of((s)->sandboxes.next, struct sandbox, link), \
			    *next_ = container_of(b->link.next, struct sandbox, link);    \
		&b->link != &(s)->sandboxes;                                              \
		b = next_, next_ = container_of(b->link.next, struct sandbox, link))

int sandboxes_open(struct supervisor *s, int listener);
void sandboxes_close(struct supervisor *s);
/* Each appends one JSON value. */
void sandboxes_print(const struct supervisor *s, struct buffer *out);
struct sandbox *sandboxes_find(const struct supervisor *s, const char *id);
/* Closes its connection; its holder comes again, and sends what was not acknowledged. */
void sandboxes_drop(struct sandbox *b);
/* Asks its holder to end the command. */
int sandboxes_stop(struct sandbox *b);

/* One JSON value of its details: kind, what it may do, its grants. */
void sandboxes_print_details(const struct sandbox *b, struct buffer *out);

/* questions.c: what sandboxes ask, and what they were granted. */
/* Frames of a sandbox; -EPROTO. */
int questions_on_frame(struct sandbox *b, const struct frame *f);
void questions_free(struct sandbox *b);
void questions_print(const struct supervisor *s, struct buffer *out);
void questions_print_all_grants(const struct supervisor *s, struct buffer *out);
void questions_print_grants(const struct sandbox *b, struct json_writer *w);
size_t questions_count(const struct sandbox *b);
/* What is known of an id, "SANDBOX.N". */
enum questions_state { QUESTIONS_UNKNOWN, QUESTIONS_OPEN, QUESTIONS_ANSWERED, QUESTIONS_EXPIRED };
enum questions_state questions_find(
	struct supervisor *s, const char *id, struct sandbox **ret, uint64_t *ret_number);
/* What was granted and ends soon, unless the same lasts longer by another grant. */
struct questions_ending {
	const struct sandbox *sandbox;
	uint64_t number, until_ms; /* of the grant */
	const char *action, *pattern;
};
typedef void questions_taker(struct supervisor *s, const struct questions_ending *e);
void questions_each_ending(struct supervisor *s, questions_taker *take);
struct sandbox *questions_find_grant(struct supervisor *s, const char *id, uint64_t *ret_number);

/* orders.c: what a sandbox is to do for a call of the API; its reply is the answer. */
struct order_request {
	enum frame_type type;
	const struct buffer *body;
	uint64_t call;
	const char *done; /* {DONE: true} is the answer; NULL: {"id": …} of what was made */
};
void orders_send(struct sandbox *b, const struct order_request *r);
int orders_on_reply(struct sandbox *b, const struct frame *f);
/* The sandbox has gone; NULL: the daemon ends. */
void orders_drop(struct supervisor *s, const struct sandbox *b);

/* api-questions.c */
void api_questions(struct supervisor *s, uint64_t id, const struct route_call *c);
void api_answer(struct supervisor *s, uint64_t id, const struct route_call *c);
void api_grants(struct supervisor *s, uint64_t id, const struct route_call *c);
void api_sandbox_grant(struct supervisor *s, uint64_t id, const struct route_call *c);
void api_revoke(struct supervisor *s, uint64_t id, const struct route_call *c);

/* supervisor.c */

/* journal.c */
int journal_open(struct supervisor *s, struct error *e);
void journal_close(struct supervisor *s);
void journal_say(struct supervisor *s, enum config_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A record of the log: who asked the API for what. Returns its number in the trail's ring; 0: it is
 * in none. */
uint64_t journal_record(struct supervisor *s, const struct audit_event *event);
/* A line when the log cannot be written any more, and when it can again. */
void journal_tell_failure(struct supervisor *s);
/* All records so far are in the log when this returns 0. Waits for other programs that write it. */
int journal_commit(struct supervisor *s, struct error *e);
