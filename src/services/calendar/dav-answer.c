/* SPDX-License-Identifier: Apache-2.0 */
#include "services/calendar/dav-answer.h"

#include <errno.h>
#include <libxml/xmlreader.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/buffer.h"
#include "codec/encoding.h"
#include "services/calendar/lines.h"

#define DAV "DAV:"
#define CALDAV "urn:ietf:params:xml:ns:caldav"

/* The elements that mean something. */
enum dav_element {
	DAV_OTHER,
	DAV_MULTISTATUS,
	DAV_RESPONSE,
	DAV_HREF,
	DAV_PROPSTAT,
	DAV_PROP,
	DAV_STATUS,
	DAV_DISPLAYNAME,
	DAV_GETETAG,
	DAV_RESOURCETYPE,
	DAV_PRINCIPAL,
	DAV_CALENDAR,
	DAV_CALENDAR_DATA,
	DAV_HOME_SET,
	DAV_COMPONENTS,
	DAV_COMPONENT,
};

static const struct {
	const char *space, *name;
	enum dav_element element;
} elements[] = {
	{ DAV, "multistatus", DAV_MULTISTATUS },
	{ DAV, "response", DAV_RESPONSE },
	{ DAV, "href", DAV_HREF },
	{ DAV, "propstat", DAV_PROPSTAT },
	{ DAV, "prop", DAV_PROP },
	{ DAV, "status", DAV_STATUS },
	{ DAV, "displayname", DAV_DISPLAYNAME },
	{ DAV, "getetag", DAV_GETETAG },
	{ DAV, "resourcetype", DAV_RESOURCETYPE },
	{ DAV, "current-user-principal", DAV_PRINCIPAL },
	{ CALDAV, "calendar", DAV_CALENDAR },
	{ CALDAV, "calendar-data", DAV_CALENDAR_DATA },
	{ CALDAV, "calendar-home-set", DAV_HOME_SET },
	{ CALDAV, "supported-calendar-component-set", DAV_COMPONENTS },
	{ CALDAV, "comp", DAV_COMPONENT },
};

struct dav_reading {
	xmlTextReaderPtr xml;
	dav_each *each;
	void *context;
	enum dav_element stack[DAV_ANSWER_DEPTH];
	size_t depth;
	struct buffer text;                  /* of the element that is open */
	struct arena arena;                  /* of the response */
	struct dav_response response, found; /* all of it; and of the propstat that is open */
	bool is_refused;                     /* that propstat */
	size_t n;
};

/* The prolog */

static const char *dav_skip_to(const char *at, const char *end, const char *stop)
{
	const char *found = memmem(at, (size_t)(end - at), stop, strlen(stop));

	return found ? found + strlen(stop) : NULL;
}

/* "<?xml … encoding='utf-8' …?>", or one that names none. */
static bool dav_is_utf8(const char *at, const char *end)
{
	const char *name = memmem(at, (size_t)(end - at), "encoding", 8);

	if (!name)
		return true;
	name += 8;
	while (name < end && (*name == ' ' || *name == '=' || *name == '"' || *name == '\''))
		name++;
	return end - name >= 5 && strncasecmp(name, "utf-8", 5) == 0;
}

/*
 * What stands before the first element: declaration, comments, instructions. A DTD can stand there
 * alone; "<!" that is no comment is one.
 */
static bool dav_prolog_is_plain(const char *text, size_t len)
{
	const char *at = text, *end = text + len;

	/* In no other encoding could a DTD hide from this. */
	if (memchr(text, '\0', len))
		return false;
	if (len >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
		at += 3;
	while (at && at < end) {
		if (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n')
			at++;
		else if (end - at >= 4 && memcmp(at, "<!--", 4) == 0)
			at = dav_skip_to(at + 4, end, "-->");
		else if (end - at >= 2 && memcmp(at, "<?", 2) == 0) {
			const char *behind = dav_skip_to(at + 2, end, "?>");

			if (behind && !dav_is_utf8(at, behind))
				return false;
			at = behind;
		} else
			return end - at >= 2 && at[0] == '<' &&
			       (ascii_is_alnum(at[1]) || at[1] == '_');
	}
	return false;
}

/* Elements */

static enum dav_element dav_element_of(struct dav_reading *r)
{
	const char *name = (const char *)xmlTextReaderConstLocalName(r->xml);
	const char *space = (const char *)xmlTextReaderConstNamespaceUri(r->xml);

	for (size_t i = 0; name && space && i < ROWS(elements); i++) {
		if (strcmp(elements[i].name, name) == 0 && strcmp(elements[i].space, space) == 0)
			return elements[i].element;
	}
	return DAV_OTHER;
}

/* The element around the one that is open, so many levels out. */
static enum dav_element dav_around(const struct dav_reading *r, size_t levels)
{
	return r->depth > levels ? r->stack[r->depth - 1 - levels] : DAV_OTHER;
}

static int dav_component(struct dav_reading *r)
{
	xmlChar *name = xmlTextReaderGetAttribute(r->xml, (const xmlChar *)"name");

	if (name && strcasecmp((const char *)name, "VEVENT") == 0)
		r->found.has_events = true;
	if (name && strcasecmp((const char *)name, "VTODO") == 0)
		r->found.has_todos = true;
	xmlFree(name);
	return 0;
}

static int dav_open(struct dav_reading *r)
{
	const enum dav_element element = dav_element_of(r);

	if (r->depth == DAV_ANSWER_DEPTH)
		return -EBADMSG;
	if (r->depth == 0 && element != DAV_MULTISTATUS)
		return -EBADMSG;
	r->stack[r->depth++] = element;
	buffer_clear(&r->text);
	if (element == DAV_RESPONSE && r->depth == 2) {
		arena_deinit(&r->arena);
		r->response = r->found = (struct dav_response){ 0 };
		r->is_refused = false;
	}
	if (element == DAV_PROPSTAT) {
		r->found = (struct dav_response){ 0 };
		r->is_refused = false;
	}
	if (element == DAV_CALENDAR && dav_around(r, 1) == DAV_RESOURCETYPE)
		r->found.is_calendar = true;
	if (element == DAV_COMPONENTS)
		r->found.has_components = true;
	if (element == DAV_COMPONENT && dav_around(r, 1) == DAV_COMPONENTS)
		return dav_component(r);
	return 0;
}

/* Where the text of the element that is being closed belongs; NULL: nowhere. */
static const char **dav_place(struct dav_reading *r)
{
	const enum dav_element around = dav_around(r, 1);

	switch (r->stack[r->depth - 1]) {
	case DAV_HREF:
		if (around == DAV_RESPONSE)
			return &r->response.href;
		return around == DAV_PRINCIPAL  ? &r->found.principal
		       : around == DAV_HOME_SET ? &r->found.home
						: NULL;
	case DAV_DISPLAYNAME:
		return around == DAV_PROP ? &r->found.name : NULL;
	case DAV_GETETAG:
		return around == DAV_PROP ? &r->found.tag : NULL;
	case DAV_CALENDAR_DATA:
		return around == DAV_PROP ? &r->found.object : NULL;
	default:
		return NULL;
	}
}

/* What the server has of a propstat that says 200. */
static void dav_take_found(struct dav_reading *r)
{
	struct dav_response *to = &r->response;
	const struct dav_response *from = &r->found;

	if (r->is_refused)
		return;
	to->name = from->name ? from->name : to->name;
	to->tag = from->tag ? from->tag : to->tag;
	to->object = from->object ? from->object : to->object;
	to->principal = from->principal ? from->principal : to->principal;
	to->home = from->home ? from->home : to->home;
	to->is_calendar = to->is_calendar || from->is_calendar;
	to->has_components = to->has_components || from->has_components;
	to->has_events = to->has_events || from->has_events;
	to->has_todos = to->has_todos || from->has_todos;
}

static int dav_close(struct dav_reading *r)
{
	const enum dav_element element = r->stack[r->depth - 1];
	const char **place = dav_place(r);
	int code = 0;

	if (place && !*place) {
		*place = arena_strndup(&r->arena, buffer_text(&r->text), r->text.len);
		code = *place ? 0 : -ENOMEM;
	}
	if (element == DAV_STATUS && dav_around(r, 1) == DAV_PROPSTAT)
		r->is_refused = !strstr(buffer_text(&r->text), " 2");
	if (element == DAV_PROPSTAT)
		dav_take_found(r);
	if (element == DAV_RESPONSE && r->depth == 2 && r->response.href)
		code = ++r->n > DAV_ANSWER_RESPONSES ? -EBADMSG : r->each(r->context, &r->response);
	r->depth--;
	buffer_clear(&r->text);
	return code;
}

static int dav_add_text(struct dav_reading *r)
{
	const char *text = (const char *)xmlTextReaderConstValue(r->xml);
	const size_t len = text ? strlen(text) : 0;
	const size_t max =
		dav_around(r, 0) == DAV_CALENDAR_DATA ? LINES_BYTES_MAX + 1 : DAV_ANSWER_TEXT;

	/* An object that is too long is left out by whoever reads it. */
	if (r->depth == 0 || r->text.len >= max)
		return 0;
	buffer_add(&r->text, text, len < max - r->text.len ? len : max - r->text.len);
	return r->text.failed ? -ENOMEM : 0;
}

static int dav_node(struct dav_reading *r)
{
	int code;

	switch (xmlTextReaderNodeType(r->xml)) {
	case XML_READER_TYPE_ELEMENT: {
		const bool is_empty = xmlTextReaderIsEmptyElement(r->xml) == 1;

		code = dav_open(r);
		return code == 0 && is_empty ? dav_close(r) : code;
	}
	case XML_READER_TYPE_END_ELEMENT:
		return r->depth > 0 ? dav_close(r) : -EBADMSG;
	case XML_READER_TYPE_TEXT:
	case XML_READER_TYPE_CDATA:
	case XML_READER_TYPE_SIGNIFICANT_WHITESPACE:
		return dav_add_text(r);
	case XML_READER_TYPE_DOCUMENT_TYPE:
	case XML_READER_TYPE_ENTITY:
	case XML_READER_TYPE_ENTITY_REFERENCE:
		return -EBADMSG;
	default:
		return 0;
	}
}

int dav_answer_read(const char *text, size_t len, dav_each *each, void *context)
{
	struct dav_reading r = { .each = each, .context = context };
	int code = 0, more = 1;

	if (len > DAV_ANSWER_BYTES || !dav_prolog_is_plain(text, len))
		return -EBADMSG;
	r.xml = xmlReaderForMemory(text, (int)len, NULL, "UTF-8",
		XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_NOCDATA);
	if (!r.xml)
		return -ENOMEM;
	while (code == 0 && (more = xmlTextReaderRead(r.xml)) == 1)
		code = dav_node(&r);
	if (code == 0 && (more < 0 || r.depth > 0))
		code = -EBADMSG;
	xmlFreeTextReader(r.xml);
	buffer_deinit(&r.text);
	arena_deinit(&r.arena);
	return code;
}

/* Paths */

/* No segment that leads elsewhere, however it is written. */
static bool dav_path_is_plain(const char *path)
{
	if (path[0] != '/' || strlen(path) > DAV_ANSWER_TEXT)
		return false;
	for (const char *c = path; *c; c++) {
		if ((unsigned char)*c <= 0x20 || *c == 0x7f || strchr("\\?#\"<>", *c))
			return false;
		if (*c == '%') {
			const int value = encoding_percent_byte(c, strnlen(c, 3));

			if (value < 0x20 || value == '/' || value == '.' || value == '\\' ||
				value == 0x7f)
				return false;
		}
		if (*c == '/' &&
			(c[1] == '/' ||
				(c[1] == '.' && (!c[2] || c[2] == '/' ||
							(c[2] == '.' && (!c[3] || c[3] == '/'))))))
			return false;
	}
	return true;
}

const char *dav_answer_path(const char *href, const char *origin, struct arena *a)
{
	const size_t len = strlen(origin);

	while (*href == ' ' || *href == '\n' || *href == '\r' || *href == '\t')
		href++;
	if (strncasecmp(href, origin, len) == 0 && href[len] == '/')
		href += len;
	else if (strncmp(href, "http", 4) == 0) {
		/* The same without the port, where that is the usual one. */
		const char *port = strrchr(origin, ':');
		const size_t bare = (size_t)(port - origin);

		if (strcmp(port, strncmp(origin, "https", 5) == 0 ? ":443" : ":80") != 0 ||
			strncasecmp(href, origin, bare) != 0 || href[bare] != '/')
			return NULL;
		href += bare;
	}
	if (!dav_path_is_plain(href))
		return NULL;
	return arena_strdup(a, href);
}
