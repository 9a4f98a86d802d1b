/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/network/test/test-host.h"

#include "base/array.h"
#include "policy/network/address.h"

static const struct {
	const char *text, *printed; /* NULL: the text itself */
} strict_good[] = {
	{ "0.0.0.0", NULL },
	{ "127.0.0.1", NULL },
	{ "255.255.255.255", NULL },
	{ "10.20.30.40", NULL },
	{ "::", NULL },
	{ "::1", NULL },
	{ "1::", NULL },
	{ "1::8", NULL },
	{ "2001:db8::1", NULL },
	{ "1:2:3:4:5:6:7:8", NULL },
	{ "2001:DB8::A", "2001:db8::a" },
	{ "0001:0002:0003:0004:0005:0006:0007:0008", "1:2:3:4:5:6:7:8" },
	{ "0:0:0:0:0:0:0:0", "::" },
	{ "1:0:0:2:0:0:0:3", "1:0:0:2::3" },
	{ "1:0:0:0:2:0:0:3", "1::2:0:0:3" },
	{ "1:0:0:2:3:0:0:4", "1::2:3:0:0:4" },
	{ "1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7" },
	{ "0:0:1:2:3:4:5:6", "::1:2:3:4:5:6" },
	{ "1:2:3:4:5:6:0:0", "1:2:3:4:5:6::" },
	{ "1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0" },
	{ "::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8" },
	{ "::ffff:1.2.3.4", "::ffff:102:304" },
	{ "::1.2.3.4", "::102:304" },
	{ "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304" },
	{ "64:ff9b::192.0.2.33", "64:ff9b::c000:221" },
	{ "fe80::1", NULL },
	{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL },
};

static void strict_forms_are_read_and_printed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(strict_good); i++) {
		const char *text = strict_good[i].text;
		auto_buffer out = { 0 };
		struct address a;

		check_code(text, address_parse(text, strlen(text), &a), 0);
		address_print(&a, &out);
		check_text(text, buffer_text(&out),
			strict_good[i].printed ? strict_good[i].printed : text);
	}
}

static const struct {
	const char *text;
	size_t len;
} strict_bad[] = {
	{ TEXT("") },
	{ TEXT(".") },
	{ TEXT(":") },
	{ TEXT("1") },
	{ TEXT("1.2.3") },
	{ TEXT("1.2.3.") },
	{ TEXT("1.2.3.4.") },
	{ TEXT("1.2.3.4.5") },
	{ TEXT(".1.2.3.4") },
	{ TEXT("1..2.3") },
	{ TEXT("1.2.3.256") },
	{ TEXT("1.2.3.999") },
	{ TEXT("1.2.3.1000") },
	{ TEXT("01.2.3.4") },
	{ TEXT("1.2.3.00") },
	{ TEXT("0x1.2.3.4") },
	{ TEXT("1.2.3.4 ") },
	{ TEXT(" 1.2.3.4") },
	{ TEXT("1.2.3.4\n") },
	{ TEXT("1.2.3.4\0") },
	{ TEXT("1.2.3.-4") },
	{ TEXT("1.2.3.+4") },
	{ TEXT("1,2,3,4") },
	{ TEXT("１.2.3.4") },
	{ TEXT(":1") },
	{ TEXT("1:") },
	{ TEXT(":::") },
	{ TEXT("::1::") },
	{ TEXT("1::2::3") },
	{ TEXT(":1::") },
	{ TEXT("1:2:3:4:5:6:7") },
	{ TEXT("1:2:3:4:5:6:7:8:9") },
	{ TEXT("1:2:3:4:5:6:7:8::") },
	{ TEXT("::1:2:3:4:5:6:7:8") },
	{ TEXT("1:2:3:4::5:6:7:8") },
	{ TEXT("12345::") },
	{ TEXT("g::") },
	{ TEXT("::1%eth0") },
	{ TEXT("fe80::1%25eth0") },
	{ TEXT("[::1]") },
	{ TEXT("::1 ") },
	{ TEXT("::1\0") },
	{ TEXT("::1.2.3") },
	{ TEXT("::1.2.3.4.5") },
	{ TEXT("::01.2.3.4") },
	{ TEXT("::1.2.3.256") },
	{ TEXT("::1.2.3.4:5") },
	{ TEXT("1.2.3.4::") },
	{ TEXT("1:2:3:4:5:6:7:1.2.3.4") },
	{ TEXT("::1/128") },
	{ TEXT("localhost") },
};

static void other_forms_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(strict_bad); i++) {
		struct address a;

		check_code(strict_bad[i].text,
			address_parse(strict_bad[i].text, strict_bad[i].len, &a), -EINVAL);
	}
}

static const struct {
	const char *text;
	int code;
	const char *meant; /* if the code is 0 */
} loose[] = {
	{ "127.0.0.1", 0, "127.0.0.1" },
	{ "127.0.0.1.", 0, "127.0.0.1" },
	{ "127.1", 0, "127.0.0.1" },
	{ "127.0.1", 0, "127.0.0.1" },
	{ "0177.0.0.1", 0, "127.0.0.1" },
	{ "00000177.1", 0, "127.0.0.1" },
	{ "0x7f.1", 0, "127.0.0.1" },
	{ "0X7F.0.0.0x1", 0, "127.0.0.1" },
	{ "0x7f000001", 0, "127.0.0.1" },
	{ "2130706433", 0, "127.0.0.1" },
	{ "017700000001", 0, "127.0.0.1" },
	{ "0x0000000000000000007f.1", 0, "127.0.0.1" },
	{ "0", 0, "0.0.0.0" },
	{ "0.", 0, "0.0.0.0" },
	{ "00", 0, "0.0.0.0" },
	{ "0x", 0, "0.0.0.0" },
	{ "0x.0x.0x.0x", 0, "0.0.0.0" },
	{ "1", 0, "0.0.0.1" },
	{ "169.254.43518", 0, "169.254.169.254" },
	{ "2852039166", 0, "169.254.169.254" },
	{ "0xa9fea9fe", 0, "169.254.169.254" },
	{ "0251.0376.0251.0376", 0, "169.254.169.254" },
	{ "4294967295", 0, "255.255.255.255" },
	{ "1.16777215", 0, "1.255.255.255" },
	{ "1.2.65535", 0, "1.2.255.255" },
	{ "4294967296", -ERANGE, NULL },
	{ "99999999999999999999999999", -ERANGE, NULL },
	{ "0xfffffffffffffffffffffffff", -ERANGE, NULL },
	{ "1.16777216", -ERANGE, NULL },
	{ "1.2.65536", -ERANGE, NULL },
	{ "1.2.3.256", -ERANGE, NULL },
	{ "256.1.1.1", -ERANGE, NULL },
	{ "1.2.3.4.5", -ERANGE, NULL },
	{ "1.2.3.4.5.", -ERANGE, NULL },
	{ "1.2.3.08", -ERANGE, NULL },
	{ "09", -ERANGE, NULL },
	{ "09.1.1.1", -ERANGE, NULL },
	{ "foo.0", -ERANGE, NULL },
	{ "foo.0x", -ERANGE, NULL },
	{ "foo.0x4", -ERANGE, NULL },
	{ "foo.2.", -ERANGE, NULL },
	{ "example.09", -ERANGE, NULL },
	{ "1..2", -ERANGE, NULL },
	{ ".1", -ERANGE, NULL },
	{ "0x7g.1", -ERANGE, NULL },
	{ "", -EINVAL, NULL },
	{ ".", -EINVAL, NULL },
	{ "..", -EINVAL, NULL },
	{ "1..", -EINVAL, NULL },
	{ "1.2.3.4..", -EINVAL, NULL },
	{ "example.com", -EINVAL, NULL },
	{ "1.2.3.com", -EINVAL, NULL },
	{ "foo.0xg", -EINVAL, NULL },
	{ "1e3", -EINVAL, NULL },
	{ "-1", -EINVAL, NULL },
	{ "+1", -EINVAL, NULL },
	{ "1.2.3.4 ", -EINVAL, NULL },
	{ "::1", -EINVAL, NULL },
};

static void look_alikes_mean_what_browsers_take_them_for(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(loose); i++) {
		const char *text = loose[i].text;
		auto_buffer out = { 0 };
		struct address a;

		check_code(text, address_parse_loose(text, strlen(text), &a), loose[i].code);
		if (loose[i].code < 0)
			continue;
		address_print(&a, &out);
		check_text(text, buffer_text(&out), loose[i].meant);
	}
}

static const struct {
	const char *text, *plain; /* NULL: the text itself */
} plain[] = {
	{ "10.0.0.1", NULL },
	{ "::ffff:10.0.0.1", "10.0.0.1" },
	{ "::ffff:169.254.169.254", "169.254.169.254" },
	{ "::ffff:0:0", "0.0.0.0" },
	{ "::ffff:ffff:ffff", "255.255.255.255" },
	{ "::127.0.0.1", "127.0.0.1" },
	{ "::2", "0.0.0.2" },
	{ "::1:0", "0.1.0.0" },
	{ "::", NULL },
	{ "::1", NULL },
	{ "::ffff:0:127.0.0.1", "127.0.0.1" },
	{ "64:ff9b::127.0.0.1", "127.0.0.1" },
	{ "64:ff9b::", "0.0.0.0" },
	{ "64:ff9b:1::127.0.0.1", "127.0.0.1" },
	{ "64:ff9b:1:fffe::10.0.0.1", "10.0.0.1" },
	/* Bytes where the other translation formats would have their IPv4. */
	{ "64:ff9b:1:a00:0:100:808:808", NULL },
	{ "64:ff9b:1::1:808:808", NULL },
	{ "64:ff9b:1:ffff:ffff:0:a00:1", NULL },
	{ "64:ff9b:2::127.0.0.1", "64:ff9b:2::7f00:1" },
	{ "64:ff9b::1:7f00:1", NULL },
	{ "2002:7f00:1::", "127.0.0.1" },
	{ "2002:a9fe:a9fe::1", "169.254.169.254" },
	{ "2002:a9fe:a9fe:ffff:ffff:ffff:ffff:ffff", "169.254.169.254" },
	{ "2001:7f00:1::", NULL },
	{ "2003:7f00:1::", NULL },
	{ "::fffe:127.0.0.1", "::fffe:7f00:1" },
	{ "0:0:0:0:1:ffff:7f00:1", "::1:ffff:7f00:1" },
	{ "fe80::1", NULL },
};

static void ipv4_in_other_clothes_is_undressed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(plain); i++) {
		const char *text = plain[i].text;
		auto_buffer out = { 0 };
		struct address a;

		check_code(text, address_parse(text, strlen(text), &a), 0);
		a = address_plain(&a);
		address_print(&a, &out);
		check_text(text, buffer_text(&out), plain[i].plain ? plain[i].plain : text);
	}
}

static struct prefix prefix(const char *text)
{
	struct prefix p;

	check_code(text, prefix_parse(text, strlen(text), &p), 0);
	return p;
}

static const struct {
	const char *text, *printed; /* printed NULL: refused */
} prefixes[] = {
	{ "0.0.0.0/0", "0.0.0.0/0" },
	{ "10.0.0.0/8", "10.0.0.0/8" },
	{ "10.1.2.3", "10.1.2.3" },
	{ "10.1.2.3/32", "10.1.2.3" },
	{ "10.1.2.2/31", "10.1.2.2/31" },
	{ "172.16.0.0/12", "172.16.0.0/12" },
	{ "::/0", "::/0" },
	{ "2001:DB8::/32", "2001:db8::/32" },
	{ "::1/128", "::1" },
	{ "fe80::/10", "fe80::/10" },
	{ "10.0.0.1/8", NULL },
	{ "10.1.2.3/31", NULL },
	{ "2001:db8::1/32", NULL },
	{ "fe90::/9", NULL },
	{ "10.0.0.0/33", NULL },
	{ "10.0.0.0/999", NULL },
	{ "::/129", NULL },
	{ "10.0.0.0/", NULL },
	{ "10.0.0.0/08", NULL },
	{ "10.0.0.0/+8", NULL },
	{ "10.0.0.0/-1", NULL },
	{ "10.0.0.0/8 ", NULL },
	{ "10.0.0.0/8/8", NULL },
	{ "10.0.0.0/255.0.0.0", NULL },
	{ "10/8", NULL },
	{ "/8", NULL },
	{ "", NULL },
	{ "example.com/8", NULL },
};

static void prefixes_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(prefixes); i++) {
		const char *text = prefixes[i].text;
		auto_buffer out = { 0 };
		struct prefix p;
		int r = prefix_parse(text, strlen(text), &p);

		check_code(text, r, prefixes[i].printed ? 0 : -EINVAL);
		if (r < 0)
			continue;
		prefix_print(&p, &out);
		check_text(text, buffer_text(&out), prefixes[i].printed);
	}
}

static const struct {
	const char *outer, *inner;
	bool contains;
} nests[] = {
	{ "10.0.0.0/8", "10.0.0.0/8", true },
	{ "10.0.0.0/8", "10.1.0.0/16", true },
	{ "10.1.0.0/16", "10.0.0.0/8", false },
	{ "10.0.0.0/16", "10.0.0.0/8", false },
	{ "0.0.0.0", "0.0.0.0/0", false },
	{ "10.0.0.0/8", "11.0.0.0/8", false },
	{ "0.0.0.0/0", "1.2.3.4", true },
	{ "0.0.0.0/0", "::1", false },
	{ "::/0", "1.2.3.4", false },
	{ "::/0", "2001:db8::/32", true },
	{ "172.16.0.0/12", "172.31.255.255", true },
	{ "172.16.0.0/12", "172.32.0.0", false },
	{ "fe80::/10", "febf::/16", true },
	{ "fe80::/10", "fec0::/16", false },
	{ "1.2.3.4", "1.2.3.4", true },
	{ "1.2.3.4", "1.2.3.5", false },
};

static void prefixes_nest(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(nests); i++) {
		struct prefix outer = prefix(nests[i].outer), inner = prefix(nests[i].inner);

		check_yes(nests[i].outer, nests[i].inner, prefix_contains(&outer, &inner),
			nests[i].contains);
		if (inner.length == inner.address.bits)
			check_yes(nests[i].outer, nests[i].inner,
				prefix_has(&outer, &inner.address), nests[i].contains);
	}
}

static void prefixes_are_ordered(void **state)
{
	static const char *const order[] = { "0.0.0.0/0", "0.0.0.0/8", "0.0.0.0", "10.0.0.0/8",
		"10.0.0.0/16", "10.1.0.0/16", "255.255.255.255", "::/0", "::", "::1",
		"2001:db8::/32", "ff00::/8" };

	(void)state;
	for (size_t i = 0; i < ROWS(order); i++)
		for (size_t j = 0; j < ROWS(order); j++) {
			struct prefix a = prefix(order[i]), b = prefix(order[j]);
			int r = prefix_compare(&a, &b);

			check_yes(order[i], order[j], r < 0, i < j);
			check_yes(order[i], order[j], r == 0, i == j);
		}
}

static const struct {
	const char *text, *plain; /* NULL: it holds plain addresses */
} plain_prefixes[] = {
	{ "10.0.0.0/8", NULL },
	{ "::/0", NULL },
	{ "::/96", NULL }, /* :: and ::1 */
	{ "::", NULL },
	{ "::1", NULL },
	{ "::2/127", "0.0.0.2/31" },
	{ "::a00:0/104", "10.0.0.0/8" },
	{ "::ffff:0:0/96", "0.0.0.0/0" },
	{ "::ffff:10.0.0.0/104", "10.0.0.0/8" },
	{ "::ffff:10.0.0.1", "10.0.0.1" },
	{ "::fffe:0:0/95", NULL },
	{ "64:ff9b::/96", "0.0.0.0/0" },
	{ "64:ff9b:1::/48", NULL },
	{ "64:ff9b:1::/64", NULL },
	{ "64:ff9b:1::/96", "0.0.0.0/0" },
	{ "64:ff9b:1:fffe::a00:0/104", "10.0.0.0/8" },
	{ "2002::/16", "0.0.0.0/0" },
	{ "2000::/3", NULL },
	{ "2002:a00::/24", "10.0.0.0/8" },
	{ "2002:a00:1::/48", "10.0.0.1" },
	{ "2002:a00:1::1", "10.0.0.1" },
	{ "2001:db8::/32", NULL },
};

static void prefixes_of_disguised_ipv4_are_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(plain_prefixes); i++) {
		struct prefix p = prefix(plain_prefixes[i].text), meant;
		auto_buffer out = { 0 };
		bool found = prefix_plain(&p, &meant);

		check_yes(plain_prefixes[i].text, "IPv4", found, plain_prefixes[i].plain != NULL);
		if (!found)
			continue;
		prefix_print(&meant, &out);
		check_text(plain_prefixes[i].text, buffer_text(&out), plain_prefixes[i].plain);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strict_forms_are_read_and_printed),
		cmocka_unit_test(other_forms_are_refused),
		cmocka_unit_test(look_alikes_mean_what_browsers_take_them_for),
		cmocka_unit_test(ipv4_in_other_clothes_is_undressed),
		cmocka_unit_test(prefixes_are_read),
		cmocka_unit_test(prefixes_nest),
		cmocka_unit_test(prefixes_are_ordered),
		cmocka_unit_test(prefixes_of_disguised_ipv4_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
