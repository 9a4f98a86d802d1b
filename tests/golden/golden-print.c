/* SPDX-License-Identifier: Apache-2.0 */
/*
 * golden-print WHAT: what golden.py compares and only code can make, as sections of a golden file.
 *
 *   filters   each seccomp filter, for both architectures: its length and a hash
 *   formats   the table of stored formats, as Markdown
 *   frames    a packet, and a sample of each body: their bytes are the layout
 *   openapi   the document of the daemon's API
 */
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/formats.h"
#include "jail/notify.h"
#include "jail/seccomp/table.h"
#include "wire/broker.h"
#include "wire/configure.h"
#include "wire/frame.h"
#include "wire/join.h"
#include "wire/question.h"
#include "wire/record.h"
#include "wire/report.h"
#include "wire/skill-call.h"
#include "wire/sockets.h"
#include "wire/start.h"
#ifdef GOLDEN_DAEMON
#include "daemon/message.h"
#include "daemon/openapi.h"
#endif

/* Stored formats */

static int print_formats(void)
{
	printf("=== table\n| what | where | its version | now | older | newer: upgrade, or |\n"
	       "|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < FORMAT_COUNT; i++) {
		const struct format_row *row = &formats_rows[i];

		printf("| %s | %s | %s | %u | %s | %s |\n", row->name, row->file, row->where,
			row->version, row->older[0] ? row->older : "there is none", row->instead);
	}
	return 0;
}

/* Filters */

static const struct {
	const char *name;
	struct seccomp_options options;
} bases[] = {
	{ "command", { 0 } },
	{ "command-exec-list", { .no_memfd_exec = true } },
	{ "command-explain", { .listener = true } },
	{ "command-tier-3", { .shared = true } },
	{ "warden", { .no_memfd_exec = true, .closed = true } },
	{ "relay", { .no_memfd_exec = true, .closed = true, .no_unix = true, .no_exec = true } },
	{ "relay-unix", { .no_memfd_exec = true, .closed = true, .no_exec = true } },
	{ "inert", { .no_memfd_exec = true, .closed = true, .no_sockets = true, .no_exec = true } },
	{ "skill-reader", { .no_memfd_exec = true,
				  .closed = true,
				  .shared = true,
				  .no_sockets = true,
				  .no_exec = true } },
	{ "vault", { .no_memfd_exec = true,
			   .closed = true,
			   .shared = true,
			   .no_sockets = true,
			   .no_exec = true,
			   .keys = true } },
	{ "service", { .no_memfd_exec = true, .closed = true, .shared = true, .no_exec = true } },
	{ "service-unix",
		{ .no_memfd_exec = true, .closed = true, .only_unix = true, .no_exec = true } },
};

static int print_filter(const char *name, const struct seccomp_table *t)
{
	unsigned char hash[crypto_hash_sha256_BYTES];
	char hex[2 * sizeof(hash) + 1];
	struct seccomp_program p;
	size_t n;
	int r = seccomp_program_make(&p, t);

	if (r < 0)
		return r;
	n = seccomp_program_length(&p);
	crypto_hash_sha256(hash, (const unsigned char *)seccomp_program_code(&p),
		n * sizeof(struct sock_filter));
	printf("%-26s %4zu %s\n", name, n, sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash)));
	return 0;
}

static int print_filters(void)
{
	const struct {
		const char *name;
		const struct seccomp_arch *arch;
	} archs[] = { { "x86_64", &seccomp_x86_64 }, { "aarch64", &seccomp_aarch64 } };
	struct seccomp_table t;
	int r = 0;

	for (size_t a = 0; r == 0 && a < ROWS(archs); a++) {
		printf("=== %s\n", archs[a].name);
		for (size_t i = 0; r == 0 && i < ROWS(bases); i++) {
			seccomp_table_base(&t, archs[a].arch, &bases[i].options);
			r = print_filter(bases[i].name, &t);
		}
		for (int watched = 0; r == 0 && watched < 2; watched++) {
			seccomp_table_close(&t, archs[a].arch, watched);
			r = print_filter(watched ? "close-watched" : "close", &t);
		}
		notify_table(&t, archs[a].arch);
		if (r == 0)
			r = print_filter("notify", &t);
	}
	return r;
}

/* Frames */

/* Bytes in hexadecimal, with the letters of texts. */
static void print_bytes(const char *name, const void *data, size_t len)
{
	auto_buffer copy = { 0 };
	const unsigned char *p;

	buffer_add(&copy, data, len);
	p = (const unsigned char *)buffer_text(&copy);
	printf("=== body %s\n%zu bytes\n", name, len);
	for (size_t at = 0; at < len; at += 16) {
		size_t n = len - at < 16 ? len - at : 16;

		printf("%04zx ", at);
		for (size_t i = 0; i < n; i++)
			printf(" %02x", p[at + i]);
		printf("%*s  ", (int)(3 * (16 - n)), "");
		for (size_t i = 0; i < n; i++)
			putchar(p[at + i] > ' ' && p[at + i] < 0x7f ? p[at + i] : '.');
		putchar('\n');
	}
}

/* Bodies that are sent as they are. */
static void print_plain(void)
{
	const struct report report = { .exit_code = 1,
		.signal = 2,
		.flags = 4,
		.memory_by = 1,
		.pids_by = 2,
		.output_error = 3,
		.wall_us = 5,
		.user_us = 6,
		.system_us = 7,
		.peak_bytes = 8 };
	const struct ready ready = { .tier = 1 };
	const struct skill_call call = { .args_len = 1, .input_len = 2, .time_ms = 3 };
	const struct skill_answer answer = {
		.status = 1, .flags = 2, .answer_len = 3, .printed_len = 4
	};

	print_bytes("report", &report, sizeof(report));
	print_bytes("ready", &ready, sizeof(ready));
	print_bytes("skill-call", &call, sizeof(call));
	print_bytes("skill-answer", &answer, sizeof(answer));
}

static int encode_start(struct buffer *out)
{
	const char *const argv[] = { "ls", "-l", NULL }, *const env[] = { "A=b", NULL };
	const struct start s = { .flags = START_QUIET,
		.rows = 1,
		.columns = 2,
		.timeout_ms = 3,
		.memory = 4,
		.pids = 5,
		.file_size = 6,
		.open_files = 7,
		.cwd = "/w",
		.program = "ls",
		.argv = argv,
		.env = env,
		.n_argv = 2,
		.n_env = 1 };

	return start_encode(&s, out);
}

static int encode_configure(struct buffer *out)
{
	const struct configure c = { .flags =
					     CONFIGURE_BROKER | CONFIGURE_CALLER | CONFIGURE_WORKER,
		.host = 1,
		.ask_ms = 2,
		.variables.values = { [VARIABLE_HOME] = "/home" },
		.guarded = { "/g" },
		.n_guarded = 1,
		.broker = "/b",
		.caller = "/c",
		.worker = { { "/w", 3, 4 }, { "/x", 5, 6 }, { "/y", 7, 8 } } };

	return configure_encode(&c, out);
}

static int encode_change(struct buffer *out)
{
	const struct change c = { .flags = CHANGE_WHOLE,
		.ports = { { .port = 1, .inner = 2 } },
		.n_ports = 1,
		.doors = { "/d" },
		.n_doors = 1,
		.text = "{}",
		.grants = { { .since_ms = 1,
			.until_ms = 2,
			.ends_ms = 3,
			.op = OPERATION_NET_CONNECT,
			.pattern = "a:1" } },
		.n_grants = 1 };

	return change_encode(&c, out);
}

static int encode_broker(struct buffer *out)
{
	const char *const env[] = { "A=b", NULL }, *const places[] = { "/p", NULL },
			  *const layers[] = { "{}", NULL };
	const struct broker_setup s = { .flags = BROKER_HTTP,
		.ask_ms = 1,
		.variables.values = { [VARIABLE_HOME] = "/home" },
		.services = "s",
		.warden = "/w",
		.log = "/l",
		.session = "0123456789abcdef",
		.sandbox = "n",
		.folder = "/f",
		.token = "0123456789abcdef0123456789abcdef",
		.environment = env,
		.user_environment = env,
		.private_places = places,
		.layers = layers,
		.guarded = places,
		.n_environment = 1,
		.n_user_environment = 1,
		.n_private = 1,
		.n_layers = 1,
		.n_guarded = 1 };

	return broker_setup_encode(&s, out);
}

static int encode_join(struct buffer *out)
{
	const struct join j = { .started_ms = 1,
		.kind = JOIN_ENCLAVE,
		.id = "0123456789abcdef",
		.name = "n",
		.command = "c",
		.folder = "/f",
		.policy = "p" };

	return join_encode(&j, out);
}

static int encode_details(struct buffer *out)
{
	const struct join_details d = {
		.n_permissions = 1, .n_ceiling = 1, .permissions = { "p" }, .ceiling = { "c" }
	};

	return join_details_encode(&d, out);
}

static int encode_question(struct buffer *out)
{
	const struct question q = { .op = OPERATION_NET_CONNECT,
		.pid = 1,
		.wait_ms = 2,
		.n_scopes = 1,
		.target = "t:1",
		.program = "p",
		.rule = "r",
		.reason = "w",
		.method = "m",
		.scopes = { "t:1" } };

	return question_encode(&q, out);
}

static int encode_answer(struct buffer *out)
{
	const struct answer a = {
		.question = 1, .ttl_ms = 2, .kind = ANSWER_ALLOW, .pattern = "p"
	};

	return answer_encode(&a, out);
}

static const struct live_grant grant = { .since_ms = 1,
	.until_ms = 2,
	.ends_ms = 3,
	.op = OPERATION_NET_CONNECT,
	.by = GRANT_BY_ANSWER,
	.pattern = "a:1" };

static int encode_grant(struct buffer *out)
{
	return live_grant_encode(&grant, out);
}

static int encode_grants(struct buffer *out)
{
	return live_grants_encode(&grant, 1, out);
}

static int encode_reply(struct buffer *out)
{
	const struct join_reply r = { .error = 1, .text = "t" };

	return join_reply_encode(&r, out);
}

static int encode_record(struct buffer *out)
{
	const struct record r = { .kind = RECORD_CLOSED,
		.target = "t",
		.name = "n",
		.address = "a",
		.port = 1,
		.rule = "r",
		.reason = "w",
		.remedy = "m",
		.sent = 2,
		.received = 3,
		.count = 4,
		.pid = 5,
		.program = "p" };

	return record_encode(&r, out);
}

static int encode_refusal(struct buffer *out)
{
	const struct refusal r = { .error = 1, .text = "t", .hint = "h" };

	return refusal_encode(&r, out);
}

#ifdef GOLDEN_DAEMON
static int encode_api_setup(struct buffer *out)
{
	struct message_setup s = { .heartbeat_ms = 1, .port = 2 };

	memset(s.token, 'a', MESSAGE_TOKEN);
	memset(s.start, 'b', PROOF_ID);
	memset(s.label, 'c', PROOF_ID);
	return message_setup_encode(&s, out);
}

static int encode_api_tab(struct buffer *out)
{
	struct message_tab t = { .key = { 1 } };

	memset(t.id, 'a', PROOF_ID);
	return message_tab_encode(&t, out);
}

static int encode_api_answer(struct buffer *out)
{
	const struct message_answer a = { .status = 200, .json = "{}", .len = 2 };

	return message_answer_encode(&a, out);
}

static int encode_api_event(struct buffer *out)
{
	const struct message_event e = { .type = "t", .json = "{}" };

	return message_event_encode(&e, out);
}

static int encode_api_note(struct buffer *out)
{
	const struct message_note n = {
		.status = 403, .more = 1, .by_unix = true, .target = "/t", .reason = "r"
	};

	return message_note_encode(&n, out);
}

static int print_openapi(void)
{
	auto_buffer out = { 0 };

	openapi_print(&out, "VERSION");
	printf("=== openapi\n%s\n", buffer_text(&out));
	return 0;
}
#endif

static const struct {
	const char *name;
	int (*encode)(struct buffer *out);
} bodies[] = {
	{ "start", encode_start },
	{ "configure", encode_configure },
	{ "change", encode_change },
	{ "broker-setup", encode_broker },
	{ "join", encode_join },
	{ "join-details", encode_details },
	{ "question", encode_question },
	{ "answer", encode_answer },
	{ "grant", encode_grant },
	{ "grants", encode_grants },
	{ "join-reply", encode_reply },
	{ "record", encode_record },
	{ "refusal", encode_refusal },
#ifdef GOLDEN_DAEMON
	{ "api-setup", encode_api_setup },
	{ "api-tab", encode_api_tab },
	{ "api-answer", encode_api_answer },
	{ "api-event", encode_api_event },
	{ "api-note", encode_api_note },
#endif
};

/* A packet as the peer gets it: the header, and a body of two bytes. */
static int print_packet(void)
{
	int pair[2] = { -1, -1 }, r = frame_pair(pair);
	unsigned char packet[256] = { 0 };
	auto_fd ours = -1, theirs = -1;
	ssize_t n;

	if (r < 0)
		return r;
	ours = pair[0];
	theirs = pair[1];
	r = frame_send(ours, FRAME_KILL, 0x0102030405060708, "ab", 2, &ours, 1);
	if (r < 0)
		return r;
	n = recv(theirs, packet, sizeof(packet), 0);
	if (n < 0)
		return -1;
	print_bytes("packet", packet, (size_t)n);
	return 0;
}

static int print_frames(void)
{
	int r = print_packet();

	print_plain();
	for (size_t i = 0; r == 0 && i < ROWS(bodies); i++) {
		auto_buffer out = { 0 };

		r = bodies[i].encode(&out);
		if (r < 0)
			fprintf(stderr, "golden-print: %s: %s\n", bodies[i].name, strerror(-r));
		print_bytes(bodies[i].name, out.data, out.len);
	}
	return r;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*print)(void);
	} parts[] = {
		{ "filters", print_filters },
		{ "formats", print_formats },
		{ "frames", print_frames },
#ifdef GOLDEN_DAEMON
		{ "openapi", print_openapi },
#endif
	};

	for (size_t i = 0; i < ROWS(parts); i++)
		if (argc == 2 && strcmp(argv[1], parts[i].name) == 0)
			return parts[i].print() < 0 || fflush(stdout) != 0;
	fprintf(stderr, "usage: golden-print filters|formats|frames|openapi\n");
	return 2;
}
