/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/route.h"

#include <errno.h>
#include <string.h>

#include "audit/event.h"
#include "base/array.h"
#include "base/buffer.h"
#include "codec/json-writer.h"
#include "daemon/proof.h"
#include "policy/operation-names.h"
#include "wire/reader.h"

static const char *const route_modes[] = { "enforce", "audit", "monitor", NULL };
static const char *const route_levels[] = { "error", "warn", "info", "debug", NULL };
static const char *const route_hosts[] = { "127.0.0.1", "localhost", "::1", NULL };

const char *const route_answers[] = { "deny", "once", "allow", NULL };
static const char *const route_later_answers[] = { "deny", "once", "day", "always", NULL };

#define ROUTE_POLICY                                                                              \
	{                                                                                         \
		"policy", SCHEMA_TEXT, true, ROUTE_POLICY_MAX,                                    \
			.help = "the text of a policy, in any format that `corral policy` reads", \
			.place = ROUTE_IN_BODY, .min = 1                                          \
	}

/* The same, or one that is stored: one of the two. */
#define ROUTE_POLICY_TEXT                                                                         \
	{                                                                                         \
		"policy", SCHEMA_TEXT, false, ROUTE_POLICY_MAX,                                   \
			.help = "the text of a policy, in any format that `corral policy` reads", \
			.place = ROUTE_IN_BODY, .min = 1                                          \
	}
#define ROUTE_POLICY_STORED                                                                 \
	{                                                                                   \
		"stored", SCHEMA_TEXT, false, 80, .help = "or the name of a stored policy", \
						  .place = ROUTE_IN_BODY, .min = 1          \
	}

#define ROUTE_NAME                                                                             \
	{                                                                                      \
		"name", SCHEMA_TEXT, true, 80,                                                 \
			.help = "the name of a stored policy: default, NAME or custom%2FNAME", \
			.place = ROUTE_IN_PATH, .min = 1                                       \
	}

/* A rule of AgenShield's files; the row above says which are required. */
static const char *const route_actions[] = { "allow", "deny", "approval", NULL };
static const char *const route_targets[] = { "url", "command", "filesystem", "process", "skill",
	NULL };
#define ROUTE_RULE_ID                                                                    \
	{                                                                                \
		"id", SCHEMA_TEXT, true, 256, .help = "the id of a rule: POLICY%3ARULE", \
					      .place = ROUTE_IN_PATH, .min = 1           \
	}
#define ROUTE_RULE_KEYS(is_whole)                                                                  \
	{ "action", SCHEMA_CHOICE, is_whole, .words = route_actions,                               \
		.help = "what it does; approval asks a person", .place = ROUTE_IN_BODY },          \
		{ "patterns", SCHEMA_WORDS, is_whole, ROUTE_LIST_MAX,                              \
			.help = "of paths, hosts, commands: AgenShield's",                         \
			.place = ROUTE_IN_BODY },                                                  \
		{ "operations", SCHEMA_WORDS, false, ROUTE_LIST_MAX,                               \
			.help = "file_read, file_write, file_list, http_request, exec, open_url, " \
				"secret_inject, *",                                                \
			.place = ROUTE_IN_BODY },                                                  \
		{ "target", SCHEMA_CHOICE, false, .words = route_targets,                          \
			.help = "what it is about, where there are no operations",                 \
			.place = ROUTE_IN_BODY },                                                  \
		{ "name", SCHEMA_TEXT, false, ROUTE_TEXT_MAX, .help = "for people",                \
			.place = ROUTE_IN_BODY },                                                  \
		{ "methods", SCHEMA_WORDS, false, ROUTE_LIST_MAX,                                  \
			.help = "of HTTP; all if not given", .place = ROUTE_IN_BODY },             \
		{ "enabled", SCHEMA_FLAG, false, .help = "true if not given",                      \
			.place = ROUTE_IN_BODY },                                                  \
	{                                                                                          \
		"priority", SCHEMA_NUMBER, false, INT32_MAX,                                       \
			.help = "higher ones are looked at first; 0 if not given",                 \
			.place = ROUTE_IN_BODY                                                     \
	}
#define ROUTE_RULE_ETAG                                                               \
	{                                                                             \
		"etag", SCHEMA_TEXT, true, 64, .help = "of the rule that was edited", \
					       .place = ROUTE_IN_BODY, .min = 1       \
	}

#define ROUTE_ID                                            \
	{                                                   \
		"id", SCHEMA_TEXT, true, 32,                \
			.help = "the id of a sandbox: its " \
				"session in the log",       \
			.place = ROUTE_IN_PATH, .min = 1    \
	}

static const char *const route_encodings[] = { "utf8", "base64", NULL };
static const char *const route_exports[] = { "json", "jsonl", "ocsf", "cef", "csv", NULL };

#define ROUTE_FILE                                                                          \
	{                                                                                   \
		"path", SCHEMA_TEXT, true, ROUTE_TEXT_MAX, .help = "an absolute path",      \
							   .place = ROUTE_IN_BODY, .min = 1 \
	}
#define ROUTE_ENCODING                                                                          \
	{                                                                                       \
		"encoding", SCHEMA_CHOICE, false,                                               \
			.words = route_encodings,                                               \
			.help = "of the content: utf8 if not given; what is no text is base64", \
			.place = ROUTE_IN_BODY                                                  \
	}

static const char *const route_requests[] = { "yes", "no", "only", NULL };

/* The same for all that read the log. */
#define ROUTE_AUDIT_FILTER                                                                         \
	{ "session", SCHEMA_TEXT, false, 64, .help = "only records of this session",               \
		.place = ROUTE_IN_QUERY, .min = 1 },                                               \
		{ "action", SCHEMA_CHOICE, false, .words = audit_actions,                          \
			.help = "only this action", .place = ROUTE_IN_QUERY },                     \
		{ "decision", SCHEMA_CHOICE, false, .words = audit_decisions,                      \
			.help = "only this decision", .place = ROUTE_IN_QUERY },                   \
		{ "target", SCHEMA_TEXT, false, ROUTE_TEXT_MAX,                                    \
			.help = "a pattern over the target", .place = ROUTE_IN_QUERY, .min = 1 },  \
		{ "since", SCHEMA_TEXT, false, 64, .help = "since: 10m, 2h, 2026-01-31T14:30:00Z", \
			.place = ROUTE_IN_QUERY, .min = 1 },                                       \
		{ "until", SCHEMA_TEXT, false, 64, .help = "until, in the same forms",             \
			.place = ROUTE_IN_QUERY, .min = 1 },                                       \
		{ "before", SCHEMA_NUMBER, false, INT64_MAX,                                       \
			.help = "only records with a lower number", .place = ROUTE_IN_QUERY },     \
	{                                                                                          \
		"requests", SCHEMA_CHOICE, false,                                                  \
			.words = route_requests,                                                   \
			.help = "requests to this API: yes if not given, no, only",                \
			.place = ROUTE_IN_QUERY                                                    \
	}

#define ROUTE_LIVE_ID(what)                                                         \
	{                                                                           \
		"id", SCHEMA_TEXT, true, 64,                                        \
			.help = "the id of " what ": its sandbox, a dot, a number", \
			.place = ROUTE_IN_PATH, .min = 1                            \
	}

#define ROUTE_SKILL_ID                                                                        \
	{                                                                                     \
		"id", SCHEMA_TEXT, true, 64, .help = "the id of a skill, as the list has it", \
					     .place = ROUTE_IN_PATH, .min = 1                 \
	}

#define ROUTE_SECONDS                                                                          \
	{                                                                                      \
		"seconds", SCHEMA_NUMBER, false, ROUTE_SECONDS_MAX,                            \
			.help = "for how long; 0, or not given: as long as the sandbox lives", \
			.place = ROUTE_IN_BODY                                                 \
	}

const struct route routes[ROUTE_COUNT] = {
	[ROUTE_HEALTH] = { .method = "GET",
		.path = "/api/health",
		.effect = ROUTE_EFFECT_READS,
		.is_open = true,
		.is_local = true,
		.summary = "Whether the daemon answers; needs no token." },
	[ROUTE_STATUS] = { .method = "GET",
		.path = "/api/status",
		.effect = ROUTE_EFFECT_READS,
		.summary = "The daemon, its processes, its log, and whether there is a broker." },
	[ROUTE_CONFIG] = { .method = "GET",
		.path = "/api/config",
		.effect = ROUTE_EFFECT_READS,
		.summary = "The configuration in force." },
	[ROUTE_CONFIG_PUT] = { .method = "PUT",
		.path = "/api/config",
		.effect = ROUTE_EFFECT_GRANTS,
		.summary = "Changes keys of the configuration file, or the stored policy default, and "
			   "says which count at once.",
		.fields = {
			{ "mode", SCHEMA_CHOICE, false, .words = route_modes,
				.help = "what stored policies do; for each run that starts then", .place = ROUTE_IN_BODY },
			{ "logLevel", SCHEMA_CHOICE, false, .words = route_levels,
				.help = "of the lines for people", .place = ROUTE_IN_BODY },
			{ "heartbeat", SCHEMA_NUMBER, false, 3600,
				.help = "seconds, from 1", .place = ROUTE_IN_BODY },
			{ "watch", SCHEMA_NUMBER, false, 3600,
				.help = "seconds, from 1", .place = ROUTE_IN_BODY },
			{ "port", SCHEMA_NUMBER, false, 65535,
				.help = "0: any that is free", .place = ROUTE_IN_BODY },
			{ "host", SCHEMA_CHOICE, false, .words = route_hosts,
				.help = "an address of this machine", .place = ROUTE_IN_BODY },
			{ "logFile", SCHEMA_TEXT, false, ROUTE_TEXT_MAX - 1,
				.help = "an absolute path", .place = ROUTE_IN_BODY, .min = 1 },
			{ "policies", SCHEMA_MAP, false, ROUTE_POLICY_MAX,
				.help = "rules as AgenShield has them: the stored policy default; "
				"without other keys", .place = ROUTE_IN_BODY },
		} },
	[ROUTE_AUDIT] = { .method = "GET",
		.path = "/api/audit",
		.effect = ROUTE_EFFECT_READS,
		.summary = "The latest records of the audit log, oldest first.",
		.fields = {
			{ "limit", SCHEMA_NUMBER, false, 1000,
				.help = "how many records; 100 if not given", .place = ROUTE_IN_QUERY },
			ROUTE_AUDIT_FILTER,
		} },
	[ROUTE_AUDIT_SUMMARY] = { .method = "GET",
		.path = "/api/audit/summary",
		.effect = ROUTE_EFFECT_READS,
		.summary = "Counts of the audit log: decisions, over time, what was denied most, bytes "
			   "by host.",
		.fields = { ROUTE_AUDIT_FILTER } },
	[ROUTE_AUDIT_EXPORT] = { .method = "GET",
		.path = "/api/audit/export",
		.effect = ROUTE_EFFECT_READS,
		.summary = "Records of the audit log, newest first, as many as fit into an answer. "
			   "`before`, with the lowest number of them, asks for those that follow.",
		.fields = { ROUTE_AUDIT_FILTER } },
	[ROUTE_AUDIT_VERIFY] = { .method = "GET",
		.path = "/api/audit/verify",
		.effect = ROUTE_EFFECT_READS,
		.summary = "Checks the whole audit log against its hashes and signatures." },
	[ROUTE_POLICY_CHECK] = { .method = "POST",
		.path = "/api/policies/check",
		.effect = ROUTE_EFFECT_READS,
		.summary = "Decides about one request: verdict, rule, reason, remedy.",
		.fields = {
			ROUTE_POLICY_TEXT,
			{ "operation", SCHEMA_CHOICE, true, .words = operation_names,
				.help = "what is asked for", .place = ROUTE_IN_BODY },
			{ "target", SCHEMA_TEXT, true, ROUTE_TEXT_MAX,
				.help = "a path, a host:port or URL, a command line, a variable, a "
				"service", .place = ROUTE_IN_BODY, .min = 1 },
			{ "method", SCHEMA_TEXT, false, 32,
				.help = "the HTTP method, for a URL", .place = ROUTE_IN_BODY, .min = 1 },
			ROUTE_POLICY_STORED,
		} },
	[ROUTE_POLICY_LINT] = { .method = "POST",
		.path = "/api/policies/lint",
		.effect = ROUTE_EFFECT_READS,
		.summary = "Reports what is valid in a policy but probably a mistake.",
		.fields = { ROUTE_POLICY_TEXT, ROUTE_POLICY_STORED } },
	[ROUTE_POLICIES] = { .method = "GET",
		.path = "/api/policies",
		.effect = ROUTE_EFFECT_READS,
		.summary = "The stored policies, which bind every run, and the error of a broken one." },
	[ROUTE_POLICY_GET] = { .method = "GET",
		.path = "/api/policies/{name}",
		.effect = ROUTE_EFFECT_READS,
		.summary = "One of them: its text, etag and history.",
		.fields = { ROUTE_NAME } },
	[ROUTE_POLICY_PUT] = { .method = "PUT",
		.path = "/api/policies/{name}",
		.effect = ROUTE_EFFECT_GRANTS,
		.summary = "Stores a policy, if it can be compiled.",
		.fields = { ROUTE_NAME,
			{ "text", SCHEMA_TEXT, true, ROUTE_POLICY_MAX,
				.help = "what it says then", .place = ROUTE_IN_BODY, .min = 1 },
			{ "etag", SCHEMA_TEXT, true, 64,
				.help = "of the text that was edited; empty: there is none yet", .place = ROUTE_IN_BODY } } },
	[ROUTE_POLICY_REMOVE] = { .method = "DELETE",
		.path = "/api/policies/{name}",
		.effect = ROUTE_EFFECT_GRANTS,
		.summary = "Removes a stored policy; its history stays.",
		.fields = { ROUTE_NAME,
			{ "etag", SCHEMA_TEXT, false, 64,
				.help = "only if it still has this etag", .place = ROUTE_IN_QUERY, .min = 1 } } },
	[ROUTE_POLICY_VERSION] = { .method = "GET",
		.path = "/api/policies/{name}/history/{version}",
		.effect = ROUTE_EFFECT_READS,
		.summary = "The text of an earlier version.",
		.fields = { ROUTE_NAME,
			{ "version", SCHEMA_NUMBER, true, 99999999,
				.help = "its number in the history", .place = ROUTE_IN_PATH } } },
	[ROUTE_POLICY_UNDO] = { .method = "POST",
		.path = "/api/policies/{name}/undo",
		.effect = ROUTE_EFFECT_GRANTS,
		.summary = "Puts the version before the last change in force again, or a given one.",
		.fields = { ROUTE_NAME,
			{ "version", SCHEMA_NUMBER, false, 99999999,
				.help = "its number in the history", .place = ROUTE_IN_BODY },
			{ "etag", SCHEMA_TEXT, false, 64,
				.help = "only if it still has this etag", .place = ROUTE_IN_BODY } } },
	[ROUTE_RULES] = { .method = "GET",
		.path = "/api/rules",
		.effect = ROUTE_EFFECT_READS,
		.summary = "The rules of the stored policies, each with its place.",
		.fields = { { "policy", SCHEMA_TEXT, false, 80,
			.help = "only those of this policy", .place = ROUTE_IN_QUERY, .min = 1 } } },
	[ROUTE_RULE] = { .method = "GET",
		.path = "/api/rules/{id}",
		.effect = ROUTE_EFFECT_READS,
		.summary = "One of them.",
		.fields = { ROUTE_RULE_ID } },
	[ROUTE_RULE_ADD] = { .method = "POST",
		.path = "/api/rules",
		.effect = ROUTE_EFFECT_GRANTS,
		.summary = "Adds a rule to a policy of AgenShield's rules.",
		.fields = { { "id", SCHEMA_TEXT, true, 128,
				    .help = "its id in that policy", .place = ROUTE_IN_BODY, .min = 1 },
			{ "policy", SCHEMA_TEXT, false, 80,
				.help = "default or custom/NAME; custom/rules if not given", .place = ROUTE_IN_BODY, .min = 1 },
			ROUTE_RULE_KEYS(true) } },
	[ROUTE_RULE_PUT] = { .method = "PUT",
		.path = "/api/rules/{id}",
		.effect = ROUTE_EFFECT_GRANTS,
		.summary = "A rule becomes this; what is not given is as in a new one.",
		.fields = { ROUTE_RULE_ID, ROUTE_RULE_KEYS(true), ROUTE_RULE_ETAG } },
	[ROUTE_RULE_CHANGE] = { .method = "PATCH",
		.path = "/api/rules/{id}",
		.effect = ROUTE_EFFECT_GRANTS,
		.summary = "Changes what is given of a rule; the rest stays.",
		.fields = { ROUTE_RULE_ID, ROUTE_RULE_KEYS(false), ROUTE_RULE_ETAG } },
	[ROUTE_RULE_REMOVE] = { .method = "DELETE",
		.path = "/api/rules/{id}",
		.effect = ROUTE_EFFECT_GRANTS,
		.summary = "Removes a rule; the policy's history has it.",
		.fields = { ROUTE_RULE_ID,
			{ "etag", SCHEMA_TEXT, false, 64,
				.help = "only if it still has this etag", .place = ROUTE_IN_QUERY, .min = 1 } } },
	[ROUTE_DOCTOR] = { .method = "GET",
		.path = "/api/doctor",
		.effect = ROUTE_EFFECT_READS,
		.summary = "What this system supports, by trying it." },
	[ROUTE_SANDBOXES] = { .method = "GET",
		.path = "/api/sandboxes",
		.effect = ROUTE_EFFECT_READS,
		.summary = "The sandboxes that run." },
	[ROUTE_SANDBOX] = { .method = "GET",
		.path = "/api/sandboxes/{id}",
		.effect = ROUTE_EFFECT_READS,
		.summary = "One of them.",
		.fields = { ROUTE_ID } },
	[ROUTE_SANDBOX_END] = { .method = "DELETE",
		.path = "/api/sandboxes/{id}",
		.effect = ROUTE_EFFECT_TAKES,
		.summary = "Ends its command, with all its processes.",
		.fields = { ROUTE_ID } },
	[ROUTE_LOGIN] = { .method = "POST",
		.path = "/api/login",
		.effect = ROUTE_EFFECT_READS,
		.is_open = true,
		.summary = "Makes a tab of the page one that may ask, for the proof that it knows a "
			   "link's secret; needs no token. A link works once, for a minute.",
		.fields = { { "nonce", SCHEMA_TEXT, true, PROOF_ID,
				    .help = "32 hexadecimal digits that the page chose", .place = ROUTE_IN_BODY, .min = 1 },
			{ "proof", SCHEMA_TEXT, true, PROOF_MAC,
				.help = "HMAC-SHA-256 of corral-login-1, a line feed and the nonce, by the "
				"secret behind #code= in the link", .place = ROUTE_IN_BODY, .min = 1 } } },
	[ROUTE_LOGIN_CODE] = { .method = "POST",
		.path = "/api/login/code",
		.effect = ROUTE_EFFECT_READS,
		.summary = "A new link to the page. The one before is void." },
	[ROUTE_FS_READ] = { .method = "POST",
		.path = "/api/invoke/fs_read",
		.effect = ROUTE_EFFECT_READS,
		.summary = "A file, as the daemon's enclave allows it.",
		.fields = { ROUTE_FILE, ROUTE_ENCODING } },
	[ROUTE_FS_WRITE] = { .method = "POST",
		.path = "/api/invoke/fs_write",
		.effect = ROUTE_EFFECT_GRANTS,
		.summary = "Writes a file as a whole.",
		.fields = { ROUTE_FILE,
			{ "content", SCHEMA_TEXT, true, ROUTE_POLICY_MAX,
				.help = "what it holds then", .place = ROUTE_IN_BODY },
			ROUTE_ENCODING } },
	[ROUTE_FS_LIST] = { .method = "POST",
		.path = "/api/invoke/fs_list",
		.effect = ROUTE_EFFECT_READS,
		.summary = "The entries of a folder that may be read.",
		.fields = { ROUTE_FILE,
			{ "pattern", SCHEMA_TEXT, false, ROUTE_TEXT_MAX,
				.help = "only entries that match: * ? [abc] {a,b}", .place = ROUTE_IN_BODY, .min = 1 },
			{ "recursive", SCHEMA_FLAG, false,
				.help = "the folders in it, too", .place = ROUTE_IN_BODY } } },
	[ROUTE_SHELL_EXEC] = { .method = "POST",
		.path = "/api/invoke/shell_exec",
		.effect = ROUTE_EFFECT_GRANTS,
		.summary = "Runs a program in a sandbox of the enclave.",
		.fields = {
			{ "cmd", SCHEMA_TEXT, true, ROUTE_TEXT_MAX,
				.help = "a name or an absolute path; no shell", .place = ROUTE_IN_BODY, .min = 1 },
			{ "args", SCHEMA_WORDS, false, ROUTE_LIST_MAX,
				.help = "its arguments", .place = ROUTE_IN_BODY },
			{ "cwd", SCHEMA_TEXT, false, ROUTE_TEXT_MAX,
				.help = "the folder in which it starts", .place = ROUTE_IN_BODY, .min = 1 },
			{ "stdin", SCHEMA_TEXT, false, ROUTE_POLICY_MAX,
				.help = "its standard input", .place = ROUTE_IN_BODY },
			{ "timeout_ms", SCHEMA_NUMBER, false, 600000,
				.help = "30000 if not given", .place = ROUTE_IN_BODY },
			{ "id", SCHEMA_TEXT, false, 64,
				.help = "what it prints is sent as events, too, with this `call`", .place = ROUTE_IN_BODY, .min = 1 } } },
	[ROUTE_GET_POLICY] = { .method = "POST",
		.path = "/api/invoke/get_policy",
		.effect = ROUTE_EFFECT_READS,
		.summary = "What the enclave grants now." },
	[ROUTE_SET_POLICY] = { .method = "POST",
		.path = "/api/invoke/set_policy",
		.effect = ROUTE_EFFECT_GRANTS,
		.summary = "Grants this instead, until its file changes or the daemon ends.",
		.fields = { ROUTE_POLICY } },
	[ROUTE_GET_AUDIT_LOG] = { .method = "POST",
		.path = "/api/invoke/get_audit_log",
		.effect = ROUTE_EFFECT_READS,
		.summary = "The latest events of the enclave, oldest first.",
		.fields = { { "limit", SCHEMA_NUMBER, false, 1000,
			.help = "how many; 100 if not given", .place = ROUTE_IN_BODY } } },
	[ROUTE_EXPORT_AUDIT_LOG] = { .method = "POST",
		.path = "/api/invoke/export_audit_log",
		.effect = ROUTE_EFFECT_READS,
		.summary = "All of them, as a document or into a file.",
		.fields = {
			{ "path", SCHEMA_TEXT, false, ROUTE_TEXT_MAX,
				.help = "a file, as fs_write; without it the content is the answer", .place = ROUTE_IN_BODY, .min = 1 },
			{ "format", SCHEMA_CHOICE, false, .words = route_exports,
				.help = "json if not given", .place = ROUTE_IN_BODY } } },
	[ROUTE_SECURITY] = { .method = "GET",
		.path = "/api/security",
		.effect = ROUTE_EFFECT_READS,
		.summary = "What the security watcher found, each with what to do; users and "
			   "processes of the sandboxes that run." },
	[ROUTE_WRAPPERS] = { .method = "GET",
		.path = "/api/wrappers",
		.effect = ROUTE_EFFECT_READS,
		.summary = "Scripts in PATH that run an agent by `corral run`, and whether they "
			   "are what they were." },
	[ROUTE_SANDBOX_GRANT] = { .method = "POST",
		.path = "/api/sandboxes/{id}/grants",
		.effect = ROUTE_EFFECT_GRANTS,
		.summary = "Grants it something while it runs, below its ceiling.",
		.fields = { ROUTE_ID,
			{ "action", SCHEMA_CHOICE, true, .words = operation_names,
				.help = "what is granted", .place = ROUTE_IN_BODY },
			{ "target", SCHEMA_TEXT, true, ROUTE_TEXT_MAX,
				.help = "a pattern, as in a policy", .place = ROUTE_IN_BODY, .min = 1 },
			{ "exact", SCHEMA_FLAG, false,
				.help = "the target means itself alone: one that is a pattern is refused", .place = ROUTE_IN_BODY },
			ROUTE_SECONDS } },
	[ROUTE_QUESTIONS] = { .method = "GET",
		.path = "/api/questions",
		.effect = ROUTE_EFFECT_READS,
		.summary = "What sandboxes ask, and wait for." },
	[ROUTE_ANSWER] = { .method = "POST",
		.path = "/api/questions/{id}",
		.effect = ROUTE_EFFECT_GRANTS,
		.summary = "Answers a question: once, for a time, or no.",
		.fields = { ROUTE_LIVE_ID("a question"),
			{ "answer", SCHEMA_CHOICE, true, .words = route_answers,
				.help = "once: what waits now; allow: for a time; deny", .place = ROUTE_IN_BODY },
			{ "scope", SCHEMA_TEXT, false, ROUTE_TEXT_MAX,
				.help = "of allow: one of the question's scopes; the first if not given", .place = ROUTE_IN_BODY, .min = 1 },
			ROUTE_SECONDS } },
	[ROUTE_LATER] = { .method = "GET",
		.path = "/api/later",
		.effect = ROUTE_EFFECT_READS,
		.summary = "What commands that failed were denied of files and programs, where there "
			   "was no terminal to ask in." },
	[ROUTE_LATER_ANSWER] = { .method = "POST",
		.path = "/api/later/{id}",
		.effect = ROUTE_EFFECT_GRANTS,
		.summary = "Answers such a question. It holds from the next run in the same folder.",
		.fields = { { "id", SCHEMA_TEXT, true, 64, .help = "the id, as the list has it",
				    .place = ROUTE_IN_PATH, .min = 1 },
			{ "answer", SCHEMA_CHOICE, true, .words = route_later_answers,
				.help = "once: the next run; day: all runs until tomorrow; always: a line of the project's corral.yaml; deny",
				.place = ROUTE_IN_BODY } } },
	[ROUTE_GRANTS] = { .method = "GET",
		.path = "/api/grants",
		.effect = ROUTE_EFFECT_READS,
		.summary = "What sandboxes were granted while they run." },
	[ROUTE_REVOKE] = { .method = "DELETE",
		.path = "/api/grants/{id}",
		.effect = ROUTE_EFFECT_TAKES,
		.summary = "Takes a grant back, for the next call.",
		.fields = { ROUTE_LIVE_ID("a grant") } },
	[ROUTE_SKILLS] = { .method = "GET",
		.path = "/api/skills",
		.effect = ROUTE_EFFECT_READS,
		.summary = "The skills that are known: risk, permissions, findings, and whether they "
			   "are as they were approved." },
	[ROUTE_SKILL] = { .method = "GET",
		.path = "/api/skills/{id}",
		.effect = ROUTE_EFFECT_READS,
		.summary = "One of them, with all that was found in its files.",
		.fields = { ROUTE_SKILL_ID } },
	[ROUTE_SKILL_CHANGES] = { .method = "GET",
		.path = "/api/skills/{id}/changes",
		.effect = ROUTE_EFFECT_READS,
		.summary = "What of it is not as it was approved: files and permissions.",
		.fields = { ROUTE_SKILL_ID } },
	[ROUTE_SKILL_APPROVE] = { .method = "POST",
		.path = "/api/skills/{id}/approve",
		.effect = ROUTE_EFFECT_GRANTS,
		.summary = "Approves its content, if that is still what was seen.",
		.fields = { ROUTE_SKILL_ID,
			{ "digest", SCHEMA_TEXT, true, 64,
				.help = "of the content that was seen", .place = ROUTE_IN_BODY, .min = 1 } } },
	[ROUTE_VAULT] = { .method = "GET",
		.path = "/api/vault",
		.effect = ROUTE_EFFECT_READS,
		.summary = "Whether there is a vault, and whether it is open; the names, grants and times of "
			   "its secrets. Never a value." },
	[ROUTE_VAULT_LOCK] = { .method = "POST",
		.path = "/api/vault/lock",
		.effect = ROUTE_EFFECT_TAKES,
		.summary = "Takes the key of the vault out of the kernel's keyring." },
	[ROUTE_VAULT_UNLOCK] = { .method = "POST",
		.path = "/api/vault/unlock",
		.effect = ROUTE_EFFECT_GRANTS,
		.summary = "Opens the vault by systemd-creds or the Secret Service. A passphrase is typed in "
			   "a terminal, and is never sent here.",
		.fields = { { "seconds", SCHEMA_NUMBER, false, 604800,
			.help = "for how long; 28800 if not given", .place = ROUTE_IN_BODY, .min = 1 } } },
	[ROUTE_METRICS] = { .method = "GET",
		.path = "/metrics",
		.effect = ROUTE_EFFECT_READS,
		.is_text = true,
		.summary = "Counters and gauges, in the text format of Prometheus." },
	[ROUTE_OPENAPI] = { .method = "GET",
		.path = "/api/openapi.json",
		.effect = ROUTE_EFFECT_READS,
		.is_local = true,
		.summary = "This description." },
	[ROUTE_EVENTS] = { .method = "GET",
		.path = "/sse/events",
		.effect = ROUTE_EFFECT_READS,
		.is_stream = true,
		.is_local = true,
		.summary = "Events as they happen, as text/event-stream. Last-Event-ID goes on "
			   "where a client was cut off." },
};

bool route_has(const struct route *r, enum route_place place)
{
	for (const struct schema_field *f = r->fields; f->name; f++)
		if (f->place == place)
			return true;
	return false;
}

bool route_takes_body(const struct route *r)
{
	return strcmp(r->method, "POST") == 0 || route_has(r, ROUTE_IN_BODY);
}

bool route_needs_body(const struct route *r)
{
	for (const struct schema_field *f = r->fields; f->name; f++)
		if (f->place == ROUTE_IN_BODY && f->required)
			return true;
	return false;
}

/* Whether the path is the row's, and what stands for each {…}. */
static bool route_matches(const struct route *r, const char *path, struct route_places *ret)
{
	const char *row = r->path;

	ret->n = 0;
	while (*row) {
		size_t len;

		if (*row != '{') {
			if (*row++ != *path++)
				return false;
			continue;
		}
		len = strcspn(path, "/");
		if (len == 0 || ret->n == ROUTE_PLACES_MAX)
			return false;
		ret->values[ret->n] = path;
		ret->lens[ret->n++] = len;
		path += len;
		row += strcspn(row, "}") + 1;
	}
	return *path == '\0';
}

const struct route *route_find(
	const char *method, const char *path, struct route_places *ret, bool *ret_known)
{
	*ret_known = false;
	for (size_t i = 0; i < ROUTE_COUNT; i++) {
		if (!route_matches(&routes[i], path, ret))
			continue;
		*ret_known = true;
		if (strcmp(routes[i].method, method) == 0)
			return &routes[i];
	}
	ret->n = 0;
	return NULL;
}

void route_methods(const char *path, struct buffer *out)
{
	struct route_places places;
	size_t n = 0;

	for (size_t i = 0; i < ROUTE_COUNT; i++)
		if (route_matches(&routes[i], path, &places))
			buffer_printf(out, "%s%s", n++ ? ", " : "", routes[i].method);
}

bool route_allows(const struct schema_field *f, const char *value)
{
	uint64_t number;

	return schema_parse(f, value, &number) == 0;
}

struct route_call_head {
	uint32_t number, flags, given; /* row; ROUTE_CALL_FLAGS; 1 << field */
};

static bool route_call_is_valid(const struct route_call *c)
{
	const struct schema_field *f = c->route->fields;

	for (size_t i = 0; i < ROUTE_FIELDS_MAX; i++) {
		const char *value = c->values[i];

		if (!f->name && value)
			return false;
		if (!f->name)
			continue;
		if (value ? !route_allows(f, value) : f->required)
			return false;
		f++;
	}
	return !(c->flags & ~(uint32_t)ROUTE_CALL_FLAGS);
}

int route_call_encode(const struct route_call *c, struct buffer *out)
{
	struct route_call_head h = { .number = (uint32_t)(c->route - routes), .flags = c->flags };

	if (!route_call_is_valid(c))
		return -EINVAL;
	for (size_t i = 0; i < ROUTE_FIELDS_MAX; i++)
		h.given |= c->values[i] ? UINT32_C(1) << i : 0;
	buffer_add(out, &h, sizeof(h));
	for (size_t i = 0; i < ROUTE_FIELDS_MAX; i++)
		if (c->values[i])
			buffer_add(out, c->values[i], strlen(c->values[i]) + 1);
	return out->failed ? -ENOMEM : 0;
}

int route_call_decode(struct route_call *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	struct route_call c = { 0 };
	struct route_call_head h;

	if (!reader_bytes(&r, &h, sizeof(h)) || h.number >= ROUTE_COUNT ||
		routes[h.number].is_local || h.given >= UINT32_C(1) << ROUTE_FIELDS_MAX)
		return -EPROTO;
	c.route = &routes[h.number];
	c.flags = h.flags;
	for (size_t i = 0; i < ROUTE_FIELDS_MAX; i++) {
		if (!(h.given & UINT32_C(1) << i))
			continue;
		c.values[i] = reader_string(&r);
		if (!c.values[i])
			return -EPROTO;
	}
	if (r.left > 0 || !route_call_is_valid(&c))
		return -EPROTO;
	*ret = c;
	return 0;
}

static void route_print_value(
	const struct schema_field *f, const char *value, struct json_writer *w)
{
	const size_t len = strlen(value);

	if (len > ROUTE_PRINTED_MAX || (f->type == SCHEMA_TEXT && f->max > ROUTE_TEXT_MAX))
		json_put_format(w, f->name, "%zu bytes", len);
	else if (f->type == SCHEMA_TEXT || f->type == SCHEMA_CHOICE)
		json_put_text(w, f->name, value);
	else
		json_put_raw(w, f->name, value);
}

void route_call_print(const struct route_call *c, struct buffer *out)
{
	struct json_writer w = { .out = out };

	json_open_map(&w, NULL);
	for (size_t i = 0; c->route->fields[i].name; i++)
		if (c->values[i])
			route_print_value(&c->route->fields[i], c->values[i], &w);
	(void)json_end(&w);
}

const char *route_value(const struct route_call *c, const char *name)
{
	for (size_t i = 0; i < ROUTE_FIELDS_MAX && c->route->fields[i].name; i++)
		if (strcmp(c->route->fields[i].name, name) == 0)
			return c->values[i];
	return NULL;
}
