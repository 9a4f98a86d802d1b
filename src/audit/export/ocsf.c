/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Open Cybersecurity Schema Framework, version 1.1.0. Each action belongs to a class, and a
 * class has attributes that it requires; the writers below give those and no more than we know.
 * What the schema has no place for is in `unmapped`, so nothing of a row is lost.
 *
 * Files, processes and connections have the profile "security_control", which says what the
 * policy did; classes of the category Application do not know it.
 */
#include <arpa/inet.h>
#include <string.h>

#include "audit/export/internal.h"

enum class {
	FILE_ACTIVITY = 1001,
	PROCESS_ACTIVITY = 1007,
	NETWORK_ACTIVITY = 4001,
	DNS_ACTIVITY = 4003,
	APPLICATION_LIFECYCLE = 6002,
	API_ACTIVITY = 6003
};

enum { ACTIVITY_OTHER = 99, DEVICE_OTHER = 99, FILE_UNKNOWN = 0, FILE_FOLDER = 2, OUTBOUND = 2 };
enum { NETWORK_OPEN = 1, NETWORK_CLOSE = 2, NETWORK_FAIL = 4, NETWORK_REFUSE = 5 };

static const struct {
	enum class class;
	unsigned activity;
} kinds[AUDIT_ACTION_COUNT] = {
	[AUDIT_COMMAND_START] = { PROCESS_ACTIVITY, 1 }, /* launch */
	[AUDIT_COMMAND_END] = { PROCESS_ACTIVITY, 2 },   /* terminate */
	[AUDIT_FS_READ] = { FILE_ACTIVITY, 2 },
	[AUDIT_FS_WRITE] = { FILE_ACTIVITY, 3 }, /* update */
	[AUDIT_FS_LIST] = { FILE_ACTIVITY, 2 },
	[AUDIT_FS_DELETE] = { FILE_ACTIVITY, 4 },
	[AUDIT_NET_CONNECT] = { NETWORK_ACTIVITY, NETWORK_OPEN },
	[AUDIT_NET_CLOSE] = { NETWORK_ACTIVITY, NETWORK_CLOSE },
	[AUDIT_NET_NAME] = { DNS_ACTIVITY, 1 }, /* query */
	[AUDIT_EXEC] = { PROCESS_ACTIVITY, 1 },
	[AUDIT_ENV] = { API_ACTIVITY, 2 }, /* read */
	[AUDIT_SERVICE] = { API_ACTIVITY, ACTIVITY_OTHER },
	[AUDIT_POLICY] = { API_ACTIVITY, 3 }, /* update */
	[AUDIT_APPROVAL] = { API_ACTIVITY, ACTIVITY_OTHER },
	[AUDIT_CONFINEMENT] = { APPLICATION_LIFECYCLE, ACTIVITY_OTHER },
	[AUDIT_LIMIT] = { APPLICATION_LIFECYCLE, ACTIVITY_OTHER },
	[AUDIT_SESSION] = { APPLICATION_LIFECYCLE, ACTIVITY_OTHER },
	[AUDIT_STORE] = { APPLICATION_LIFECYCLE, ACTIVITY_OTHER },
};

/* By decision: how grave it is, whether it worked, what the policy did. */
static const struct {
	unsigned severity, status, action, disposition;
} outcomes[AUDIT_DECISION_COUNT] = {
	[AUDIT_NONE] = { 1, 1, 1, 17 }, /* logged */
	[AUDIT_ALLOWED] = { 1, 1, 1, 1 },
	[AUDIT_DENIED] = { 3, 2, 2, 2 },
	[AUDIT_ASKED] = { 2, 0, 0, 0 },
	[AUDIT_FAILED] = { 2, 2, 1, 27 }, /* an error */
};

static void ocsf_put_class(struct json_writer *w, const struct audit_event *e)
{
	unsigned class = kinds[e->action].class, activity = kinds[e->action].activity;

	if (e->action == AUDIT_NET_CONNECT && e->decision == AUDIT_DENIED)
		activity = NETWORK_REFUSE;
	else if (e->action == AUDIT_NET_CONNECT && e->decision == AUDIT_FAILED)
		activity = NETWORK_FAIL;
	json_put_count(w, "class_uid", class);
	json_put_count(w, "category_uid", class / 1000);
	json_put_count(w, "activity_id", activity);
	if (activity == ACTIVITY_OTHER)
		json_put_text(w, "activity_name", audit_action_name(e->action));
	json_put_count(w, "type_uid", class * 100 + activity);
}

static void ocsf_put_product(struct json_writer *w, const char *key)
{
	json_open_map(w, key);
	json_put_text(w, "name", "Corral");
	json_put_text(w, "vendor_name", "Corral");
	json_close(w);
}

static void ocsf_put_metadata(struct json_writer *w, const struct audit_row *r, enum class class)
{
	char time[AUDIT_FIELD_BYTES];

	json_open_map(w, "metadata");
	json_put_text(w, "version", "1.1.0");
	ocsf_put_product(w, "product");
	if (class <= APPLICATION_LIFECYCLE) {
		json_open_list(w, "profiles");
		json_put_text(w, NULL, "host");
		if (class < APPLICATION_LIFECYCLE)
			json_put_text(w, NULL, "security_control");
		json_close(w);
	}
	json_put_text(w, "log_name", "audit");
	json_put_text(w, "event_code", audit_action_name(r->event.action));
	json_put_text(w, "original_time", audit_field_print_time(r->event.time_ns, time));
	json_put_count(w, "sequence", r->event.sequence);
	json_close(w);
}

static const char *ocsf_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* An object with one member. */
static void ocsf_put_one(
	struct json_writer *w, const char *object, const char *key, const char *text)
{
	json_open_map(w, object);
	json_put_text(w, key, text);
	json_close(w);
}

static void ocsf_put_file(struct json_writer *w, const char *path, unsigned type)
{
	json_open_map(w, "file");
	json_put_text(w, "name", ocsf_base_name(path));
	json_put_text(w, "path", path);
	json_put_count(w, "type_id", type);
	json_close(w);
}

static void ocsf_put_actor(struct json_writer *w, const struct audit_event *e)
{
	json_open_map(w, "actor");
	if (e->pid) {
		json_open_map(w, "process");
		json_put_count(w, "pid", e->pid);
		if (*e->program) {
			json_put_text(w, "name", ocsf_base_name(e->program));
			ocsf_put_file(w, e->program, FILE_UNKNOWN);
		}
		json_close(w);
	} else if (*e->program) {
		json_put_text(w, "invoked_by", e->program);
	}
	if (*e->user)
		ocsf_put_one(w, "user", "uid", e->user);
	ocsf_put_one(w, "session", "uid", e->session);
	json_close(w);
}

/* The sandbox is the machine that the command sees. */
static void ocsf_put_sandbox(struct json_writer *w, const char *key, const struct audit_event *e)
{
	json_open_map(w, key);
	json_put_text(w, "name", "sandbox");
	if (*e->sandbox)
		json_put_text(w, "uid", e->sandbox);
	json_put_count(w, "type_id", DEVICE_OTHER);
	json_put_text(w, "type", "Sandbox");
	json_close(w);
}

/* A process has a number, or else a name of ours: the schema wants one of them. */
static void ocsf_put_process(struct json_writer *w, const struct audit_event *e)
{
	json_open_map(w, "process");
	if (e->pid)
		json_put_count(w, "pid", e->pid);
	else
		json_put_format(w, "uid", "%s/%llu", e->session, (unsigned long long)e->sequence);
	json_put_text(w, e->action == AUDIT_EXEC ? "name" : "cmd_line",
		e->action == AUDIT_EXEC ? ocsf_base_name(e->target) : e->target);
	if (e->action == AUDIT_EXEC)
		ocsf_put_file(w, e->target, FILE_UNKNOWN);
	json_close(w);
	if (e->action == AUDIT_COMMAND_END)
		json_put_number(w, "exit_code", e->status);
}

static void ocsf_put_destination(struct json_writer *w, const struct audit_event *e)
{
	const struct export_host h = export_host(e->target);
	auto_buffer name = { 0 };
	const char *key = "hostname";
	uint8_t address[16];

	buffer_add(&name, h.name, h.len);
	if (strcmp(h.protocol, "unix") == 0)
		key = "name";
	else if (inet_pton(AF_INET, buffer_text(&name), address) == 1 ||
		 inet_pton(AF_INET6, buffer_text(&name), address) == 1)
		key = "ip";
	json_open_map(w, "dst_endpoint");
	json_put_buffer(w, key, &name);
	if (h.port)
		json_put_count(w, "port", h.port);
	json_close(w);
	json_open_map(w, "connection_info");
	json_put_count(w, "direction_id", OUTBOUND);
	json_put_text(w, "protocol_name", h.protocol);
	json_close(w);
}

static void ocsf_put_object(struct json_writer *w, const struct audit_event *e, enum class class)
{
	switch (class) {
	case FILE_ACTIVITY:
		ocsf_put_file(
			w, e->target, e->action == AUDIT_FS_LIST ? FILE_FOLDER : FILE_UNKNOWN);
		break;
	case PROCESS_ACTIVITY:
		ocsf_put_process(w, e);
		break;
	case NETWORK_ACTIVITY:
		ocsf_put_sandbox(w, "src_endpoint", e);
		ocsf_put_destination(w, e);
		if (e->action != AUDIT_NET_CLOSE)
			break;
		json_open_map(w, "traffic");
		json_put_count(w, "bytes_out", e->sent);
		json_put_count(w, "bytes_in", e->received);
		json_close(w);
		break;
	case DNS_ACTIVITY:
		ocsf_put_sandbox(w, "src_endpoint", e);
		ocsf_put_one(w, "query", "hostname", e->target);
		break;
	case API_ACTIVITY:
		ocsf_put_sandbox(w, "src_endpoint", e);
		ocsf_put_one(w, "api", "operation", audit_action_name(e->action));
		json_open_list(w, "resources");
		ocsf_put_one(w, NULL, "name", e->target);
		json_close(w);
		break;
	case APPLICATION_LIFECYCLE:
		ocsf_put_product(w, "app");
	}
}

void export_ocsf(const struct audit_row *r, struct buffer *out)
{
	const struct audit_event *e = &r->event;
	struct json_writer writer = { .out = out }, *w = &writer;
	const bool is_decided = e->decision != AUDIT_NONE;
	enum class class;

	if ((unsigned)e->action >= AUDIT_ACTION_COUNT ||
		(unsigned)e->decision >= AUDIT_DECISION_COUNT)
		return;
	class = kinds[e->action].class;
	json_open_map(w, NULL);
	ocsf_put_class(w, e);
	json_put_count(w, "time", e->time_ns / 1000000);
	json_put_count(w, "timezone_offset", 0);
	ocsf_put_metadata(w, r, class);
	json_put_count(w, "severity_id", outcomes[e->decision].severity);
	json_put_count(w, "status_id", outcomes[e->decision].status);
	if (*e->reason)
		json_put_text(w, "status_detail", e->reason);
	if (class < APPLICATION_LIFECYCLE) {
		json_put_count(w, "action_id", outcomes[e->decision].action);
		json_put_count(w, "disposition_id", outcomes[e->decision].disposition);
	}
	json_put_format(w, "message", "%s %s%s%s", audit_action_name(e->action), e->target,
		is_decided ? ": " : "", is_decided ? audit_decision_name(e->decision) : "");
	json_put_count(w, "count", e->count);
	ocsf_put_actor(w, e);
	if (class != API_ACTIVITY)
		ocsf_put_sandbox(w, "device", e);
	ocsf_put_object(w, e, class);
	json_open_map(w, "unmapped");
	for (size_t i = 0; i < AUDIT_FIELDS; i++) {
		if (audit_fields[i].unmapped)
			export_put_field(w, &audit_fields[i], r);
	}
	json_close(w);
	json_close(w);
	(void)json_end(w);
	buffer_addc(out, '\n');
}
