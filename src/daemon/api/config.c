/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration: what is in force, and changes to its file. The daemon's own file is the one
 * that it reads itself (daemon/config.h); what comes by the API are values of the table's rows.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "codec/json-writer.h"
#include "codec/json.h"
#include "daemon/api/api.h"
#include "daemon/api/tool.h"
#include "daemon/supervisor/journal.h"
#include "daemon/supervisor/supervisor.h"

/* As members of a map. */
static void api_config_print(const struct supervisor *s, struct json_writer *w)
{
	const struct config *f = &s->config;

	json_put_text(w, "file", f->source[0] ? f->source : NULL);
	json_open_map(w, "daemon");
	if (f->no_port)
		json_put_text(w, "port", "none");
	else
		json_put_count(w, "port", f->port);
	json_put_text(w, "host", f->is_v6 ? "::1" : "127.0.0.1");
	json_put_text(w, "logLevel", config_level_name(f->level));
	json_put_count(w, "heartbeat", f->heartbeat_ms / 1000);
	json_put_count(w, "watch", f->watch_ms / 1000);
	json_put_text(w, "mode", f->has_mode ? config_mode_name(f->mode) : NULL);
	json_put_text(w, "logFile", f->log_file[0] ? f->log_file : NULL);
	json_open_list(w, "skills");
	for (const char *path = f->skills; *path; path += strlen(path) + 1)
		json_put_text(w, NULL, path);
	json_close(w);
	json_close(w);
}

void api_config(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	auto_buffer json = { 0 };
	struct json_writer w = { .out = &json };

	(void)c;
	json_open_map(&w, NULL);
	api_config_print(s, &w);
	json_end_line(&w);
	api_send(s, id, &json);
}

/* What counts at once is taken from what was read; the rest waits for the next start. */
static bool api_config_apply(struct supervisor *s, const char *key, const struct config *now)
{
	if (strcmp(key, "mode") == 0) {
		s->config.has_mode = now->has_mode;
		s->config.mode = now->mode;
	} else if (strcmp(key, "logLevel") == 0) {
		s->config.level = now->level;
	} else if (strcmp(key, "watch") == 0) {
		s->config.watch_ms = now->watch_ms;
	} else {
		return false;
	}
	return true;
}

static void api_config_put_keys(struct json_writer *w, const char *name,
	const struct config_change *changes, size_t n, const bool *are, bool wanted)
{
	json_open_list(w, name);
	for (size_t i = 0; i < n; i++)
		if (are[i] == wanted)
			json_put_text(w, NULL, changes[i].key);
	json_close(w);
}

static void api_config_tell(struct supervisor *s, uint64_t id, const struct config_change *changes,
	size_t n, const struct config *now)
{
	bool at_once[CONFIG_CHANGES_MAX];
	auto_buffer json = { 0 };
	struct json_writer w = { .out = &json };

	(void)snprintf(s->config.source, sizeof(s->config.source), "%s", now->source);
	for (size_t i = 0; i < n; i++)
		at_once[i] = api_config_apply(s, changes[i].key, now);
	json_open_map(&w, NULL);
	json_put_flag(&w, "success", true);
	api_config_print(s, &w);
	json_open_map(&w, "config");
	api_config_print(s, &w);
	json_close(&w);
	api_config_put_keys(&w, "at_once", changes, n, at_once, true);
	api_config_put_keys(&w, "at_next_start", changes, n, at_once, false);
	json_end_line(&w);
	journal_record(s, &(struct audit_event){ .action = AUDIT_POLICY,
				  .program = "corrald",
				  .target = s->config.source,
				  .decision = AUDIT_ALLOWED,
				  .reason = "PUT /api/config",
				  .exact = true });
	api_send(s, id, &json);
}

/* daemon.json or daemon.yaml of the folder: the one that runs read the mode from. */
static bool api_config_is_found(const struct supervisor *s, const char *file)
{
	const size_t len = s->config_folder.len;

	return len && strncmp(file, buffer_text(&s->config_folder), len) == 0 &&
	       (strcmp(file + len, "/daemon.json") == 0 || strcmp(file + len, "/daemon.yaml") == 0);
}

/* The answer to {"policies": …}: the configuration with them. policies: as they were given. */
static void api_config_shape(struct supervisor *s, const char *policies, struct buffer *text)
{
	auto_buffer json = { 0 };
	struct json_writer w = { .out = &json };

	json_open_map(&w, NULL);
	json_put_flag(&w, "success", true);
	json_open_map(&w, "config");
	api_config_print(s, &w);
	json_put_raw(&w, "policies", policies);
	json_close(&w);
	json_open_list(&w, "at_once");
	json_put_text(&w, NULL, "policies");
	json_close(&w);
	json_open_list(&w, "at_next_start");
	json_end_line(&w);
	buffer_deinit(text);
	*text = json;
	json = (struct buffer){ 0 };
}

/* Any other map would be read as Corral's permissions, and one without any stops every run. */
static bool api_config_is_rules(const char *policies)
{
	static const char *const keys[] = { "version", "rules", "defaultAction" };
	auto_document d = { 0 };
	bool found = false;

	if (json_read(&d, NULL, policies, strlen(policies), NULL) < 0)
		return false;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		found = found || node_get(d.root, keys[i]);
	return found;
}

/* AgenShield's {"policies": …} is the stored policy `default`, which `corral policy` checks. */
static void api_config_put_policies(
	struct supervisor *s, uint64_t id, const struct route_call *c, const char *policies)
{
	static const char *const user[] = { "policy", "save", "--json", "--", "default", "-",
		NULL };
	static const char *const system[] = { "policy", "save", "--json", "--system", "--",
		"default", "-", NULL };

	for (size_t i = 0; c->route->fields[i].name; i++) {
		if (c->values[i] && c->values[i] != policies) {
			api_fail(s, id, 400,
				"policies are stored in a file of their own: give them without "
				"other keys");
			return;
		}
	}
	if (!api_config_is_rules(policies)) {
		api_fail(s, id, 422,
			"policies are not AgenShield's rules: none of version, rules and "
			"defaultAction is in them; PUT /api/policies/NAME stores permissions");
		return;
	}
	tool_start(s, c,
		&(struct tool_request){ .argv = s->is_system ? system : user,
			.input = policies,
			.refuses = true,
			.record = "PUT /api/config: policies",
			.shape = api_config_shape,
			.subject = policies,
			.id = id });
}

void api_config_put(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	const char *policies = route_value(c, "policies");
	struct config_change changes[CONFIG_CHANGES_MAX];
	char file[PATH_BYTES];
	struct config now;
	struct error e = { 0 };
	size_t n = 0;
	int r;

	if (policies) {
		api_config_put_policies(s, id, c, policies);
		return;
	}
	for (size_t i = 0; i < CONFIG_CHANGES_MAX && c->route->fields[i].name; i++)
		if (c->values[i])
			changes[n++] =
				(struct config_change){ c->route->fields[i].name, c->values[i] };
	if (n == 0 || (!s->config.source[0] && !s->config_folder.len)) {
		api_fail(s, id, 400,
			n ? "there is no place for a configuration: HOME is not set"
			  : "no key to change was given");
		return;
	}
	if (snprintf(file, sizeof(file), "%s%s",
		    s->config.source[0] ? s->config.source : buffer_text(&s->config_folder),
		    s->config.source[0] ? "" : "/daemon.json") >= PATH_BYTES) {
		api_fail(s, id, 500, "the name of the configuration file is too long");
		return;
	}
	if (route_value(c, "mode") && !api_config_is_found(s, file)) {
		api_fail(s, id, 409,
			"runs read the mode from daemon.json in the configuration folder, and this "
			"daemon was started with another file");
		return;
	}
	r = config_write(file, s->is_system ? 0644 : 0600, changes, n, &now, &e);
	if (r < 0)
		api_fail(s, id, r == -EINVAL ? 422 : 500, e.text);
	else
		api_config_tell(s, id, changes, n, &now);
}
