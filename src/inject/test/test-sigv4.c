/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures of AWS: the examples of its documentation and of its test suite, and forms that are
 * refused. */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "inject/sigv4.h"

#define KEY "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
#define SUITE_KEY "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define S3 "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders="
#define S3_HOST "Host: examplebucket.s3.amazonaws.com\r\n"
#define S3_DATE "x-amz-date: 20130524T000000Z\r\n"
#define SUITE "Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders="
#define SUITE_HOST "Host: example.amazonaws.com\r\nX-Amz-Date: 20150830T123600Z\r\n"
#define DIGITS "0000000000000000000000000000000000000000000000000000000000000000"
#define FORM "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e"

static const struct {
	const char *name, *head, *authorization, *key, *body;
	bool is_path_plain;
	int error;
	const char *signature;
} rows[] = {
	{ "S3: GET with a range",
		"GET /test.txt HTTP/1.1\r\n" S3_HOST
		"Range: bytes=0-9\r\nx-amz-content-sha256: " EMPTY "\r\n" S3_DATE "\r\n",
		S3 "host;range;x-amz-content-sha256;x-amz-date", KEY, NULL, true, 0,
		"f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41" },
	{ "S3: PUT, a $ in the path",
		"PUT /test%24file.text HTTP/1.1\r\nDate: Fri, 24 May 2013 00:00:00 GMT\r\n" S3_HOST
			S3_DATE "x-amz-storage-class: REDUCED_REDUNDANCY\r\n"
		"x-amz-content-sha256: "
		"44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072\r\n\r\n",
		S3 "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class", KEY, NULL, true,
		0, "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd" },
	{ "S3: a parameter without a value",
		"GET /?lifecycle HTTP/1.1\r\n" S3_HOST S3_DATE "x-amz-content-sha256: " EMPTY
		"\r\n\r\n",
		S3 "host;x-amz-content-sha256;x-amz-date", KEY, NULL, true, 0,
		"fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543" },
	{ "S3: parameters",
		"GET /?max-keys=2&prefix=J HTTP/1.1\r\n" S3_HOST S3_DATE
		"x-amz-content-sha256: " EMPTY "\r\n\r\n",
		S3 "host;x-amz-content-sha256;x-amz-date", KEY, NULL, true, 0,
		"34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7" },
	{ "S3: parameters in another order, after an empty line",
		"\r\nGET /?prefix=J&max-keys=2 HTTP/1.1\r\n" S3_HOST S3_DATE
		"x-amz-content-sha256: " EMPTY "\r\n\r\n",
		S3 "host;x-amz-content-sha256;x-amz-date", KEY, NULL, true, 0,
		"34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7" },
	{ "suite: get-vanilla", "GET / HTTP/1.1\r\n" SUITE_HOST "\r\n", SUITE "host;x-amz-date",
		SUITE_KEY, NULL, false, 0,
		"5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31" },
	{ "suite: get-vanilla-query-order-key-case",
		"GET /?Param2=value2&Param1=value1 HTTP/1.1\r\n" SUITE_HOST "\r\n",
		SUITE "host;x-amz-date", SUITE_KEY, NULL, false, 0,
		"b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500" },
	{ "suite: post-x-www-form-urlencoded",
		"POST / HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\n" SUITE_HOST
		"\r\n",
		SUITE "content-type;host;x-amz-date", SUITE_KEY, FORM, false, 0,
		"ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a" },
	{ "an upload whose chunks are not signed",
		"PUT / HTTP/1.1\r\n" S3_HOST S3_DATE
		"x-amz-content-sha256: STREAMING-UNSIGNED-PAYLOAD-TRAILER\r\n\r\n",
		S3 "host;x-amz-date", KEY, NULL, true, 0, NULL },
	{ "a signed field that is not there", "GET / HTTP/1.1\r\n" S3_HOST S3_DATE "\r\n",
		S3 "host;range", KEY, NULL, true, -EINVAL, NULL },
	{ "no date", "GET / HTTP/1.1\r\n" S3_HOST "\r\n", S3 "host", KEY, NULL, true, -EINVAL,
		NULL },
	{ "an empty name", "GET / HTTP/1.1\r\n" S3_HOST S3_DATE "\r\n", S3 "host;;x-amz-date", KEY,
		NULL, true, -EINVAL, NULL },
};

static void test_sign(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_buffer text = { 0 }, signed_text = { 0 };
		char signature[SIGV4_DIGITS + 1] = "";
		struct sigv4 s;

		buffer_printf(
			&text, "AWS4-HMAC-SHA256 %s, Signature=%s", rows[i].authorization, DIGITS);
		assert_int_equal(sigv4_parse(&s, text.data, text.len), 0);
		assert_int_equal(
			sigv4_text(&s,
				&(struct sigv4_request){ rows[i].head, strlen(rows[i].head),
					rows[i].body, rows[i].is_path_plain },
				&signed_text),
			rows[i].error);
		if (rows[i].error == 0)
			assert_int_equal(sigv4_sign(&s, &signed_text, rows[i].key,
						 strlen(rows[i].key), signature),
				0);
		if (rows[i].signature)
			assert_string_equal(signature, rows[i].signature);
		else if (!rows[i].error)
			assert_int_equal(strlen(signature), SIGV4_DIGITS);
	}
}

static void test_parse(void **state)
{
	static const struct {
		const char *text;
		int error;
	} forms[] = {
		{ "AWS4-HMAC-SHA256 " S3 "host, Signature=" DIGITS, 0 },
		{ "AWS4-HMAC-SHA256 Signature=" DIGITS
		  ",SignedHeaders=host,Credential=a/20130524/r/s/aws4_request",
			0 },
		{ "Bearer x", -ENOENT },
		{ "", -ENOENT },
		{ "AWS4-ECDSA-P256-SHA256 " S3 "host, Signature=" DIGITS, -EOPNOTSUPP },
		{ "AWS4-HMAC-SHA256 " S3 "host", -EINVAL },
		{ "AWS4-HMAC-SHA256 " S3 "host, Signature=0", -EINVAL },
		{ "AWS4-HMAC-SHA256 " S3 ", Signature=" DIGITS, -EINVAL },
		{ "AWS4-HMAC-SHA256 SignedHeaders=host, Signature=" DIGITS, -EINVAL },
		{ "AWS4-HMAC-SHA256 Credential=a/2013/r/s/aws4_request, SignedHeaders=host, "
		  "Signature=" DIGITS,
			-EINVAL },
		{ "AWS4-HMAC-SHA256 Credential=a/20130524/r/s/aws3, SignedHeaders=host, "
		  "Signature=" DIGITS,
			-EINVAL },
		{ "AWS4-HMAC-SHA256 " S3 "host, Signature=" DIGITS ", Signature=" DIGITS, -EINVAL },
		{ "AWS4-HMAC-SHA256 " S3 "host, Signature=" DIGITS ", Other=1", -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct sigv4 s;

		assert_int_equal(
			sigv4_parse(&s, forms[i].text, strlen(forms[i].text)), forms[i].error);
	}
}

static void test_print(void **state)
{
	static const char text[] = "AWS4-HMAC-SHA256 " S3 "host;x-amz-date, Signature=" DIGITS;
	auto_buffer out = { 0 };
	struct sigv4 s;

	(void)state;
	assert_int_equal(sigv4_parse(&s, text, strlen(text)), 0);
	sigv4_print(&s, s.id, DIGITS, &out);
	assert_string_equal(buffer_text(&out), text);
	buffer_clear(&out);
	sigv4_print(&s, (struct sigv4_text){ "AKIAREAL", 8 }, EMPTY, &out);
	assert_string_equal(buffer_text(&out),
		"AWS4-HMAC-SHA256 Credential=AKIAREAL/20130524/us-east-1/s3/aws4_request, "
		"SignedHeaders=host;x-amz-date, "
		"Signature=" EMPTY);
}

static void test_body(void **state)
{
	static const struct {
		const char *head;
		enum sigv4_body body;
	} heads[] = {
		{ "GET / HTTP/1.1\r\nHost: x\r\n\r\n", SIGV4_UNSAID },
		{ "GET / HTTP/1.1\r\nX-Amz-Content-SHA256: " EMPTY "\r\n\r\n", SIGV4_SAID },
		{ "PUT / HTTP/1.1\r\nx-amz-content-sha256: UNSIGNED-PAYLOAD\r\n\r\n", SIGV4_SAID },
		{ "PUT / HTTP/1.1\r\nx-amz-content-sha256: "
		  "STREAMING-UNSIGNED-PAYLOAD-TRAILER\r\n\r\n",
			SIGV4_SAID },
		{ "PUT / HTTP/1.1\r\nx-amz-content-sha256: "
		  "STREAMING-AWS4-HMAC-SHA256-PAYLOAD\r\n\r\n",
			SIGV4_IN_CHUNKS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		assert_int_equal(sigv4_body(heads[i].head, strlen(heads[i].head)), heads[i].body);
}

static void test_field(void **state)
{
	static const char head[] = "\r\nGET / HTTP/1.1\r\nA: 1\r\nB:  2 \r\nA: 3\r\n\r\nC: body";
	struct sigv4_text value;

	(void)state;
	assert_int_equal(sigv4_field(head, strlen(head), (struct sigv4_text){ "b", 1 }, &value), 1);
	assert_int_equal(value.len, 1);
	assert_memory_equal(value.at, "2", 1);
	assert_int_equal(sigv4_field(head, strlen(head), (struct sigv4_text){ "a", 1 }, &value), 2);
	assert_int_equal(sigv4_field(head, strlen(head), (struct sigv4_text){ "C", 1 }, &value), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sign),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_body),
		cmocka_unit_test(test_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
