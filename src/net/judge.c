/* SPDX-License-Identifier: Apache-2.0 */
#include "net/judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/words.h"
#include "policy/baseline.h"
#include "policy/explain.h"

enum { TARGET_BYTES = 320, URL_BYTES = 2048 };

/* Whether a pattern narrows to some requests, as URLs with a path do. */
static bool judge_is_about_paths(const struct source *s)
{
	static const char *const all[] = { "/", "/*", "/**", NULL };

	for (size_t i = 0; i < s->grant->n; i++) {
		const char *scheme = strstr(s->grant->all[i], "://");
		const char *slash = scheme ? strchr(scheme + 3, '/') : NULL;

		if (slash && !words_has(all, slash))
			return true;
	}
	return false;
}

static bool judge_is_about_requests(const struct source *s)
{
	return (s->in->methods && s->in->methods->n > 0) || judge_is_about_paths(s);
}

void judge_init(struct net_judge *j, const struct policy *p)
{
	*j = (struct net_judge){ .policy = p, .watching = policy_layers(p) > 0 };
	for (size_t i = 0; i < policy_layers(p); i++) {
		const struct layer *l = policy_layer(p, i);
		const struct sources *s = &l->sources[OPERATION_NET_CONNECT];

		j->watching = j->watching && l->mode != MODE_ENFORCE;
		j->narrow = j->narrow || l->network.methods.n > 0;
		for (size_t k = 0; k < s->n; k++) {
			const struct source *source = &s->items[k];

			j->narrow =
				j->narrow || (source->in->methods && source->in->methods->n > 0);
			j->paths = j->paths || judge_is_about_paths(source);
		}
	}
	j->narrow = j->narrow || j->paths;
}

/* "api.example.com:443", "udp://[::1]:53"; a is only asked for where there is no name. */
static void judge_print_target(enum transport transport, const char *name, const struct address *a,
	uint16_t port, char out[TARGET_BYTES])
{
	auto_buffer address = { 0 };
	const char *scheme = transport == TRANSPORT_UDP ? "udp://" : "";
	bool brackets = !name && a && a->bits == 128;

	if (!name && a) {
		address_print(a, &address);
		name = buffer_text(&address);
	}
	(void)snprintf(out, TARGET_BYTES, "%s%s%s%s:%u", scheme, brackets ? "[" : "",
		name ? name : "", brackets ? "]" : "", port);
}

/* A refusal by the policy; always false. */
static bool judge_explain(
	const struct request *r, const struct decision *d, struct net_judgement *ret)
{
	auto_buffer rule = { 0 }, reason = { 0 }, remedy = { 0 };

	explain_rule(d, &rule);
	explain_reason(r, d, &reason);
	explain_remedy(r, d, &remedy);
	(void)snprintf(ret->rule, sizeof(ret->rule), "%s", buffer_text(&rule));
	(void)snprintf(ret->reason, sizeof(ret->reason), "%s", buffer_text(&reason));
	(void)snprintf(ret->remedy, sizeof(ret->remedy), "%s", buffer_text(&remedy));
	return false;
}

static void judge_begin(const struct destination *d, struct net_judgement *ret)
{
	ret->allowed = ret->asks = false;
	ret->rule[0] = ret->reason[0] = ret->remedy[0] = '\0';
	judge_print_target(d->transport, d->name, &d->address, d->port, ret->target);
}

bool judge_refuse(const struct destination *d, struct net_judgement *ret, const char *format, ...)
{
	va_list args;

	judge_begin(d, ret);
	va_start(args, format);
	(void)vsnprintf(ret->reason, sizeof(ret->reason), format, args);
	va_end(args);
	return false;
}

void judge_revoke(struct net_judgement *j)
{
	char reason[sizeof(j->reason)];

	memcpy(reason, j->reason, sizeof(reason));
	(void)snprintf(j->reason, sizeof(j->reason), "the grant was revoked: %.480s", reason);
}

static bool judge_is_allowed(const struct net_judge *j, const struct request *r, struct decision *d)
{
	return policy_decide(j->policy, r, d) == 0 && d->verdict == VERDICT_ALLOW;
}

static bool judge_allow(struct net_judgement *ret)
{
	ret->allowed = true;
	return true;
}

/* Whether a rule is about d, too. */
static bool judge_is_about(const struct source *s, const struct destination *d)
{
	char target[TARGET_BYTES];
	struct host_request host;
	auto_arena scratch = { 0 };

	judge_print_target(d->transport, d->name, &d->address, d->port, target);
	if (!s || host_request_parse(&host, target, NULL) < 0)
		return false;
	for (size_t i = 0; i < s->grant->n; i++) {
		struct host_pattern p;

		if (host_pattern_parse(&p, &scratch, s->grant->all[i], NULL, NULL) < 0 ||
			!host_pattern_matches(&p, &host))
			return false;
	}
	return true;
}

/* Whether it is that rule. One about some methods or paths asked about no connection. */
static bool judge_asks_by(const struct decision *decision, const char *agreed)
{
	const struct source *s = decision->source;
	auto_buffer rule = { 0 };

	if (decision->verdict != VERDICT_ASK || (s && judge_is_about_requests(s)))
		return false;
	explain_rule(decision, &rule);
	return !rule.failed && strcmp(buffer_text(&rule), agreed) == 0;
}

/* Whether a rule asks about d as it is, whatever is requested of it. */
static bool judge_asks_about(const struct decision *decision, const struct destination *d)
{
	const struct source *s = decision->source;

	return decision->verdict == VERDICT_ASK && judge_is_about(s, d) &&
	       !judge_is_about_requests(s);
}

/*
 * The user agreed to d, and what is in the way is the very rule that asked; in other layers, at
 * most one that asks the same.
 */
static bool judge_is_agreed(const struct net_judge *j, const struct destination *d,
	const struct request *r, const struct decision *decision)
{
	struct decision own;

	if (!d->agreed || !judge_asks_by(decision, d->agreed))
		return false;
	for (size_t i = 0; decision->n_deny > 1 && i < policy_layers(j->policy); i++)
		if (policy_decide_layer(j->policy, i, r, &own) != 0 ||
			!(own.verdict == VERDICT_ALLOW || judge_asks_by(&own, d->agreed) ||
				judge_asks_about(&own, d)))
			return false;
	return true;
}

bool judge_destination(
	const struct net_judge *j, const struct destination *d, struct net_judgement *ret)
{
	const struct request r = { .op = OPERATION_NET_CONNECT, .target = ret->target };
	struct decision decision;

	judge_begin(d, ret);
	if (judge_is_allowed(j, &r, &decision) || judge_is_agreed(j, d, &r, &decision))
		return judge_allow(ret);
	ret->asks = decision.verdict == VERDICT_ASK;
	return judge_explain(&r, &decision, ret);
}

/* Whether a target names the very address that d is. `localhost` is 127.0.0.1 and ::1. */
static bool judge_is_itself(const struct destination *d, const char *target)
{
	static const struct address local[] = { { .bits = 32, .bytes = { 127, 0, 0, 1 } },
		{ .bits = 128, .bytes = { [15] = 1 } } };
	const struct address plain = address_plain(&d->address);
	struct host_request host;

	if (d->name || host_request_parse(&host, target, NULL) < 0)
		return false;
	if (host.is_address)
		return address_equal(&host.address, &plain);
	return strcmp(host.name, "localhost") == 0 &&
	       (address_equal(&plain, &local[0]) || address_equal(&plain, &local[1]));
}

/*
 * Not whether something grants it (that is the name's matter), but whether anything forbids it: the
 * baseline, or a rule of any layer. A rule that asks about `to` as well was answered by what
 * granted that, or by the user who agreed to it. One who agreed to an address did so for no name
 * but its own.
 */
static bool judge_is_forbidden(const struct net_judge *j, const struct destination *to,
	const struct request *r, struct net_judgement *ret)
{
	struct decision d;

	if (policy_decide(j->policy, r, &d) < 0 || d.why == DECISION_BASELINE)
		return !judge_explain(r, &d, ret);
	for (size_t i = 0; i < policy_layers(j->policy); i++) {
		if (policy_decide_layer(j->policy, i, r, &d) != 0)
			return !judge_explain(r, &d, ret);
		if (d.verdict == VERDICT_ALLOW || d.why != DECISION_RULE)
			continue;
		if (d.verdict == VERDICT_DENY || !(to->name || judge_is_itself(to, r->target)) ||
			!judge_is_about(d.source, to))
			return !judge_explain(r, &d, ret);
	}
	return false;
}

/* Private places need a grant of their own, whatever name leads there. NULL: it is none. */
static const struct baseline_net *judge_guard(const char *target)
{
	struct host_request host;

	return host_request_parse(&host, target, NULL) < 0 ? NULL : baseline_guard(&host);
}

/*
 * Whether d's name may lead to the guarded address that r asks for: each layer grants the address
 * itself, or lists the name in network.private and has no rule about the address. If not, *missing
 * is the first layer's answer about the name where that is all that is missing.
 */
static bool judge_is_private(const struct net_judge *j, const struct destination *d,
	const struct request *r, struct decision *missing)
{
	char target[TARGET_BYTES];
	const struct request name = {
		.op = OPERATION_NET_CONNECT, .target = target, .to_private = true
	};
	struct decision decision, of_name;
	unsigned n = 0;

	judge_print_target(d->transport, d->name, NULL, d->port, target);
	if (policy_decide(j->policy, r, &decision) < 0 || decision.why == DECISION_BASELINE)
		return false;
	for (size_t i = 0; i < policy_layers(j->policy); i++) {
		if (policy_decide_layer(j->policy, i, r, &decision) < 0 ||
			policy_decide_layer(j->policy, i, &name, &of_name) < 0)
			return false;
		if (decision.verdict == VERDICT_ALLOW)
			continue;
		if (decision.why != DECISION_NO_GRANT && decision.why != DECISION_GUARDED)
			return false;
		if (of_name.verdict != VERDICT_ALLOW && n++ == 0)
			*missing = of_name;
	}
	missing->n_deny = n;
	return n == 0 && policy_layers(j->policy) > 0;
}

/* The line that grants d's name with its private addresses. */
static void judge_suggest_private(
	const struct destination *d, const struct decision *missing, struct net_judgement *ret)
{
	char target[TARGET_BYTES];
	const struct request name = {
		.op = OPERATION_NET_CONNECT, .target = target, .to_private = true
	};
	auto_buffer remedy = { 0 };

	judge_print_target(d->transport, d->name, NULL, d->port, target);
	explain_remedy(&name, missing, &remedy);
	(void)snprintf(ret->remedy, sizeof(ret->remedy), "%s", buffer_text(&remedy));
}

/* In front of the reason: how it came to this target. */
static bool judge_blame(
	struct net_judgement *ret, const char *who, const char *does, const char *what)
{
	char reason[sizeof(ret->reason)];

	memcpy(reason, ret->reason, sizeof(reason));
	(void)snprintf(ret->reason, sizeof(ret->reason), "%.140s %s %.140s: %.200s", who, does,
		what, reason);
	return false;
}

bool judge_answer(const struct net_judge *j, const struct destination *d, const struct address *a,
	struct net_judgement *ret)
{
	const struct address plain = address_plain(a);
	char target[TARGET_BYTES];
	const struct request r = { .op = OPERATION_NET_CONNECT, .target = target };
	const struct baseline_net *guard;
	struct decision decision, missing = { 0 };

	judge_begin(d, ret);
	judge_print_target(d->transport, NULL, &plain, d->port, target);
	if (judge_is_allowed(j, &r, &decision) ||
		(!d->name && judge_is_agreed(j, d, &r, &decision)))
		return judge_allow(ret);
	/* A literal address, too, is only dialled if it was granted itself. */
	if (!d->name)
		return judge_explain(&r, &decision, ret);
	guard = judge_guard(target);
	if (guard ? guard->is_private && judge_is_private(j, d, &r, &missing)
		  : !judge_is_forbidden(j, d, &r, ret))
		return judge_allow(ret);
	if (guard)
		(void)judge_explain(&r, &decision, ret);
	if (guard && decision.why == DECISION_NO_GRANT)
		(void)snprintf(ret->reason, sizeof(ret->reason),
			"%s (%s) requires a grant that names it", baseline_net_text(guard),
			baseline_net_why(guard));
	if (missing.why == DECISION_PRIVATE)
		judge_suggest_private(d, &missing, ret);
	return judge_blame(ret, d->name, "leads to", target);
}

/* Another name that has to do with a connection to d. */
static bool judge_other(const struct net_judge *j, const struct destination *d, const char *who,
	const char *does, const char *name, struct net_judgement *ret)
{
	char target[TARGET_BYTES];
	const struct request r = { .op = OPERATION_NET_CONNECT, .target = target };

	judge_begin(d, ret);
	judge_print_target(d->transport, name, NULL, d->port, target);
	return judge_is_forbidden(j, d, &r, ret) ? judge_blame(ret, who, does, target)
						 : judge_allow(ret);
}

bool judge_alias(const struct net_judge *j, const struct destination *d, const char *alias,
	struct net_judgement *ret)
{
	return judge_other(j, d, d->name ? d->name : "it", "leads to", alias, ret);
}

/* A grant of several patterns is for what all of them match: one that is exact is enough. */
static bool judge_grants_exactly(
	const struct source *s, const struct host_request *host, enum host_kind kind)
{
	auto_arena scratch = { 0 };
	bool exact = false;

	for (size_t i = 0; i < s->grant->n; i++) {
		struct host_pattern p;

		if (host_pattern_parse(&p, &scratch, s->grant->all[i], NULL, NULL) < 0 ||
			!host_pattern_matches(&p, host))
			return false;
		exact = exact || p.kind == kind;
	}
	return exact;
}

/* By a pattern of that kind. One layer is enough: the others can only take away from that. */
static bool judge_is_granted_as(const struct net_judge *j, const char *target, enum host_kind kind)
{
	struct host_request host;

	if (host_request_parse(&host, target, NULL) < 0)
		return false;
	for (size_t i = 0; i < policy_layers(j->policy); i++) {
		const struct sources *s =
			&policy_layer(j->policy, i)->sources[OPERATION_NET_CONNECT];

		for (size_t k = 0; k < s->n; k++)
			if (s->items[k].in->verdict == VERDICT_ALLOW &&
				judge_grants_exactly(&s->items[k], &host, kind))
				return true;
	}
	return false;
}

bool judge_own(const struct net_judge *j, const struct destination *d, const struct address *a,
	struct net_judgement *ret)
{
	const struct address plain = address_plain(a);
	char target[TARGET_BYTES];
	const struct request r = { .op = OPERATION_NET_CONNECT, .target = target };
	struct decision decision;

	judge_begin(d, ret);
	judge_print_target(d->transport, NULL, &plain, d->port, target);
	/* A private one may have passed by its name. */
	if (judge_guard(target) ? judge_is_allowed(j, &r, &decision)
				: j->watching || judge_is_granted_as(j, target, HOST_PREFIX))
		return judge_allow(ret);
	if (!d->name && policy_decide(j->policy, &r, &decision) == 0 &&
		judge_is_agreed(j, d, &r, &decision))
		return judge_allow(ret);
	(void)judge_refuse(d, ret,
		"%.140s is an address of this machine and requires a grant that names it", target);
	(void)snprintf(
		ret->remedy, sizeof(ret->remedy), "add network: {allow: [\"%.200s\"]}", target);
	return false;
}

bool judge_nameless(const struct net_judge *j, const struct destination *d, const char *what,
	struct net_judgement *ret)
{
	judge_begin(d, ret);
	if (!d->name || d->agreed || j->watching || judge_is_granted_as(j, ret->target, HOST_NAME))
		return judge_allow(ret);
	(void)judge_refuse(d, ret, "%s, and %.140s is not granted by its full name", what, d->name);
	(void)snprintf(ret->remedy, sizeof(ret->remedy), "add network: {allow: [\"%.200s\"]}",
		ret->target);
	return false;
}

/* The client asks for a name on a connection to d. */
static bool judge_name(const struct net_judge *j, const struct destination *d, const char *who,
	const char *name, struct net_judgement *ret)
{
	char target[TARGET_BYTES];
	const struct request r = { .op = OPERATION_NET_CONNECT, .target = target };
	struct decision decision;

	if (d->name && strcmp(name, d->name) == 0) {
		judge_begin(d, ret);
		return judge_allow(ret);
	}
	if (!d->name || j->watching)
		return judge_other(j, d, who, "asks for", name, ret);
	judge_print_target(d->transport, name, NULL, d->port, target);
	(void)judge_refuse(
		d, ret, "%s asks for %.100s, but the connection is to %.100s", who, name, d->name);
	(void)snprintf(ret->remedy, sizeof(ret->remedy), "%sconnect to %.110s by name",
		judge_is_allowed(j, &r, &decision) ? "" : "grant it, and ", target);
	return false;
}

bool judge_hello(const struct net_judge *j, const struct destination *d,
	const struct tls_hello *hello, struct net_judgement *ret)
{
	if (!hello->has_name)
		return judge_nameless(j, d, "TLS without a server name", ret);
	return judge_name(j, d, "TLS", hello->name, ret);
}

/* Whether r is a request to d that the user has agreed to, by another word for the address. */
static bool judge_is_agreed_at_host(
	const struct net_judge *j, const struct destination *d, const struct request *r)
{
	struct decision decision;

	return judge_is_itself(d, r->target) && policy_decide(j->policy, r, &decision) == 0 &&
	       decision.verdict >= VERDICT_ASK;
}

static const char *judge_scheme(const struct destination *d)
{
	return d->is_opened ? "https" : "http";
}

/* "." or "..", escaped or not. */
static bool judge_has_dot_segment(const char *path)
{
	while (*path) {
		size_t dots = 0, n;

		path++;
		while ((n = *path == '.' ? 1 : strncasecmp(path, "%2e", 3) == 0 ? 3 : 0) > 0) {
			dots++;
			path += n;
		}
		if ((dots == 1 || dots == 2) && (*path == '/' || *path == '\0'))
			return true;
		path += strcspn(path, "/");
	}
	return false;
}

/*
 * Servers differ in whether these separate folders, or end the name of one, and in whether they
 * take back folders before they choose who serves the request: "/admin/../public" is "/public" to
 * the policy and to one of them, and below "/admin" to another.
 */
static bool judge_is_ambiguous(const char *path)
{
	return strpbrk(path, "\\;") || strstr(path, "//") || strcasestr(path, "%2f") ||
	       strcasestr(path, "%5c") || judge_has_dot_segment(path);
}

/*
 * Of a URL that the policy can read. at_host: on a connection to an address, whether anything
 * forbids the path at the host that it asks for. agreed: by the user, to this request.
 */
static bool judge_url(const struct net_judge *j, const struct destination *d,
	const struct http_request *http, bool at_host, bool agreed, struct net_judgement *ret)
{
	char target[TARGET_BYTES], url[URL_BYTES];
	const struct request r = { .op = OPERATION_NET_CONNECT,
		.target = url,
		.method = http->method,
		.is_opened = d->is_opened };
	struct decision decision;
	int n;

	if (j->paths && judge_is_ambiguous(http->path))
		return judge_refuse(d, ret,
			"a rule depends on the path, and the path of the request is "
			"ambiguous");
	judge_print_target(
		TRANSPORT_TCP, at_host ? http->host : d->name, &d->address, d->port, target);
	n = snprintf(url, sizeof(url), "%s://%s%s", judge_scheme(d), target,
		http->path[0] == '/' ? http->path : "/");
	if (n < 0 || (size_t)n >= sizeof(url))
		return judge_refuse(d, ret,
			"the path of the request is too long to be compared with the "
			"rules");
	judge_begin(d, ret);
	if (at_host ? !judge_is_forbidden(j, d, &r, ret) ||
				(agreed && judge_is_agreed_at_host(j, d, &r))
		    : judge_is_allowed(j, &r, &decision) || judge_is_agreed(j, d, &r, &decision) ||
				(agreed && decision.verdict == VERDICT_ASK))
		return judge_allow(ret);
	if (at_host)
		return judge_blame(ret, "HTTP", "asks for", http->host);
	ret->asks = decision.verdict == VERDICT_ASK;
	if (decision.why == DECISION_BAD_TARGET)
		return judge_refuse(
			d, ret, "the path of the request cannot be compared with the rules");
	return judge_explain(&r, &decision, ret);
}

/* Where only some methods are granted, this one, of the preface of HTTP/2, is not among them. */
bool judge_unseen(const struct net_judge *j, const struct destination *d, const char *what,
	struct net_judgement *ret)
{
	static const struct http_request any = { .method = "PRI", .path = "/" };

	if (!judge_nameless(j, d, what, ret))
		return false;
	if (!j->paths && (!j->narrow || judge_url(j, d, &any, false, false, ret)))
		return true;
	return judge_refuse(d, ret, "%s, so methods and paths cannot be checked", what);
}

static bool judge_request(const struct net_judge *j, const struct destination *d,
	const struct http_request *r, bool agreed, struct net_judgement *ret)
{
	bool allowed;

	if (r->port != 0 && r->port != d->port)
		return judge_refuse(d, ret,
			"HTTP asks for port %u, but the connection is to port %u", r->port,
			d->port);
	allowed = r->host[0] == '\0' ? judge_nameless(j, d, "HTTP without a host", ret)
				     : judge_name(j, d, "HTTP", r->host, ret);
	if (allowed && (j->narrow || d->is_opened))
		allowed = judge_url(j, d, r, false, agreed, ret);
	if (allowed && j->paths && !d->name && r->host[0] != '\0')
		allowed = judge_url(j, d, r, true, agreed, ret);
	/* Other protocols on the same connection, which can name any host. */
	if (allowed && r->upgrade && strcasecmp(r->upgrade_to, "websocket") != 0)
		allowed = judge_unseen(j, d, "HTTP switches to another protocol", ret);
	return allowed;
}

bool judge_http(const struct net_judge *j, const struct destination *d,
	const struct http_request *r, struct net_judgement *ret)
{
	struct net_judgement agreed;

	if (judge_request(j, d, r, false, ret))
		return true;
	/* What the user could not agree to is not asked. */
	ret->asks = ret->asks && judge_request(j, d, r, true, &agreed);
	return false;
}

bool judge_http_agreed(const struct net_judge *j, const struct destination *d,
	const struct http_request *r, struct net_judgement *ret)
{
	return judge_request(j, d, r, true, ret);
}

bool judge_show_request(
	const struct destination *d, const struct http_request *r, char out[NET_REQUEST_BYTES])
{
	char target[TARGET_BYTES];
	int n;

	judge_print_target(d->transport, r->host, NULL, d->port, target);
	if (r->upgrade || r->path[0] != '/' ||
		(!d->name && r->host[0] && !judge_is_itself(d, target)))
		return false;
	judge_print_target(d->transport, d->name, &d->address, d->port, target);
	n = snprintf(out, NET_REQUEST_BYTES, "%s %s://%s%s%s%s", r->method, judge_scheme(d), target,
		r->path, r->query ? "?" : "", r->query ? r->query : "");
	if (n < 0 || n >= NET_REQUEST_BYTES)
		return false;
	/* One space, after the method. */
	for (const char *c = out + strlen(r->method) + 1; *c; c++)
		if (*c <= ' ' || *c >= 0x7f)
			return false;
	return true;
}
