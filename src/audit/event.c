/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A head of fixed size, then the texts: two bytes of length, the bytes, a NUL. An event has one
 * encoding only, and what the encoder never writes is refused, so whatever was decoded is encoded
 * again as the same bytes: a hash over them is a hash over the event.
 *
 * Long texts are cut before anything is hashed. Where all of them together are too long, the
 * longest are cut to the same length, so that a target of a few kilobytes never takes the room of
 * the rule that judged it.
 */
#include "audit/event.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "base/words.h"

enum { VERSION = 1, FLAG_EXACT = 1 };

struct event_head {
	uint8_t version, action, decision, flags;
	uint32_t pid;
	uint64_t time_ns, sequence, cost_ns, sent, received, status, count;
};
_Static_assert(sizeof(struct event_head) == 64, "no padding is hashed");

enum { TEXT_EXTRA = 3, HEAD_BYTES = sizeof(struct event_head), ELLIPSIS_BYTES = 3 };
static const char ellipsis[] = "…";
_Static_assert(sizeof(ellipsis) == ELLIPSIS_BYTES + 1, "the source is UTF-8");
_Static_assert(HEAD_BYTES + AUDIT_EVENT_TEXTS * (TEXT_EXTRA + ELLIPSIS_BYTES) < AUDIT_EVENT_LEAST,
	"there is room for something of each text");

const char *const audit_actions[] = {
	[AUDIT_COMMAND_START] = "command.start",
	[AUDIT_COMMAND_END] = "command.end",
	[AUDIT_FS_READ] = "fs.read",
	[AUDIT_FS_WRITE] = "fs.write",
	[AUDIT_FS_LIST] = "fs.list",
	[AUDIT_FS_DELETE] = "fs.delete",
	[AUDIT_NET_CONNECT] = "net.connect",
	[AUDIT_NET_CLOSE] = "net.close",
	[AUDIT_NET_NAME] = "net.name",
	[AUDIT_EXEC] = "exec",
	[AUDIT_ENV] = "env",
	[AUDIT_SERVICE] = "service",
	[AUDIT_POLICY] = "policy",
	[AUDIT_APPROVAL] = "approval",
	[AUDIT_CONFINEMENT] = "confinement",
	[AUDIT_LIMIT] = "limit",
	[AUDIT_SESSION] = "session",
	[AUDIT_STORE] = "store",
	[AUDIT_ACTION_COUNT] = NULL,
};

const char *const audit_decisions[] = { [AUDIT_NONE] = "none",
	[AUDIT_ALLOWED] = "allowed",
	[AUDIT_DENIED] = "denied",
	[AUDIT_ASKED] = "asked",
	[AUDIT_FAILED] = "failed",
	[AUDIT_DECISION_COUNT] = NULL };

/* The places of the texts in the struct. */
#define AT(member) offsetof(struct audit_event, member)
static const size_t offsets[AUDIT_EVENT_TEXTS] = { AT(session), AT(user), AT(sandbox), AT(program),
	AT(target), AT(rule), AT(reason) };

static int event_find_word(const char *const *words, const char *word)
{
	const int i = words_find(words, word, strlen(word));

	return i < 0 ? -EINVAL : i;
}

const char *audit_action_name(enum audit_action a)
{
	return (unsigned)a < AUDIT_ACTION_COUNT ? audit_actions[a] : "unknown";
}

int audit_action_parse(const char *word)
{
	return event_find_word(audit_actions, word);
}

enum audit_action audit_action_of(enum operation op)
{
	static const enum audit_action actions[OPERATION_COUNT] = {
		[OPERATION_FS_READ] = AUDIT_FS_READ,
		[OPERATION_FS_WRITE] = AUDIT_FS_WRITE,
		[OPERATION_NET_CONNECT] = AUDIT_NET_CONNECT,
		[OPERATION_EXEC] = AUDIT_EXEC,
		[OPERATION_ENV] = AUDIT_ENV,
		[OPERATION_SERVICE] = AUDIT_SERVICE,
		[OPERATION_SECRET] = AUDIT_SERVICE,
	};

	return actions[op];
}

const char *audit_decision_name(enum audit_decision d)
{
	return (unsigned)d < AUDIT_DECISION_COUNT ? audit_decisions[d] : "unknown";
}

int audit_decision_parse(const char *word)
{
	return event_find_word(audit_decisions, word);
}

const char *audit_event_text(const struct audit_event *e, size_t i)
{
	const char *text;

	memcpy(&text, (const char *)e + offsets[i], sizeof(text));
	return text ? text : "";
}

void audit_event_set_text(struct audit_event *e, size_t i, const char *text)
{
	memcpy((char *)e + offsets[i], &text, sizeof(text));
}

/* How many bytes the texts have if none may have more than `bound`. */
static size_t event_total(const size_t lens[AUDIT_EVENT_TEXTS], size_t bound)
{
	size_t sum = 0;

	for (size_t i = 0; i < AUDIT_EVENT_TEXTS; i++)
		sum += lens[i] < bound ? lens[i] : bound;
	return sum;
}

/* The largest bound, up to AUDIT_TEXT_MAX, with which all of them fit. */
static size_t event_find_bound(const size_t lens[AUDIT_EVENT_TEXTS], size_t room)
{
	size_t low = 0, high = AUDIT_TEXT_MAX;

	if (event_total(lens, high) <= room)
		return high;
	while (low < high) {
		size_t middle = (low + high + 1) / 2;

		if (event_total(lens, middle) <= room)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* How much of a text that is cut stays: no half of a character. */
static size_t event_kept(const char *text, size_t bound)
{
	size_t n = bound - ELLIPSIS_BYTES;

	for (size_t back = 0; back < 3 && back < n; back++) {
		if (((unsigned char)text[n - back] & 0xc0) != 0x80)
			return n - back;
	}
	return n;
}

static uint8_t *event_put_text(uint8_t *out, const char *text, size_t len, size_t bound)
{
	size_t keep = len > bound ? event_kept(text, bound) : len;
	size_t written = len > bound ? keep + ELLIPSIS_BYTES : len;

	out[0] = (uint8_t)written;
	out[1] = (uint8_t)(written >> 8);
	memcpy(out + 2, text, keep);
	if (len > bound)
		memcpy(out + 2 + keep, ellipsis, ELLIPSIS_BYTES);
	out[2 + written] = '\0';
	return out + 2 + written + 1;
}

size_t audit_event_pack(const struct audit_event *e, void *out, size_t room)
{
	const struct event_head h = { .version = VERSION,
		.action = (uint8_t)e->action,
		.decision = (uint8_t)e->decision,
		.flags = e->exact ? FLAG_EXACT : 0,
		.pid = htole32(e->pid),
		.time_ns = htole64(e->time_ns),
		.sequence = htole64(e->sequence),
		.cost_ns = htole64(e->cost_ns),
		.sent = htole64(e->sent),
		.received = htole64(e->received),
		.status = htole64((uint64_t)e->status),
		.count = htole64(e->count ? e->count : 1) };
	const char *texts[AUDIT_EVENT_TEXTS];
	size_t lens[AUDIT_EVENT_TEXTS], bound;
	uint8_t *p = out;

	if ((unsigned)e->action >= AUDIT_ACTION_COUNT ||
		(unsigned)e->decision >= AUDIT_DECISION_COUNT || room < AUDIT_EVENT_LEAST)
		return 0;
	for (size_t i = 0; i < AUDIT_EVENT_TEXTS; i++) {
		texts[i] = audit_event_text(e, i);
		lens[i] = strlen(texts[i]);
	}
	bound = event_find_bound(lens, room - HEAD_BYTES - AUDIT_EVENT_TEXTS * TEXT_EXTRA);
	memcpy(p, &h, sizeof(h));
	p += sizeof(h);
	for (size_t i = 0; i < AUDIT_EVENT_TEXTS; i++)
		p = event_put_text(p, texts[i], lens[i], bound);
	return (size_t)(p - (uint8_t *)out);
}

void audit_event_encode(const struct audit_event *e, struct buffer *out)
{
	uint8_t bytes[AUDIT_EVENT_MAX];
	size_t len = audit_event_pack(e, bytes, sizeof(bytes));

	if (len == 0)
		out->failed = true;
	buffer_add(out, bytes, len);
}

int audit_event_decode(struct audit_event *ret, const void *data, size_t len)
{
	const char *texts[AUDIT_EVENT_TEXTS];
	const uint8_t *p = data;
	struct event_head h;

	if (len < sizeof(h) || len > AUDIT_EVENT_MAX)
		return -EBADMSG;
	memcpy(&h, p, sizeof(h));
	p += sizeof(h);
	len -= sizeof(h);
	if (h.version != VERSION || h.action >= AUDIT_ACTION_COUNT ||
		h.decision >= AUDIT_DECISION_COUNT || h.flags & ~FLAG_EXACT || h.count == 0)
		return -EBADMSG;
	for (size_t i = 0; i < AUDIT_EVENT_TEXTS; i++) {
		size_t n = len < TEXT_EXTRA ? 0 : (size_t)p[0] | (size_t)p[1] << 8;

		if (len < TEXT_EXTRA || n > AUDIT_TEXT_MAX || n > len - TEXT_EXTRA ||
			memchr(p + 2, '\0', n + 1) != p + 2 + n)
			return -EBADMSG;
		texts[i] = (const char *)p + 2;
		p += n + TEXT_EXTRA;
		len -= n + TEXT_EXTRA;
	}
	if (len > 0)
		return -EBADMSG;
	*ret = (struct audit_event){ .time_ns = le64toh(h.time_ns),
		.sequence = le64toh(h.sequence),
		.pid = le32toh(h.pid),
		.action = (enum audit_action)h.action,
		.decision = (enum audit_decision)h.decision,
		.exact = h.flags & FLAG_EXACT,
		.cost_ns = le64toh(h.cost_ns),
		.sent = le64toh(h.sent),
		.received = le64toh(h.received),
		.status = (int64_t)le64toh(h.status),
		.count = le64toh(h.count) };
	for (size_t i = 0; i < AUDIT_EVENT_TEXTS; i++)
		audit_event_set_text(ret, i, texts[i]);
	return 0;
}
