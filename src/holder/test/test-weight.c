/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include "base/array.h"
#include "holder/weight.h"

static const struct {
	enum audit_action action;
	enum audit_decision decision;
	enum holder_weight weight;
} rows[] = {
	{ AUDIT_FS_READ, AUDIT_ALLOWED, HOLDER_WEIGHT_READ },
	{ AUDIT_FS_READ, AUDIT_FAILED, HOLDER_WEIGHT_READ },
	{ AUDIT_FS_READ, AUDIT_DENIED, HOLDER_WEIGHT_HEAVY },
	{ AUDIT_FS_READ, AUDIT_ASKED, HOLDER_WEIGHT_HEAVY },
	{ AUDIT_FS_LIST, AUDIT_ALLOWED, HOLDER_WEIGHT_READ },
	{ AUDIT_NET_NAME, AUDIT_NONE, HOLDER_WEIGHT_READ },
	{ AUDIT_NET_CLOSE, AUDIT_NONE, HOLDER_WEIGHT_READ },
	{ AUDIT_ENV, AUDIT_ALLOWED, HOLDER_WEIGHT_READ },
	{ AUDIT_FS_WRITE, AUDIT_ALLOWED, HOLDER_WEIGHT_CALL },
	{ AUDIT_FS_DELETE, AUDIT_ALLOWED, HOLDER_WEIGHT_CALL },
	{ AUDIT_NET_CONNECT, AUDIT_ALLOWED, HOLDER_WEIGHT_CALL },
	{ AUDIT_NET_CONNECT, AUDIT_DENIED, HOLDER_WEIGHT_HEAVY },
	{ AUDIT_EXEC, AUDIT_ALLOWED, HOLDER_WEIGHT_CALL },
	{ AUDIT_SERVICE, AUDIT_ALLOWED, HOLDER_WEIGHT_CALL },
	{ AUDIT_COMMAND_START, AUDIT_NONE, HOLDER_WEIGHT_HEAVY },
	{ AUDIT_COMMAND_END, AUDIT_NONE, HOLDER_WEIGHT_HEAVY },
	{ AUDIT_POLICY, AUDIT_ALLOWED, HOLDER_WEIGHT_HEAVY },
	{ AUDIT_APPROVAL, AUDIT_ALLOWED, HOLDER_WEIGHT_HEAVY },
	{ AUDIT_CONFINEMENT, AUDIT_NONE, HOLDER_WEIGHT_HEAVY },
	{ AUDIT_LIMIT, AUDIT_NONE, HOLDER_WEIGHT_HEAVY },
	{ AUDIT_SESSION, AUDIT_NONE, HOLDER_WEIGHT_HEAVY },
	{ AUDIT_STORE, AUDIT_NONE, HOLDER_WEIGHT_HEAVY },
};

static void test_weight_of(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		assert_int_equal(holder_weight_of(&(struct audit_event){
					 .action = rows[i].action, .decision = rows[i].decision }),
			rows[i].weight);
}

static void test_weights(void **state)
{
	struct holder_weights a = { { 40, 0, 2 } }, b = { { 2, 0, 1 } };
	auto_buffer text = { 0 };

	(void)state;
	holder_weights_move(&a, &b);
	assert_int_equal(holder_weights_sum(&a), 45);
	assert_int_equal(holder_weights_sum(&b), 0);
	holder_weights_print(&a, &text);
	assert_string_equal(buffer_text(&text), "3 denials and changes, 42 reads");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_weight_of),
		cmocka_unit_test(test_weights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
