/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A WASI command that tries what its arguments say, one each, and prints how it went:
 *   read:PATH write:PATH make:PATH remove:PATH list:PATH rename:FROM:TO link:TARGET:PATH
 *   stat:PATH truncate:PATH env:NAME random clock in exit:N
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int try_read(const char *path)
{
	char text[256];
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n < 0)
		return -1;
	text[n] = '\0';
	printf("read %s: %s\n", path, text);
	close(fd);
	return 0;
}

static int try_write(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	if (fd < 0 || write(fd, "written", 7) != 7)
		return -1;
	printf("wrote %s\n", path);
	return close(fd);
}

static int try_list(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;

	if (!d)
		return -1;
	while (readdir(d))
		n++;
	printf("listed %s: %d\n", path, n);
	return closedir(d);
}

static int try_two(int (*one)(const char *, const char *), const char *what, char *from)
{
	char *to = strchr(from, ':');

	*to++ = '\0';
	if (one(from, to) < 0)
		return -1;
	printf("%s %s\n", what, to);
	return 0;
}

static int try_one(char *word)
{
	char *of = strchr(word, ':');
	unsigned char bytes[16] = { 0 };
	struct timespec t = { 0 };
	struct stat st;

	if (of)
		*of++ = '\0';
	if (strcmp(word, "read") == 0)
		return try_read(of);
	if (strcmp(word, "write") == 0)
		return try_write(of);
	if (strcmp(word, "list") == 0)
		return try_list(of);
	if (strcmp(word, "make") == 0)
		return mkdir(of, 0700) < 0 ? -1 : printf("made %s\n", of);
	if (strcmp(word, "remove") == 0)
		return unlink(of) < 0 ? -1 : printf("removed %s\n", of);
	if (strcmp(word, "stat") == 0)
		return stat(of, &st) < 0 ? -1
					 : printf("stat %s: %lld\n", of, (long long)st.st_size);
	if (strcmp(word, "truncate") == 0)
		return truncate(of, 0) < 0 ? -1 : printf("truncated %s\n", of);
	if (strcmp(word, "rename") == 0)
		return try_two(rename, "renamed to", of);
	if (strcmp(word, "link") == 0)
		return try_two(symlink, "linked", of);
	if (strcmp(word, "env") == 0)
		return printf("%s=%s\n", of, getenv(of) ? getenv(of) : "(none)");
	if (strcmp(word, "random") == 0)
		return getentropy(bytes, sizeof(bytes)) < 0 ? -1 : printf("random\n");
	if (strcmp(word, "clock") == 0)
		return clock_gettime(CLOCK_REALTIME, &t) < 0 || t.tv_sec < 1600000000
			       ? -1
			       : printf("clock\n");
	if (strcmp(word, "in") == 0)
		return fgets((char *)bytes, sizeof(bytes), stdin) ? printf("in: %s", bytes) : -1;
	if (strcmp(word, "exit") == 0)
		exit(atoi(of));
	errno = EINVAL;
	return -1;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (try_one(argv[i]) < 0)
			printf("%s failed: %s\n", argv[i], strerror(errno));
	}
	return 0;
}
