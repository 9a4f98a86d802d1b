/* SPDX-License-Identifier: Apache-2.0 */
#include "base/shebang.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int shebang_parse(struct shebang *ret, const char *data, size_t len)
{
	char line[SHEBANG_BYTES + 1], *program = line, *argument, *end;
	struct shebang s = { 0 };

	if (len > SHEBANG_BYTES)
		len = SHEBANG_BYTES;
	if (len < 2 || data[0] != '#' || data[1] != '!')
		return -ENOEXEC;
	memcpy(line, data + 2, len - 2);
	line[len - 2] = '\0';
	end = strchr(line, '\n');
	s.is_cut = !end && len == SHEBANG_BYTES;
	if (!end)
		end = line + strlen(line);
	/* Lines of other systems end with a carriage return. */
	while (end > line && strchr(" \t\r", end[-1]))
		end--;
	*end = '\0';
	program += strspn(program, " \t");
	argument = program + strcspn(program, " \t");
	if (argument == program || (s.is_cut && argument == end))
		return -ENOEXEC;
	memcpy(s.program, program, (size_t)(argument - program));
	argument += strspn(argument, " \t");
	memcpy(s.argument, argument, (size_t)(end - argument));
	*ret = s;
	return 0;
}

int shebang_read(struct shebang *ret, int fd)
{
	char head[SHEBANG_BYTES];
	ssize_t n = pread(fd, head, sizeof(head), 0);

	return n < 0 ? -errno : shebang_parse(ret, head, (size_t)n);
}
