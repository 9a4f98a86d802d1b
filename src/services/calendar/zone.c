/* SPDX-License-Identifier: Apache-2.0 */
#include "services/calendar/zone.h"

#include <errno.h>
#include <libical/icaltz-util.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/ascii.h"
#include "base/buffer.h"
#include "base/words.h"

/* Those that were looked for; zone NULL: the system has none of that name. */
static struct {
	char *name;
	icaltimezone *zone;
} known[ZONE_KNOWN_MAX];
static size_t n_known;
static icaltimezone *local;

static const char *const utc_names[] = { "UTC", "Etc/UTC", "GMT", "Etc/GMT", "Z", NULL };

/* Europe/Berlin, Etc/GMT+1: nothing that could lead out of the folder of zones. */
static bool zone_is_name(const char *name)
{
	const size_t len = strlen(name);

	if (len == 0 || len >= ZONE_NAME_MAX || name[0] == '/' || name[len - 1] == '/' ||
		strstr(name, "//"))
		return false;
	for (const char *c = name; *c; c++) {
		if (!ascii_is_alnum(*c) && !strchr("_+-/", *c))
			return false;
	}
	return true;
}

static icaltimezone *zone_load(const char *name)
{
	icalcomponent *component = icaltzutil_fetch_timezone(name);
	icaltimezone *zone = component ? icaltimezone_new() : NULL;

	if (zone && icaltimezone_set_component(zone, component))
		return zone;
	if (zone)
		icaltimezone_free(zone, 1);
	if (component)
		icalcomponent_free(component);
	return NULL;
}

icaltimezone *zone_find(const char *name)
{
	if (words_has(utc_names, name))
		return icaltimezone_get_utc_timezone();
	if (!zone_is_name(name))
		return NULL;
	for (size_t i = 0; i < n_known; i++) {
		if (strcmp(known[i].name, name) == 0)
			return known[i].zone;
	}
	if (n_known == ZONE_KNOWN_MAX)
		return NULL;
	known[n_known].name = strdup(name);
	if (!known[n_known].name)
		return NULL;
	known[n_known].zone = zone_load(name);
	return known[n_known++].zone;
}

const char *zone_name(const icaltimezone *zone)
{
	for (size_t i = 0; i < n_known; i++) {
		if (known[i].zone == zone)
			return zone ? known[i].name : NULL;
	}
	return NULL;
}

void zone_set_local(const char *name)
{
	local = name ? zone_find(name) : NULL;
}

icaltimezone *zone_local(void)
{
	return local ? local : icaltimezone_get_utc_timezone();
}

/* "/mozilla.org/20050126_1/Europe/Berlin": the name stands at the end. */
static icaltimezone *zone_find_prefixed(const char *name)
{
	for (int i = 0; i < 6 && name; i++) {
		icaltimezone *zone = zone_find(name);

		if (zone)
			return zone;
		name = strchr(name, '/');
		name = name ? name + 1 : NULL;
	}
	return NULL;
}

/* Rules of a zone: once a year, on one day of one month, as zones really are. */
static bool zone_rule_is_plain(const char *rule)
{
	static const char *const parts[] = { "FREQ", "BYMONTH", "BYDAY", "BYMONTHDAY", "UNTIL",
		"WKST", "INTERVAL", "COUNT", NULL };
	bool yearly = false;
	size_t values = 0;

	for (const char *at = rule; *at;) {
		const size_t len = strcspn(at, ";"), name = strcspn(at, "=");

		if (name >= len || words_find(parts, at, name) < 0)
			return false;
		yearly = yearly || (len == 11 && memcmp(at, "FREQ=YEARLY", 11) == 0);
		for (size_t i = 0; i < len; i++)
			values += at[i] == ',';
		at += len + (at[len] == ';');
	}
	return yearly && values <= 7;
}

/* Whether libical may have this VTIMEZONE: it unfolds all its rules up to our time. */
static bool zone_is_bounded(const struct lines *l, uint32_t part)
{
	const struct part *p = &l->parts[part];
	const struct line *first = &l->items[p->first], *last = &l->items[p->last];
	size_t rules = 0;

	if (last->at + last->len - first->at > ZONE_OWN_BYTES)
		return false;
	for (const struct line *line = first; line <= last; line++) {
		if (strcmp(line->name, "RRULE") == 0 &&
			(++rules > ZONE_OWN_RULES || !zone_rule_is_plain(line->value)))
			return false;
	}
	return true;
}

static icaltimezone *zone_read(const struct lines *l, uint32_t part)
{
	const struct part *p = &l->parts[part];
	const struct line *first = &l->items[p->first], *last = &l->items[p->last];
	auto_buffer text = { 0 };
	icalcomponent *component;
	icaltimezone *zone;

	buffer_add(&text, l->source + first->at, last->at + last->len - first->at);
	component = text.failed ? NULL : icalparser_parse_string(buffer_text(&text));
	if (!component)
		return NULL;
	zone = icalcomponent_isa(component) == ICAL_VTIMEZONE_COMPONENT ? icaltimezone_new() : NULL;
	if (zone && icaltimezone_set_component(zone, component))
		return zone;
	if (zone)
		icaltimezone_free(zone, 1);
	icalcomponent_free(component);
	return NULL;
}

static icaltimezone *zone_read_own(struct zones *z, const char *name)
{
	const struct lines *l = z->lines;

	for (size_t i = 0; i < z->n_own; i++) {
		if (strcmp(z->own[i].name, name) == 0)
			return z->own[i].zone;
	}
	if (!l || z->n_own == ZONE_OWN_MAX)
		return NULL;
	for (uint32_t i = 0; i < l->n_parts; i++) {
		const struct line *id = strcmp(l->parts[i].name, "VTIMEZONE") == 0
						? lines_find(l, i, "TZID", NULL)
						: NULL;

		if (id && strcmp(id->value, name) == 0 && zone_is_bounded(l, i)) {
			z->own[z->n_own].name = id->value;
			z->own[z->n_own].zone = zone_read(l, i);
			return z->own[z->n_own++].zone;
		}
	}
	return NULL;
}

icaltimezone *zone_resolve(struct zones *z, const char *name)
{
	icaltimezone *zone = name[0] == '/' ? zone_find_prefixed(name + 1) : zone_find(name);

	return zone ? zone : zone_read_own(z, name);
}

int zone_print(icaltimezone *zone, struct buffer *out)
{
	const char *name = zone_name(zone);
	icalcomponent *given = icaltimezone_get_component(zone);
	icalcomponent *copy = name && given ? icalcomponent_new_clone(given) : NULL;
	icalproperty *id = copy ? icalcomponent_get_first_property(copy, ICAL_TZID_PROPERTY) : NULL;
	char *text = NULL;

	if (id) {
		icalproperty_set_tzid(id, name);
		text = icalcomponent_as_ical_string_r(copy);
	}
	if (copy)
		icalcomponent_free(copy);
	if (!text)
		return -ENOENT;
	buffer_adds(out, text);
	icalmemory_free_buffer(text);
	return out->failed ? -ENOMEM : 0;
}

void zone_deinit(struct zones *z)
{
	for (size_t i = 0; i < z->n_own; i++) {
		if (z->own[i].zone)
			icaltimezone_free(z->own[i].zone, 1);
	}
	*z = (struct zones){ 0 };
}
