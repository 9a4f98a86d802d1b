/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include "jail/netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

static void test_layout(void **state)
{
	struct netlink n = { .len = 0 };
	struct nlmsghdr header;
	struct nlattr outer, inner;
	size_t nest;

	(void)state;
	memset(n.bytes, 0xff, sizeof(n.bytes));
	netlink_begin(&n, 7, 0);
	nest = netlink_nest(&n, 3);
	netlink_text(&n, 4, "abcd");
	netlink_be32(&n, 5, 1);
	netlink_unnest(&n, nest);
	netlink_end(&n);
	assert_int_equal(n.len, 16 + 4 + 12 + 8);
	memcpy(&header, n.bytes, sizeof(header));
	assert_int_equal(header.nlmsg_len, n.len);
	assert_int_equal(header.nlmsg_type, 7);
	assert_int_equal(header.nlmsg_flags, NLM_F_REQUEST);
	assert_int_equal(header.nlmsg_seq, 1);
	memcpy(&outer, n.bytes + 16, sizeof(outer));
	assert_int_equal(outer.nla_len, 4 + 12 + 8);
	assert_int_equal(outer.nla_type, 3 | NLA_F_NESTED);
	memcpy(&inner, n.bytes + 20, sizeof(inner));
	assert_int_equal(inner.nla_len, 9);
	/* The text, its NUL, and zeroes up to the next multiple of four. */
	assert_memory_equal(n.bytes + 24, "abcd\0\0\0\0", 8);
	assert_memory_equal(n.bytes + 36, "\0\0\0\1", 4);
}

/* What does not fit is never sent in part. */
static void test_full(void **state)
{
	static const unsigned char data[4000];
	struct netlink n = { .len = 0 };
	size_t len;

	(void)state;
	netlink_begin(&n, RTM_GETLINK, NLM_F_ACK);
	for (size_t i = 0; i < (sizeof(n.bytes) - 16) / (sizeof(data) + 4); i++)
		netlink_attribute(&n, 1, data, sizeof(data));
	assert_false(n.failed);
	netlink_attribute(&n, 1, data, sizeof(data));
	assert_true(n.failed);
	len = n.len;
	netlink_add(&n, data, 1);
	netlink_unnest(&n, netlink_nest(&n, 1));
	netlink_end(&n);
	assert_int_equal(n.len, len);
	assert_int_equal(netlink_talk(&n, NETLINK_ROUTE, NULL), -E2BIG);
}

static void test_attribute_too_long(void **state)
{
	static const unsigned char data[70000];
	struct netlink n = { .len = 0 };

	(void)state;
	netlink_begin(&n, 1, 0);
	netlink_attribute(&n, 1, data, sizeof(data));
	assert_true(n.failed);
}

static void ask_for_lo(struct netlink *n)
{
	const struct ifinfomsg header = { .ifi_family = AF_UNSPEC,
		.ifi_index = (int)if_nametoindex("lo") };

	netlink_begin(n, RTM_GETLINK, NLM_F_ACK);
	netlink_add(n, &header, sizeof(header));
	netlink_end(n);
}

/* The kernel's answers: all went well, or which one did not. */
static void test_talk(void **state)
{
	struct netlink n = { .len = 0 };
	uint32_t failed = 77;

	(void)state;
	ask_for_lo(&n);
	assert_int_equal(netlink_talk(&n, NETLINK_ROUTE, &failed), 0);
	assert_int_equal(failed, 77);
	netlink_begin(&n, RTM_MAX + 100, NLM_F_ACK);
	netlink_end(&n);
	ask_for_lo(&n);
	assert_int_equal(netlink_talk(&n, NETLINK_ROUTE, &failed), -EOPNOTSUPP);
	assert_int_equal(failed, 2);
	assert_true(netlink_talk(&n, 31, &failed) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_attribute_too_long),
		cmocka_unit_test(test_talk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
