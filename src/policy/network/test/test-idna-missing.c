/* SPDX-License-Identifier: Apache-2.0 */
/* Without libidn2 (the linker leads dlopen() here): international names fail, with a sentence that
 * says why; they are never taken for others, and plain names know nothing of it. */
#include "policy/test/test-policy.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "policy/network/host.h"
#include "policy/network/idna.h"
#include "policy/network/url.h"

static unsigned opened;

void *__wrap_dlopen(const char *file, int flags);
void *__wrap_dlopen(const char *file, int flags)
{
	(void)flags;
	assert_string_equal(file, "libidn2.so.0");
	opened++;
	return NULL;
}

static const char *const international[] = { "bücher.de", "xn--bcher-kva.de", "a.XN--bcher-kva",
	"xn--.com", "☃.com" };

static void plain_names_do_not_load_it(void **state)
{
	char out[64];

	(void)state;
	assert_int_equal(idna_to_ascii("A.Example.com", 13, out, sizeof(out)), 0);
	assert_string_equal(out, "a.example.com");
	assert_int_equal(idna_to_ascii("a..b", 4, out, sizeof(out)), -EINVAL);
	assert_int_equal(opened, 0);
}

static void who_forgoes_it_opens_nothing(void **state)
{
	int status = 0;
	pid_t child;

	(void)state;
	child = fork();
	if (child == 0) {
		char out[64];

		idna_library_forgo();
		_exit(idna_to_ascii("xn--bcher-kva.de", 16, out, sizeof(out)) != -ELIBACC ||
			opened != 0);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void it_is_looked_for_once(void **state)
{
	(void)state;
	assert_int_equal(idna_library_load(), -ELIBACC);
	assert_int_equal(idna_library_load(), -ELIBACC);
	assert_int_equal(opened, 1);
}

static void check_sentence(const struct error *e)
{
	assert_non_null(strstr(e->text, IDNA_LIBRARY_MISSING));
	assert_string_equal(e->hint, IDNA_LIBRARY_HINT);
}

static void other_names_fail(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(international); i++) {
		const char *name = international[i];
		auto_arena a = { 0 };
		struct host_pattern p;
		struct host_request r;
		struct error e = { 0 };
		char out[64] = "untouched", text[128];
		struct url u;

		assert_int_equal(idna_to_ascii(name, strlen(name), out, sizeof(out)), -ELIBACC);
		assert_string_equal(out, "untouched");
		assert_int_equal(host_pattern_parse(&p, &a, name, NULL, &e), -EINVAL);
		check_sentence(&e);
		assert_int_equal(host_request_parse(&r, name, &e), -ELIBACC);
		check_sentence(&e);
		(void)snprintf(text, sizeof(text), "https://%s/", name);
		assert_int_equal(url_parse(&u, text, strlen(text), &e), -ELIBACC);
		check_sentence(&e);
		assert_int_equal(host_pattern_parse(&p, &a, text, NULL, &e), -EINVAL);
		check_sentence(&e);
	}
}

/* Whatever is granted. */
static void they_are_denied(void **state)
{
	auto_policy *p = test_compile("{default: allow, network: {allow: ['*:*']}}");
	const struct request r = { .op = OPERATION_NET_CONNECT, .target = "xn--bcher-kva.de:443" };
	struct decision d = { .verdict = VERDICT_ALLOW };

	(void)state;
	assert_int_equal(policy_decide(p, &r, &d), -ELIBACC);
	assert_int_equal(d.verdict, VERDICT_DENY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_names_do_not_load_it),
		cmocka_unit_test(who_forgoes_it_opens_nothing),
		cmocka_unit_test(it_is_looked_for_once),
		cmocka_unit_test(other_names_fail),
		cmocka_unit_test(they_are_denied),
	};

	return cmocka_run_group_tests_name("idna-missing", tests, NULL, NULL);
}
