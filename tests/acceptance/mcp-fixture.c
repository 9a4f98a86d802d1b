/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp-fixture TOKENS|-: a server with the tools, resources and prompts that the conformance suite
 * of MCP asks for (its "everything server"), on our core: mcp/server.h behind mcp/web/web.h. It
 * makes the file of tokens, prints its URL, and serves until its input ends. With -, it serves the
 * client on standard input and output.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "codec/json.h"
#include "event/loop.h"
#include "mcp/input.h"
#include "mcp/listen.h"
#include "mcp/web/web.h"

#define IMAGE                                                                                     \
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5" \
	"ErkJggg=="
#define AUDIO "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
#define IMAGE_ITEM "{\"type\":\"image\",\"data\":\"" IMAGE "\",\"mimeType\":\"image/png\"}"
#define TEXT_ITEM(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define MESSAGE(content) "{\"role\":\"user\",\"content\":" content "}"
#define FORM(message, fields, required)                                       \
	"{\"message\":\"" message                                             \
	"\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{" fields \
	"},\"required\":[" required "]}}"
#define SAMPLE(text, tokens) \
	"{\"messages\":[" MESSAGE(TEXT_ITEM(text)) "],\"maxTokens\":" tokens "}"
#define NAME_FORM FORM("What is your name?", "\"name\":{\"type\":\"string\"}", "\"name\"")
#define OK_FORM FORM("Please confirm", "\"ok\":{\"type\":\"boolean\"}", "\"ok\"")
#define NOTHING "{\"type\":\"object\",\"properties\":{}}"
#define ONE_TEXT(name)                                 \
	"{\"type\":\"object\",\"properties\":{\"" name \
	"\":{\"type\":\"string\"}},\"required\":[\"" name "\"]}"

struct fixture {
	struct loop *loop;
	struct web *web;
	struct watcher input;
	struct mcp_asking asking;
	bool is_over;
};

static struct fixture fixture;

typedef void fixture_run(struct mcp_call *c);

struct fixture_tool {
	const char *name, *schema;
	fixture_run *run;
	const char *content; /* of one that says the same each time */
	struct mcp_input_request inputs[3];
};

/* Answers */

static const char *fixture_text(const struct node *n)
{
	return n && n->type == NODE_STRING ? n->text : "unknown";
}

static void fixture_say(struct mcp_call *c, const char *text)
{
	struct mcp_result r = { 0 };

	buffer_adds(&r.text, text);
	mcp_server_answer(c, &r);
}

static const struct fixture_tool *fixture_find(const char *name);

static void fixture_content(struct mcp_call *c)
{
	struct mcp_result r = { 0 };

	buffer_adds(&r.content, fixture_find(c->name)->content);
	mcp_server_answer(c, &r);
}

static void fixture_fail(struct mcp_call *c)
{
	struct mcp_result r = { .is_error = true };

	buffer_adds(&r.text, "This tool intentionally returns an error for testing");
	mcp_server_answer(c, &r);
}

static void fixture_log(struct mcp_call *c)
{
	mcp_feature_log(c, MCP_INFO, "Tool execution started");
	mcp_feature_log(c, MCP_INFO, "Tool processing data");
	mcp_feature_log(c, MCP_INFO, "Tool execution completed");
	fixture_say(c, "done");
}

static void fixture_progress(struct mcp_call *c)
{
	for (uint64_t at = 0; at <= 100; at += 50)
		mcp_server_progress(c, at, "a step");
	fixture_say(c, "done");
}

static void fixture_sampling(struct mcp_call *c)
{
	if (mcp_server_has(c, "sampling"))
		fixture_say(c, "done");
	else
		mcp_server_lacks(c, "sampling");
}

static void fixture_tell_tools(struct mcp_server *s, void *context)
{
	(void)context;
	mcp_listen_changed(s, MCP_TOOLS_CHANGED);
}

static void fixture_tell_prompts(struct mcp_server *s, void *context)
{
	(void)context;
	mcp_listen_changed(s, MCP_PROMPTS_CHANGED);
}

/* All clients; without HTTP there is the one. */
static void fixture_tell(struct mcp_call *c, void (*tell)(struct mcp_server *s, void *context))
{
	if (fixture.web)
		web_each(fixture.web, tell, NULL);
	else
		tell(c->server, NULL);
}

static void fixture_change_tools(struct mcp_call *c)
{
	fixture_tell(c, fixture_tell_tools);
	fixture_say(c, "changed");
}

static void fixture_change_prompts(struct mcp_call *c)
{
	fixture_tell(c, fixture_tell_prompts);
	fixture_say(c, "changed");
}

/* Inputs */

static size_t fixture_inputs(const struct fixture_tool *t)
{
	size_t n = 0;

	while (n < ROWS(t->inputs) && t->inputs[n].key)
		n++;
	return n;
}

/* Until all that its row asks for is there; then it says what came. */
static void fixture_ask_with(struct mcp_call *c, const char *note)
{
	const struct fixture_tool *t = fixture_find(c->name);
	auto_buffer text = { 0 };

	for (size_t i = 0; i < fixture_inputs(t); i++) {
		const struct node *answer = mcp_input_answer(c, t->inputs[i].key);

		if (!answer) {
			mcp_input_ask(c, t->inputs, fixture_inputs(t), note);
			return;
		}
		json_print(&text, answer, JSON_COMPACT);
	}
	fixture_say(c, buffer_text(&text));
}

static void fixture_ask(struct mcp_call *c)
{
	fixture_ask_with(c, NULL);
}

static void fixture_ask_sealed(struct mcp_call *c)
{
	if (mcp_input_note(c))
		fixture_say(c, "state-ok");
	else
		fixture_ask_with(c, "asked");
}

/* A form whose text is an argument; the same for a sample. */
static void fixture_ask_own(struct mcp_call *c)
{
	const bool is_form = strcmp(c->name, "test_elicitation") == 0;
	const struct node *answer = mcp_input_answer(c, "own");
	auto_buffer params = { 0 }, text = { 0 };
	struct json_writer w = { .out = &params };
	const struct mcp_input_request q = { "own",
		is_form ? "elicitation/create" : "sampling/createMessage", NULL };
	struct mcp_input_request asked = q;

	if (answer) {
		json_print(&text, answer, JSON_COMPACT);
		fixture_say(c, buffer_text(&text));
		return;
	}
	json_open_map(&w, NULL);
	if (is_form) {
		json_put_text(&w, "message", fixture_text(node_get(c->arguments, "message")));
		json_put_raw(&w, "requestedSchema", ONE_TEXT("response"));
	} else {
		json_open_list(&w, "messages");
		json_open_map(&w, NULL);
		json_put_text(&w, "role", "user");
		json_open_map(&w, "content");
		json_put_text(&w, "type", "text");
		json_put_text(&w, "text", fixture_text(node_get(c->arguments, "prompt")));
		json_close(&w);
		json_close(&w);
		json_close(&w);
		json_put_number(&w, "maxTokens", 100);
	}
	(void)json_end(&w);
	asked.params = params.data;
	mcp_input_ask(c, &asked, 1, NULL);
}

/* Two forms, one after the other; the note has what the first brought. */
static void fixture_rounds(struct mcp_call *c)
{
	static const struct mcp_input_request rounds[] = {
		{ "step1", "elicitation/create", NAME_FORM },
		{ "step2", "elicitation/create",
			FORM("What is your favorite color?", "\"color\":{\"type\":\"string\"}",
				"\"color\"") },
	};
	const struct node *first = mcp_input_answer(c, "step1"),
			  *second = mcp_input_answer(c, "step2");
	const char *note = mcp_input_note(c);
	char text[MCP_NOTE];

	if (note && strcmp(note, "first") != 0 && second) {
		(void)snprintf(text, sizeof(text), "%s likes %s", note,
			fixture_text(node_get(node_get(second, "content"), "color")));
		fixture_say(c, text);
	} else if (note && first) {
		mcp_input_ask(c, &rounds[1], 1,
			fixture_text(node_get(node_get(first, "content"), "name")));
	} else {
		mcp_input_ask(c, &rounds[0], 1, "first");
	}
}

/* What the client can do, and nothing else. */
static void fixture_capable(struct mcp_call *c)
{
	static const struct mcp_input_request requests[] = {
		{ "form", "elicitation/create", NAME_FORM },
		{ "sample", "sampling/createMessage", SAMPLE("Sample request", "50") },
	};
	struct mcp_input_request asked[2];
	size_t n = 0;

	if (mcp_input_answer(c, "form") || mcp_input_answer(c, "sample")) {
		fixture_say(c, "capabilities-ok");
		return;
	}
	if (mcp_server_has(c, "elicitation"))
		asked[n++] = requests[0];
	if (mcp_server_has(c, "sampling"))
		asked[n++] = requests[1];
	if (n)
		mcp_input_ask(c, asked, n, "asked");
	else
		fixture_say(c, "nothing can be asked");
}

/* Tools */

static const char defaults[] = FORM("Please review and update the form fields with defaults",
	"\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
	"\"age\":{\"type\":\"integer\",\"default\":30},"
	"\"score\":{\"type\":\"number\",\"default\":95.5},"
	"\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\",\"pending\"],"
	"\"default\":\"active\"},"
	"\"verified\":{\"type\":\"boolean\",\"default\":true}",
	"");
static const char enums[] = FORM("Please select options from the enum fields",
	"\"untitledSingle\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\",\"option3\"]},"
	"\"titledSingle\":{\"type\":\"string\",\"oneOf\":[{\"const\":\"value1\",\"title\":\"First "
	"Option\"},{\"const\":\"value2\",\"title\":\"Second "
	"Option\"},{\"const\":\"value3\",\"title\":\"Third Option\"}]},"
	"\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],"
	"\"enumNames\":[\"Option One\",\"Option Two\",\"Option Three\"]},"
	"\"untitledMulti\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":3,\"items\":{\"type\":"
	"\"string\",\"enum\":[\"option1\",\"option2\",\"option3\"]}},"
	"\"titledMulti\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":3,\"items\":{\"anyOf\":["
	"{\"const\":\"value1\",\"title\":\"First Choice\"},{\"const\":\"value2\",\"title\":"
	"\"Second "
	"Choice\"},{\"const\":\"value3\",\"title\":\"Third Choice\"}]}}",
	"");
static const char schema_2020[] =
	"{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","
	"\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":{"
	"\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},"
	"\"properties\":{\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"},"
	"\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"
	"\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"
	"\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"
	"\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},\"required\":["
	"\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]},\"else\":{\"required\":["
	"\"email\"]},\"additionalProperties\":false}";

#define INPUT "test_input_required_result_"

static const struct fixture_tool tools[] = {
	{ "test_simple_text", NOTHING, fixture_content,
		"[" TEXT_ITEM("This is a simple text response for testing.") "]", { { 0 } } },
	{ "test_image_content", NOTHING, fixture_content, "[" IMAGE_ITEM "]", { { 0 } } },
	{ "test_audio_content", NOTHING, fixture_content,
		"[{\"type\":\"audio\",\"data\":\"" AUDIO "\",\"mimeType\":\"audio/wav\"}]",
		{ { 0 } } },
	{ "test_embedded_resource", NOTHING, fixture_content,
		"[{\"type\":\"resource\",\"resource\":{\"uri\":\"test://embedded-resource\","
		"\"mimeType\":\"text/plain\",\"text\":\"This is an embedded resource "
		"content.\"}}]",
		{ { 0 } } },
	{ "test_multiple_content_types", NOTHING, fixture_content,
		"[" TEXT_ITEM(
			"Multiple content types test:") "," IMAGE_ITEM
							",{\"type\":\"resource\",\"resource\":{"
							"\"uri\":\"test://mixed-content-resource\","
							"\"mimeType\":\"application/"
							"json\",\"text\":\"{\\\"value\\\":123}\"}}"
							"]",
		{ { 0 } } },
	{ "test_tool_with_logging", NOTHING, fixture_log, NULL, { { 0 } } },
	{ "test_logging_tool", NOTHING, fixture_log, NULL, { { 0 } } },
	{ "test_tool_with_progress", NOTHING, fixture_progress, NULL, { { 0 } } },
	{ "test_streaming_elicitation", NOTHING, fixture_progress, NULL, { { 0 } } },
	{ "test_error_handling", NOTHING, fixture_fail, NULL, { { 0 } } },
	{ "test_sampling", ONE_TEXT("prompt"), fixture_ask_own, NULL, { { 0 } } },
	{ "test_elicitation", ONE_TEXT("message"), fixture_ask_own, NULL, { { 0 } } },
	{ "test_elicitation_sep1034_defaults", NOTHING, fixture_ask, NULL,
		{ { "form", "elicitation/create", defaults } } },
	{ "test_elicitation_sep1330_enums", NOTHING, fixture_ask, NULL,
		{ { "form", "elicitation/create", enums } } },
	{ "json_schema_2020_12_tool", schema_2020, fixture_content, "[" TEXT_ITEM("called") "]",
		{ { 0 } } },
	{ "test_missing_capability", NOTHING, fixture_sampling, NULL, { { 0 } } },
	{ "test_trigger_tool_change", NOTHING, fixture_change_tools, NULL, { { 0 } } },
	{ "test_trigger_prompt_change", NOTHING, fixture_change_prompts, NULL, { { 0 } } },
	{ INPUT "elicitation", NOTHING, fixture_ask, NULL,
		{ { "user_name", "elicitation/create", NAME_FORM } } },
	{ INPUT "sampling", NOTHING, fixture_ask, NULL,
		{ { "sample_request", "sampling/createMessage",
			SAMPLE("What is the capital of France?", "100") } } },
	{ INPUT "list_roots", NOTHING, fixture_ask, NULL,
		{ { "roots_request", "roots/list", NULL } } },
	{ INPUT "request_state", NOTHING, fixture_ask_sealed, NULL,
		{ { "confirm", "elicitation/create", OK_FORM } } },
	{ INPUT "tampered_state", NOTHING, fixture_ask_sealed, NULL,
		{ { "confirm", "elicitation/create", OK_FORM } } },
	{ INPUT "multiple_inputs", NOTHING, fixture_ask_sealed, NULL,
		{ { "user_name", "elicitation/create", NAME_FORM },
			{ "greeting", "sampling/createMessage",
				SAMPLE("Generate a greeting", "50") },
			{ "client_roots", "roots/list", NULL } } },
	{ INPUT "multi_round", NOTHING, fixture_rounds, NULL, { { 0 } } },
	{ INPUT "capabilities", NOTHING, fixture_capable, NULL, { { 0 } } },
};

static const struct fixture_tool *fixture_find(const char *name)
{
	for (size_t i = 0; i < ROWS(tools); i++)
		if (strcmp(tools[i].name, name) == 0)
			return &tools[i];
	return NULL;
}

static bool fixture_has(void *context, const char *name)
{
	(void)context;
	return fixture_find(name);
}

static void fixture_print_tools(void *context, struct json_writer *w, const char *key)
{
	(void)context;
	json_open_list(w, key);
	for (size_t i = 0; i < ROWS(tools); i++) {
		json_open_map(w, NULL);
		json_put_text(w, "name", tools[i].name);
		json_put_text(w, "description", "A tool of the conformance suite.");
		json_put_raw(w, "inputSchema", tools[i].schema);
		json_close(w);
	}
	json_close(w);
}

/* Resources */

static void fixture_print_resources(void *context, struct json_writer *w, const char *key)
{
	(void)context;
	json_put_raw(w, key,
		"[{\"uri\":\"test://static-text\",\"name\":\"static-text\",\"mimeType\":\"text/"
		"plain\"},{\"uri\":\"test://static-binary\",\"name\":\"static-binary\","
		"\"mimeType\":\"image/png\"},{\"uri\":\"test://watched-resource\",\"name\":"
		"\"watched-resource\",\"mimeType\":\"text/plain\"}]");
}

static void fixture_print_templates(void *context, struct json_writer *w, const char *key)
{
	(void)context;
	json_put_raw(w, key,
		"[{\"uriTemplate\":\"test://template/{id}/"
		"data\",\"name\":\"template\",\"mimeType\":"
		"\"application/json\"}]");
}

static int fixture_read(void *context, const char *uri, struct buffer *out)
{
	struct json_writer w = { .out = out };
	char id[64];
	int end = 0;

	(void)context;
	if (sscanf(uri, "test://template/%63[^/]/data%n", id, &end) == 1 && end > 0 && !uri[end]) {
		json_open_list(&w, NULL);
		json_open_map(&w, NULL);
		json_put_text(&w, "uri", uri);
		json_put_text(&w, "mimeType", "application/json");
		json_put_format(&w, "text", "{\"id\":\"%s\",\"templateTest\":true}", id);
		return json_end(&w);
	}
	if (strcmp(uri, "test://static-binary") == 0) {
		buffer_adds(out, "[{\"uri\":\"test://static-binary\",\"mimeType\":\"image/"
				 "png\",\"blob\":\"" IMAGE "\"}]");
		return 0;
	}
	if (strcmp(uri, "test://static-text") != 0 && strcmp(uri, "test://watched-resource") != 0)
		return -ENOENT;
	json_open_list(&w, NULL);
	json_open_map(&w, NULL);
	json_put_text(&w, "uri", uri);
	json_put_text(&w, "mimeType", "text/plain");
	json_put_text(&w, "text", "This is the content of the static text resource.");
	return json_end(&w);
}

/* Prompts */

static const char *const prompts[] = { "test_simple_prompt", "test_prompt_with_arguments",
	"test_prompt_with_embedded_resource", "test_prompt_with_image",
	"test_input_required_result_prompt" };

static void fixture_print_prompts(void *context, struct json_writer *w, const char *key)
{
	(void)context;
	json_put_raw(w, key,
		"[{\"name\":\"test_simple_prompt\",\"description\":\"simple\"},"
		"{\"name\":\"test_prompt_with_arguments\",\"description\":\"arguments\","
		"\"arguments\":[{\"name\":\"arg1\",\"required\":true},{\"name\":\"arg2\","
		"\"required\":true}]},"
		"{\"name\":\"test_prompt_with_embedded_resource\",\"description\":\"resource\","
		"\"arguments\":[{\"name\":\"resourceUri\",\"required\":true}]},"
		"{\"name\":\"test_prompt_with_image\",\"description\":\"image\"},"
		"{\"name\":\"" INPUT "prompt\",\"description\":\"inputs\"}]");
}

static bool fixture_has_prompt(void *context, const char *name)
{
	(void)context;
	for (size_t i = 0; i < ROWS(prompts); i++)
		if (strcmp(prompts[i], name) == 0)
			return true;
	return false;
}

static void fixture_put_message(struct json_writer *w, const char *text)
{
	json_open_map(w, NULL);
	json_put_text(w, "role", "user");
	json_open_map(w, "content");
	json_put_text(w, "type", "text");
	json_put_text(w, "text", text);
	json_close(w);
	json_close(w);
}

static void fixture_put_resource(struct json_writer *w, const char *uri)
{
	json_open_map(w, NULL);
	json_put_text(w, "role", "user");
	json_open_map(w, "content");
	json_put_text(w, "type", "resource");
	json_open_map(w, "resource");
	json_put_text(w, "uri", uri);
	json_put_text(w, "mimeType", "text/plain");
	json_put_text(w, "text", "Embedded resource content for testing.");
	json_close(w);
	json_close(w);
	json_close(w);
}

static void fixture_prompt(struct mcp_call *c)
{
	static const struct mcp_input_request form = { "user_context", "elicitation/create",
		FORM("What context should the prompt use?", "\"context\":{\"type\":\"string\"}",
			"\"context\"") };
	struct mcp_result r = { 0 };
	struct json_writer w = { .out = &r.content };
	char text[256] = "This is a simple prompt for testing.";

	if (strcmp(c->name, INPUT "prompt") == 0 && !mcp_input_answer(c, form.key)) {
		mcp_input_ask(c, &form, 1, NULL);
		return;
	}
	if (strcmp(c->name, "test_prompt_with_arguments") == 0)
		(void)snprintf(text, sizeof(text),
			"Prompt with arguments: arg1='%.64s', arg2='%.64s'",
			fixture_text(node_get(c->arguments, "arg1")),
			fixture_text(node_get(c->arguments, "arg2")));
	json_open_list(&w, NULL);
	if (strcmp(c->name, "test_prompt_with_embedded_resource") == 0)
		fixture_put_resource(&w, fixture_text(node_get(c->arguments, "resourceUri")));
	if (strcmp(c->name, "test_prompt_with_image") == 0)
		json_put_raw(&w, NULL, MESSAGE(IMAGE_ITEM));
	fixture_put_message(&w, text);
	(void)json_end(&w);
	mcp_server_answer(c, &r);
}

static int fixture_complete(void *context, const struct node *params, struct buffer *out)
{
	(void)context;
	if (!node_get(params, "ref") || !node_get(params, "argument"))
		return -EINVAL;
	buffer_adds(out, "[\"paris\",\"park\",\"party\"]");
	return 0;
}

/* The server */

static void fixture_call(void *context, struct mcp_call *c)
{
	(void)context;
	if (c->kind == MCP_CALL_PROMPT)
		fixture_prompt(c);
	else
		fixture_find(c->name)->run(c);
}

static void fixture_cancel(void *context, struct mcp_call *c)
{
	(void)context;
	(void)c;
}

static int fixture_open(void *context, struct mcp_server *s, size_t principal,
	const struct mcp_message *m, struct buffer *why)
{
	static const struct mcp_toolset set = { fixture_has, fixture_print_tools };
	static const struct mcp_features features = { .resources = fixture_print_resources,
		.templates = fixture_print_templates,
		.prompts = fixture_print_prompts,
		.read = fixture_read,
		.has_prompt = fixture_has_prompt,
		.complete = fixture_complete,
		.logs = true,
		.subscribes = true,
		.changes = true };

	(void)context;
	(void)principal;
	(void)m;
	(void)why;
	s->version = "1";
	s->asking = &fixture.asking;
	s->backend = (struct mcp_backend){
		.call = fixture_call, .cancel = fixture_cancel, .tools = &set, .features = &features
	};
	return 0;
}

static void fixture_close(void *context, struct mcp_server *s)
{
	(void)context;
	(void)s;
}

static uint64_t fixture_now(void)
{
	return clock_ms(CLOCK_BOOTTIME);
}

static void fixture_on_input(struct watcher *w, uint32_t events)
{
	char byte;

	(void)events;
	if (read(w->fd, &byte, 1) <= 0)
		fixture.is_over = true;
}

static int fixture_write(struct buffer *out)
{
	for (size_t at = 0; at < out->len;) {
		const ssize_t n = write(STDOUT_FILENO, out->data + at, out->len - at);

		if (n < 0)
			return -errno;
		at += (size_t)n;
	}
	buffer_clear(out);
	return 0;
}

static int fixture_serve_lines(void)
{
	struct mcp_server s = { 0 };
	auto_mcp_lines lines = { 0 };
	int r = fixture_open(NULL, &s, 0, NULL, NULL);
	char bytes[4096];
	ssize_t n;

	while (r == 0 && (n = read(STDIN_FILENO, bytes, sizeof(bytes))) > 0) {
		const char *line;
		enum mcp_line what;
		size_t len;

		mcp_lines_add(&lines, bytes, (size_t)n);
		while ((what = mcp_lines_next(&lines, &line, &len)) != MCP_LINE_NONE)
			mcp_server_line(&s, what == MCP_LINE_WHOLE ? line : NULL, len);
		r = fixture_write(&s.out);
	}
	mcp_server_deinit(&s);
	return r < 0;
}

int main(int argc, char **argv)
{
	static struct web_tokens tokens;
	static const struct web_host host = { fixture_open, fixture_close, NULL };
	struct error e = { 0 };
	auto_buffer url = { 0 };
	bool is_made = false;
	const bool is_lines = argc == 2 && strcmp(argv[1], "-") == 0;
	int r = is_lines    ? 0
		: argc == 2 ? web_tokens_open(&tokens, argv[1], &is_made, &e)
			    : -EINVAL;

	fixture.asking.principal = "the suite";
	fixture.asking.now_ms = fixture_now;
	fixture.asking.patience_ms = 60 * 1000;
	if (r == 0)
		r = mcp_seal_init(&fixture.asking.seal);
	if (r == 0 && is_lines)
		return fixture_serve_lines();
	if (r == 0)
		r = loop_new(&fixture.loop);
	if (r == 0)
		r = web_new(&fixture.web,
			&(struct web_options){
				.loop = fixture.loop, .host = &host, .tokens = &tokens });
	if (r == 0)
		r = web_listen(fixture.web, "0", &e);
	fixture.input = (struct watcher){ .ready = fixture_on_input, .fd = -1 };
	if (r == 0)
		r = loop_add(fixture.loop, &fixture.input, STDIN_FILENO, EPOLLIN);
	if (r < 0) {
		(void)fprintf(stderr, "mcp-fixture: %s\n", e.text[0] ? e.text : strerror(-r));
		return 1;
	}
	web_url(fixture.web, &url);
	(void)printf("%s\n", buffer_text(&url));
	(void)fflush(stdout);
	while (r >= 0 && !fixture.is_over)
		r = loop_turn(fixture.loop, web_turn(fixture.web));
	web_free(fixture.web);
	loop_free(fixture.loop);
	return r < 0;
}
