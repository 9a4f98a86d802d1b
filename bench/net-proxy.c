/* SPDX-License-Identifier: Apache-2.0 */
#include "net-proxy.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct {
	struct addrinfo *address;
	char credentials[1024]; /* in base64 */
} proxy;

static size_t decode(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		char hex[3] = { 0 };

		if (*from == '%' && from[1] && from[2]) {
			memcpy(hex, from + 1, 2);
			*to++ = (char)strtoul(hex, NULL, 16);
			from += 2;
		} else {
			*to++ = *from;
		}
	}
	return (size_t)(to - text);
}

static void encode(char *out, const char *text, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < len; i += 3) {
		size_t n = len - i < 3 ? len - i : 3;
		unsigned bits = 0;

		for (size_t k = 0; k < 3; k++)
			bits = bits << 8 | (k < n ? (unsigned char)text[i + k] : 0U);
		for (size_t k = 0; k < 4; k++)
			*out++ = k <= n ? digits[bits >> (18 - 6 * k) & 63] : '=';
	}
	*out = '\0';
}

static bool read_environment(void)
{
	const struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
	const char *url = getenv("HTTP_PROXY");
	char user[512], host[256], port[8];

	if (proxy.address)
		return true;
	if (!url || sscanf(url, "http://%511[^@]@%255[^:]:%7[0-9]", user, host, port) != 3)
		return false;
	encode(proxy.credentials, user, decode(user));
	return getaddrinfo(host, port, &hints, &proxy.address) == 0;
}

/* Up to the empty line: what is behind it is the server's. */
static bool read_answer(int fd)
{
	char head[1024];
	size_t n = 0;

	while (n < sizeof(head) - 1 && read(fd, head + n, 1) == 1) {
		head[++n] = '\0';
		if (n >= 4 && strcmp(head + n - 4, "\r\n\r\n") == 0)
			return strncmp(head, "HTTP/1.1 200 ", 13) == 0;
	}
	return false;
}

static bool ask(int fd, struct in_addr address, uint16_t port)
{
	const int one = 1;
	char to[INET_ADDRSTRLEN], head[2048];
	int n;

	if (connect(fd, proxy.address->ai_addr, proxy.address->ai_addrlen) < 0 ||
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0 ||
		!inet_ntop(AF_INET, &address, to, sizeof(to)))
		return false;
	n = snprintf(head, sizeof(head),
		"CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\nProxy-Authorization: Basic %s\r\n\r\n",
		to, port, to, port, proxy.credentials);
	return n > 0 && (size_t)n < sizeof(head) && write(fd, head, (size_t)n) == n &&
	       read_answer(fd);
}

int net_proxy_dial(struct in_addr address, uint16_t port)
{
	int fd = read_environment() ? socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;

	if (fd >= 0 && ask(fd, address, port))
		return fd;
	if (fd >= 0)
		(void)close(fd);
	return -1;
}
