/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a browser that was taken over could send. The first byte chooses how the stream is cut into
 * pieces; the messages found must not depend on it. A driver then hears all of it, with a page
 * and a question under way: it must end, and keep its bounds.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "services/browser/browser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* A sum over what was read. */
static uint64_t read_all(const char *data, size_t len, size_t step)
{
	struct cdp_stream s = { 0 };
	uint64_t sum = 0;

	while (len > 0) {
		size_t piece = len < step ? len : step, left = piece;

		while (left > 0 && cdp_stream_take(&s, &data, &left) == 1) {
			struct cdp_message m;
			const int r = cdp_read(&m, &s);

			require(r == 0 || r == -EBADMSG || r == -EMSGSIZE);
			require(r == 0 || (!m.method[0] && !m.body && !m.error));
			require(r < 0 || (m.id > 0) != (m.method[0] != '\0'));
			sum = sum * 31 + m.id + (uint64_t)r + strlen(m.method) + strlen(m.session);
			cdp_message_deinit(&m);
		}
		len -= piece;
	}
	cdp_stream_deinit(&s);
	return sum;
}

static bool allows(void *context, const char *url)
{
	(void)context;
	return strlen(url) % 2;
}

/* The pipe holds what a pipe holds; the rest of a long input is not heard. */
static void drive(const uint8_t *data, size_t size)
{
	static struct browser b;
	int to[2] = { -1, -1 }, from[2] = { -1, -1 };
	const char name[] = "S";

	require(pipe2(from, O_NONBLOCK | O_CLOEXEC) == 0);
	to[1] = open("/dev/null", O_WRONLY | O_CLOEXEC);
	b = (struct browser){ .to = to[1], .from = from[0], .allows = allows };
	memcpy(b.page.session, name, sizeof(name));
	memcpy(b.page.target, name, sizeof(name));
	memcpy(b.page.frame, name, sizeof(name));
	require(write(from[1], data, size < 60000 ? size : 60000) >= 0 || size == 0);
	fd_close(&from[1]);
	(void)browser_ask_page(&b, "Page.navigate", "{}", browser_now() + 1000);
	browser_dispatch(&b);
	require(b.page.n_dialogs <= BROWSER_DIALOGS_MAX + 1);
	require(memchr(b.page.refused, '\0', sizeof(b.page.refused)));
	require(b.page.status < 1000);
	browser_end(&b);
	fd_close(&from[0]);
	fd_close(&to[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	require(read_all((const char *)data + 1, size - 1, size) ==
		read_all((const char *)data + 1, size - 1, 1U + data[0]));
	drive(data + 1, size - 1);
	return 0;
}
