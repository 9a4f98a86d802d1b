/* SPDX-License-Identifier: Apache-2.0 */
#include "net/judge.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "policy/baseline.h"
#include "policy/explain.h"

enum { TARGET_BYTES = 320, URL_BYTES = 2048 };

/* Whether the pattern narrows to some requests, as URLs with a path do. */
static bool has_path(const char *pattern)
{
	const char *scheme = strstr(pattern, "://");
	const char *slash = scheme ? strchr(scheme + 3, '/') : NULL;

	return slash && slash[1] != '\0';
}

void judge_init(struct judge *j, const struct policy *p)
{
	*j = (struct judge){ .policy = p };
	for (size_t i = 0; i < policy_layers(p); i++) {
		const struct layer *l = policy_layer(p, i);
		const struct sources *s = &l->sources[OPERATION_NET_CONNECT];

		j->narrow = j->narrow || l->network.methods.n > 0;
		for (size_t k = 0; k < s->n; k++)
			j->narrow = j->narrow ||
				    (s->items[k].methods && s->items[k].methods->n > 0) ||
				    has_path(s->items[k].text);
	}
}

/* "api.example.com:443", "udp://[::1]:53" */
static void print_target(enum transport transport, const char *name, const struct address *a,
	uint16_t port, char out[TARGET_BYTES])
{
	auto_buffer address = { 0 };
	const char *scheme = transport == TRANSPORT_UDP ? "udp://" : "";
	bool brackets = !name && a->bits == 128;

	if (!name)
		address_print(a, &address);
	(void)snprintf(out, TARGET_BYTES, "%s%s%s%s:%u", scheme, brackets ? "[" : "",
		name ? name : buffer_text(&address), brackets ? "]" : "", port);
}

static void copy(char *out, size_t size, const struct buffer *text)
{
	(void)snprintf(out, size, "%s", buffer_text(text));
}

static void explain(const struct request *r, const struct decision *d, struct judgement *ret)
{
	auto_buffer rule = { 0 }, reason = { 0 }, remedy = { 0 };

	explain_rule(d, &rule);
	explain_reason(r, d, &reason);
	explain_remedy(r, d, &remedy);
	copy(ret->rule, sizeof(ret->rule), &rule);
	copy(ret->reason, sizeof(ret->reason), &reason);
	copy(ret->remedy, sizeof(ret->remedy), &remedy);
}

static void begin(const struct destination *d, struct judgement *ret)
{
	ret->allowed = false;
	ret->rule[0] = ret->reason[0] = ret->remedy[0] = '\0';
	print_target(d->transport, d->name, &d->address, d->port, ret->target);
}

bool judge_refuse(const struct destination *d, struct judgement *ret, const char *format, ...)
{
	va_list args;

	begin(d, ret);
	va_start(args, format);
	(void)vsnprintf(ret->reason, sizeof(ret->reason), format, args);
	va_end(args);
	return false;
}

static bool allow(struct judgement *ret)
{
	ret->allowed = true;
	return true;
}

bool judge_destination(const struct judge *j, const struct destination *d, struct judgement *ret)
{
	const struct request r = { .op = OPERATION_NET_CONNECT, .target = ret->target };
	struct decision decision;

	begin(d, ret);
	if (policy_decide(j->policy, &r, &decision) == 0 && decision.verdict == VERDICT_ALLOW)
		return allow(ret);
	explain(&r, &decision, ret);
	return false;
}

/*
 * Not whether something grants it (that is the name's matter), but whether anything forbids it: the
 * baseline, or a rule of any layer.
 */
static bool is_forbidden(const struct judge *j, const struct request *r, struct judgement *ret)
{
	struct decision d;

	if (policy_decide(j->policy, r, &d) < 0 || d.why == DECISION_BASELINE) {
		explain(r, &d, ret);
		return true;
	}
	for (size_t i = 0; i < policy_layers(j->policy); i++) {
		if (policy_decide_layer(j->policy, i, r, &d) == 0 &&
			(d.verdict == VERDICT_ALLOW || d.why != DECISION_RULE))
			continue;
		explain(r, &d, ret);
		return true;
	}
	return false;
}

static bool is_allowed(const struct judge *j, const struct request *r, struct decision *d)
{
	return policy_decide(j->policy, r, d) == 0 && d->verdict == VERDICT_ALLOW;
}

/* Private places need a grant of their own, whatever name leads there. */
static bool is_guarded(const char *target)
{
	struct host_request host;

	return host_request_parse(&host, target, NULL) < 0 || baseline_guard(&host) != NULL;
}

/* In front of the reason: what it was that the granted name led to. */
static bool blame(const struct destination *d, const char *what, struct judgement *ret)
{
	char reason[sizeof(ret->reason)];

	memcpy(reason, ret->reason, sizeof(reason));
	(void)snprintf(ret->reason, sizeof(ret->reason), "%.140s leads to %.120s: %.200s",
		d->name ? d->name : "it", what, reason);
	return false;
}

bool judge_answer(const struct judge *j, const struct destination *d, const struct address *a,
	struct judgement *ret)
{
	const struct address plain = address_plain(a);
	char target[TARGET_BYTES];
	const struct request r = { .op = OPERATION_NET_CONNECT, .target = target };
	struct decision decision;

	begin(d, ret);
	print_target(d->transport, NULL, &plain, d->port, target);
	if (is_allowed(j, &r, &decision))
		return allow(ret);
	/* A literal address, too, is only dialled if it was granted itself. */
	if (!d->name || is_guarded(target)) {
		explain(&r, &decision, ret);
		return blame(d, target, ret);
	}
	return is_forbidden(j, &r, ret) ? blame(d, target, ret) : allow(ret);
}

bool judge_alias(const struct judge *j, const struct destination *d, const char *alias,
	struct judgement *ret)
{
	char target[TARGET_BYTES];
	const struct request r = { .op = OPERATION_NET_CONNECT, .target = target };

	begin(d, ret);
	print_target(d->transport, alias, NULL, d->port, target);
	return is_forbidden(j, &r, ret) ? blame(d, target, ret) : allow(ret);
}

/* The host in "https://*.example.com:443/x" has a star. */
static bool is_wild(const char *pattern)
{
	const char *scheme = strstr(pattern, "://");
	const char *host = scheme ? scheme + 3 : pattern;

	return memchr(host, '*', strcspn(host, "/:")) != NULL;
}

/* One layer that grants exactly this name is enough: the others can only take away from that. */
static bool is_exact(const struct judge *j, const struct destination *d)
{
	char target[TARGET_BYTES];
	const struct request r = { .op = OPERATION_NET_CONNECT, .target = target };

	if (!d->name)
		return true;
	print_target(d->transport, d->name, &d->address, d->port, target);
	for (size_t i = 0; i < policy_layers(j->policy); i++) {
		struct decision decision;

		if (policy_decide_layer(j->policy, i, &r, &decision) == 0 &&
			decision.verdict == VERDICT_ALLOW && decision.why == DECISION_RULE &&
			decision.source && !is_wild(decision.source->text))
			return true;
	}
	return false;
}

bool judge_nameless(
	const struct judge *j, const struct destination *d, const char *what, struct judgement *ret)
{
	if (!is_exact(j, d)) {
		(void)judge_refuse(d, ret, "%s, and only a pattern grants %s", what, d->name);
		(void)snprintf(ret->remedy, sizeof(ret->remedy),
			"grant it by its full name: %.200s", ret->target);
		return false;
	}
	begin(d, ret);
	return allow(ret);
}

/* Somebody speaks of another name on a connection to d. */
static bool judge_name(const struct judge *j, const struct destination *d, const char *what,
	const char *name, struct judgement *ret)
{
	if (!d->name)
		return judge_alias(j, d, name, ret);
	begin(d, ret);
	if (strcmp(name, d->name) == 0)
		return allow(ret);
	(void)judge_refuse(
		d, ret, "%s asks for %.100s, but the connection is to %.100s", what, name, d->name);
	(void)snprintf(ret->remedy, sizeof(ret->remedy),
		"grant %.100s:%u too, and connect to it by its name", name, d->port);
	return false;
}

bool judge_hello(const struct judge *j, const struct destination *d, const struct tls_hello *hello,
	struct judgement *ret)
{
	if (!hello->has_name)
		return judge_nameless(j, d, "TLS without a server name", ret);
	return judge_name(j, d, "TLS", hello->name, ret);
}

/* Of a URL that the policy can read. */
static bool judge_url(const struct judge *j, const struct destination *d,
	const struct http_request *http, struct judgement *ret)
{
	char target[TARGET_BYTES], url[URL_BYTES];
	const struct request r = {
		.op = OPERATION_NET_CONNECT, .target = url, .method = http->method
	};
	struct decision decision;
	int n;

	print_target(TRANSPORT_TCP, d->name, &d->address, d->port, target);
	n = snprintf(
		url, sizeof(url), "http://%s%s", target, http->path[0] == '/' ? http->path : "/");
	if (n < 0 || (size_t)n >= sizeof(url))
		return judge_refuse(
			d, ret, "the request's path is too long to be compared with the rules");
	begin(d, ret);
	if (is_allowed(j, &r, &decision))
		return allow(ret);
	explain(&r, &decision, ret);
	return false;
}

static bool is_literal(const char *host)
{
	struct address a;

	return host[0] == '[' || address_parse_loose(host, strlen(host), &a) != -EINVAL;
}

bool judge_http(const struct judge *j, const struct destination *d, const struct http_request *r,
	struct judgement *ret)
{
	bool allowed;

	if (r->port != 0 && r->port != d->port)
		return judge_refuse(d, ret,
			"HTTP asks for port %u, but the connection is to port %u", r->port,
			d->port);
	if (r->host[0] == '\0')
		allowed = judge_nameless(j, d, "HTTP without a host", ret);
	else if (!d->name && is_literal(r->host)) {
		begin(d, ret);
		allowed = allow(ret);
	} else
		allowed = judge_name(j, d, "HTTP", r->host, ret);
	/* Other protocols on the same connection, which can name any host. */
	if (allowed && r->upgrade && strcmp(r->upgrade_to, "websocket") != 0)
		allowed = judge_nameless(j, d, "HTTP changes to another protocol", ret);
	return allowed && j->narrow ? judge_url(j, d, r, ret) : allowed;
}
