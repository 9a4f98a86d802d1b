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

static void ocsf_put_class(struct buffer *out, const struct audit_event *e)
{
	unsigned class = kinds[e->action].class, activity = kinds[e->action].activity;

	if (e->action == AUDIT_NET_CONNECT && e->decision == AUDIT_DENIED)
		activity = NETWORK_REFUSE;
	else if (e->action == AUDIT_NET_CONNECT && e->decision == AUDIT_FAILED)
		activity = NETWORK_FAIL;
	export_put_number(out, "class_uid", class);
	export_put_number(out, "category_uid", class / 1000);
	export_put_number(out, "activity_id", activity);
	if (activity == ACTIVITY_OTHER)
		export_put_text(out, "activity_name", audit_action_name(e->action));
	export_put_number(out, "type_uid", class * 100 + activity);
}

static void ocsf_put_product(struct buffer *out, const char *key)
{
	export_open(out, key);
	export_put_text(out, "name", "Corral");
	export_put_text(out, "vendor_name", "Corral");
	export_close(out);
}

static void ocsf_put_metadata(struct buffer *out, const struct audit_row *r, enum class class)
{
	char time[AUDIT_FIELD_BYTES];

	export_open(out, "metadata");
	export_put_text(out, "version", "1.1.0");
	ocsf_put_product(out, "product");
	if (class < APPLICATION_LIFECYCLE)
		buffer_adds(out, ",\"profiles\":[\"host\",\"security_control\"]");
	else if (class == APPLICATION_LIFECYCLE)
		buffer_adds(out, ",\"profiles\":[\"host\"]");
	export_put_text(out, "log_name", "audit");
	export_put_text(out, "event_code", audit_action_name(r->event.action));
	export_put_text(out, "original_time", audit_field_print_time(r->event.time_ns, time));
	export_put_number(out, "sequence", r->event.sequence);
	export_close(out);
}

static const char *ocsf_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* An object with one member. */
static void ocsf_put_one(struct buffer *out, const char *object, const char *key, const char *text)
{
	export_open(out, object);
	export_put_text(out, key, text);
	export_close(out);
}

static void ocsf_put_file(struct buffer *out, const char *path, unsigned type)
{
	export_open(out, "file");
	export_put_text(out, "name", ocsf_base_name(path));
	export_put_text(out, "path", path);
	export_put_number(out, "type_id", type);
	export_close(out);
}

static void ocsf_put_actor(struct buffer *out, const struct audit_event *e)
{
	export_open(out, "actor");
	if (e->pid) {
		export_open(out, "process");
		export_put_number(out, "pid", e->pid);
		if (*e->program) {
			export_put_text(out, "name", ocsf_base_name(e->program));
			ocsf_put_file(out, e->program, FILE_UNKNOWN);
		}
		export_close(out);
	} else if (*e->program) {
		export_put_text(out, "invoked_by", e->program);
	}
	if (*e->user)
		ocsf_put_one(out, "user", "uid", e->user);
	ocsf_put_one(out, "session", "uid", e->session);
	export_close(out);
}

/* The sandbox is the machine that the command sees. */
static void ocsf_put_sandbox(struct buffer *out, const char *key, const struct audit_event *e)
{
	export_open(out, key);
	export_put_text(out, "name", "sandbox");
	if (*e->sandbox)
		export_put_text(out, "uid", e->sandbox);
	export_put_number(out, "type_id", DEVICE_OTHER);
	export_put_text(out, "type", "Sandbox");
	export_close(out);
}

/* A process has a number, or else a name of ours: the schema wants one of them. */
static void ocsf_put_process(struct buffer *out, const struct audit_event *e)
{
	auto_buffer uid = { 0 };

	export_open(out, "process");
	buffer_printf(&uid, "%s/%llu", e->session, (unsigned long long)e->sequence);
	if (e->pid)
		export_put_number(out, "pid", e->pid);
	else
		export_put_text(out, "uid", buffer_text(&uid));
	out->failed = out->failed || uid.failed;
	export_put_text(out, e->action == AUDIT_EXEC ? "name" : "cmd_line",
		e->action == AUDIT_EXEC ? ocsf_base_name(e->target) : e->target);
	if (e->action == AUDIT_EXEC)
		ocsf_put_file(out, e->target, FILE_UNKNOWN);
	export_close(out);
	if (e->action == AUDIT_COMMAND_END)
		buffer_printf(out, ",\"exit_code\":%lld", (long long)e->status);
}

static void ocsf_put_destination(struct buffer *out, const struct audit_event *e)
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
	export_open(out, "dst_endpoint");
	export_put_text(out, key, buffer_text(&name));
	if (h.port)
		export_put_number(out, "port", h.port);
	export_close(out);
	export_open(out, "connection_info");
	export_put_number(out, "direction_id", OUTBOUND);
	export_put_text(out, "protocol_name", h.protocol);
	export_close(out);
	out->failed = out->failed || name.failed;
}

static void ocsf_put_object(struct buffer *out, const struct audit_event *e, enum class class)
{
	switch (class) {
	case FILE_ACTIVITY:
		ocsf_put_file(
			out, e->target, e->action == AUDIT_FS_LIST ? FILE_FOLDER : FILE_UNKNOWN);
		break;
	case PROCESS_ACTIVITY:
		ocsf_put_process(out, e);
		break;
	case NETWORK_ACTIVITY:
		ocsf_put_sandbox(out, "src_endpoint", e);
		ocsf_put_destination(out, e);
		if (e->action != AUDIT_NET_CLOSE)
			break;
		export_open(out, "traffic");
		export_put_number(out, "bytes_out", e->sent);
		export_put_number(out, "bytes_in", e->received);
		export_close(out);
		break;
	case DNS_ACTIVITY:
		ocsf_put_sandbox(out, "src_endpoint", e);
		ocsf_put_one(out, "query", "hostname", e->target);
		break;
	case API_ACTIVITY:
		ocsf_put_sandbox(out, "src_endpoint", e);
		ocsf_put_one(out, "api", "operation", audit_action_name(e->action));
		buffer_adds(out, ",\"resources\":[");
		ocsf_put_one(out, NULL, "name", e->target);
		buffer_addc(out, ']');
		break;
	case APPLICATION_LIFECYCLE:
		ocsf_put_product(out, "app");
	}
}

void export_ocsf(const struct audit_row *r, struct buffer *out)
{
	const struct audit_event *e = &r->event;
	auto_buffer message = { 0 };
	enum class class;

	if ((unsigned)e->action >= AUDIT_ACTION_COUNT ||
		(unsigned)e->decision >= AUDIT_DECISION_COUNT)
		return;
	class = kinds[e->action].class;
	export_open(out, NULL);
	ocsf_put_class(out, e);
	export_put_number(out, "time", e->time_ns / 1000000);
	export_put_number(out, "timezone_offset", 0);
	ocsf_put_metadata(out, r, class);
	export_put_number(out, "severity_id", outcomes[e->decision].severity);
	export_put_number(out, "status_id", outcomes[e->decision].status);
	if (*e->reason)
		export_put_text(out, "status_detail", e->reason);
	if (class < APPLICATION_LIFECYCLE) {
		export_put_number(out, "action_id", outcomes[e->decision].action);
		export_put_number(out, "disposition_id", outcomes[e->decision].disposition);
	}
	buffer_printf(&message, "%s %s", audit_action_name(e->action), e->target);
	if (e->decision != AUDIT_NONE)
		buffer_printf(&message, ": %s", audit_decision_name(e->decision));
	export_put_text(out, "message", buffer_text(&message));
	out->failed = out->failed || message.failed;
	export_put_number(out, "count", e->count);
	ocsf_put_actor(out, e);
	if (class != API_ACTIVITY)
		ocsf_put_sandbox(out, "device", e);
	ocsf_put_object(out, e, class);
	export_open(out, "unmapped");
	for (size_t i = 0; i < AUDIT_FIELDS; i++) {
		if (audit_fields[i].unmapped)
			export_put_field(out, &audit_fields[i], r);
	}
	export_close(out);
	export_close(out);
	buffer_addc(out, '\n');
}
