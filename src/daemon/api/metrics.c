/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon counts, in the text format of Prometheus 0.0.4. */
#include <inttypes.h>

#include "base/array.h"
#include "daemon/api/metrics.h"
#include "daemon/api/tool.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/watch/security-watch.h"

static void metrics_head(struct buffer *out, const char *name, const char *type, const char *about)
{
	buffer_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, about, name, type);
}

/* One that has no labels. */
static void metrics_one(
	struct buffer *out, const char *name, const char *type, const char *about, uint64_t value)
{
	metrics_head(out, name, type, about);
	buffer_printf(out, "%s %" PRIu64 "\n", name, value);
}

static void metrics_print_findings(const struct supervisor *s, struct buffer *out)
{
	static const char *const severities[] = { "low", "medium", "high" };

	metrics_head(out, "corrald_findings", "gauge", "What the security watcher finds now.");
	for (size_t i = 0; i < ROWS(severities); i++)
		buffer_printf(out, "corrald_findings{severity=\"%s\"} %zu\n", severities[i],
			security_watch_count(s, severities[i]));
	metrics_one(out, "corrald_security_checked_timestamp_seconds", "gauge",
		"When the security watcher looked last; 0: not yet.",
		s->watch.security.checked_ms / 1000);
}

static size_t metrics_tools(const struct supervisor *s)
{
	size_t n = 0;

	for (size_t i = 0; i < TOOLS_MAX; i++)
		n += s->api.tools[i] != NULL;
	return n;
}

void metrics_print(const struct supervisor *s, struct buffer *out)
{
	const struct metrics *m = &s->api.metrics;

	metrics_head(out, "corrald_info", "gauge", "The daemon's version.");
	buffer_printf(out, "corrald_info{version=\"%s\"} 1\n", CORRAL_VERSION);
	metrics_one(out, "corrald_start_time_seconds", "gauge", "When the daemon started.",
		s->started_ms / 1000);
	metrics_one(out, "corrald_sandboxes", "gauge", "Sandboxes that run.", s->peers.n_sandboxes);
	metrics_one(out, "corrald_sandboxes_joined_total", "counter", "Sandboxes that joined.",
		m->joined);
	metrics_head(out, "corrald_sandbox_events_total", "counter", "Events of sandboxes.");
	for (size_t i = 0; i < AUDIT_DECISION_COUNT; i++)
		buffer_printf(out, "corrald_sandbox_events_total{decision=\"%s\"} %" PRIu64 "\n",
			audit_decision_name((enum audit_decision)i), m->decisions[i]);
	metrics_head(out, "corrald_api_requests_total", "counter", "Requests, by status.");
	for (size_t i = 2; i < ROWS(m->requests); i++)
		buffer_printf(out, "corrald_api_requests_total{status=\"%zuxx\"} %" PRIu64 "\n", i,
			m->requests[i]);
	metrics_one(out, "corrald_refused_peers_total", "counter",
		"Processes that tried a socket and were refused.", m->refused_peers);
	metrics_one(out, "corrald_http_starts_total", "counter", "Starts of corrald-http.",
		s->http.n_started);
	metrics_one(out, "corrald_events_total", "counter", "Events that were published.",
		s->bus.next_id - s->bus.first_id);
	metrics_one(out, "corrald_tools", "gauge", "Processes of corral that answer now.",
		metrics_tools(s));
	metrics_one(out, "corrald_audit_records_lost_total", "counter",
		"Records that could not be written.", audit_trail_lost(s->journal.trail));
	metrics_one(out, "corrald_audit_failed", "gauge", "1: the log cannot be written.",
		audit_trail_failure(s->journal.trail) < 0);
	metrics_print_findings(s, out);
}
