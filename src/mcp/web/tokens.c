/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/web/tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"
#include "codec/encoding.h"

enum { TOKEN_RANDOM = 32, TOKENS_FILE_MAX = WEB_TOKENS_MAX * (WEB_TOKEN_MAX + 2) };

/* What RFC 6750 allows. */
static bool token_is_good(const char *text, size_t len)
{
	static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				   "0123456789-._~+/=";

	return len >= WEB_TOKEN_MIN && len <= WEB_TOKEN_MAX && strspn(text, good) == len;
}

static int tokens_add(struct web_tokens *t, const char *line, const char *path, struct error *e)
{
	const size_t len = strlen(line);

	if (len == 0)
		return 0;
	if (t->n == WEB_TOKENS_MAX)
		return error_set(
			e, -E2BIG, NULL, "%s has more than %d tokens", path, WEB_TOKENS_MAX);
	if (!token_is_good(line, len))
		return error_set(e, -EINVAL, NULL,
			"%s: each line must be a token of %d to %d letters, digits and -._~+/=",
			path, WEB_TOKEN_MIN, WEB_TOKEN_MAX);
	memcpy(t->items[t->n++], line, len + 1);
	return 0;
}

static int tokens_read(struct web_tokens *t, int fd, const char *path, struct error *e)
{
	char text[TOKENS_FILE_MAX + 1], *rest = text, *line;
	struct stat st;
	ssize_t n;
	int r = 0;

	if (fstat(fd, &st) < 0)
		return error_set(e, -errno, NULL, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077)
		return error_set(e, -EPERM, NULL,
			"%s must be a file of yours that no other user can read: chmod 600 it",
			path);
	if (st.st_size > TOKENS_FILE_MAX)
		return error_set(e, -E2BIG, NULL, "%s is too large for tokens", path);
	n = read(fd, text, TOKENS_FILE_MAX);
	if (n < 0)
		return error_set(e, -errno, NULL, "%s: %s", path, strerror(errno));
	text[n] = '\0';
	while (r == 0 && (line = strsep(&rest, "\n")))
		r = tokens_add(t, line, path, e);
	sodium_memzero(text, sizeof(text));
	if (r == 0 && t->n == 0)
		r = error_set(e, -EINVAL, NULL, "%s has no token", path);
	return r;
}

int web_tokens_make(struct web_tokens *t, const char *path, struct error *e)
{
	unsigned char bytes[TOKEN_RANDOM];
	auto_buffer line = { 0 };
	int r;

	if (sodium_init() < 0)
		return error_set(e, -EIO, NULL, "there are no random numbers");
	randombytes_buf(bytes, sizeof(bytes));
	encoding_hex(bytes, sizeof(bytes), t->items[0]);
	t->n = 1;
	buffer_printf(&line, "%s\n", t->items[0]);
	r = line.failed ? -ENOMEM : file_replace(path, line.data, line.len, 0600);
	return r < 0 ? error_set(e, r, NULL, "cannot write %s: %s", path, strerror(-r)) : 0;
}

int web_tokens_open(struct web_tokens *t, const char *path, bool *ret_made, struct error *e)
{
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	int r;

	*t = (struct web_tokens){ .n = 0 };
	if (fd >= 0)
		return tokens_read(t, fd, path, e);
	if (errno != ENOENT)
		return error_set(e, -errno, NULL, "%s: %s", path, strerror(errno));
	r = web_tokens_make(t, path, e);
	*ret_made = r == 0;
	return r;
}

int web_tokens_find(const struct web_tokens *t, const struct serve_request *r)
{
	int found = -1;

	for (size_t i = 0; i < t->n; i++)
		if (serve_request_is_token(r, t->items[i]))
			found = (int)i;
	return found;
}

void web_tokens_deinit(struct web_tokens *t)
{
	sodium_memzero(t, sizeof(*t));
}
