#include "result/host/kernel_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

/* A read from /dev/kmsg returns one whole record of at most this size. */
#define RECORD 8192
#define MOST_BYTES ((size_t)8 << 20)

struct kernel_log {
	const char *const *pci;
	size_t count;
	struct text line; /* incomplete line */
	struct text *out;
};

/* Parses "6,1234,98765432,-;NVRM: ..." of /dev/kmsg; the time is in microseconds since boot. */
static void kernel_log_take_line(struct kernel_log *log)
{
	const char *line = log->line.data ? log->line.data : "", *message = strchr(line, ';');
	static const char *const words[] = { "NVRM",   "nvidia",   "NVLink",
					     "nvlink", "NVSwitch", "nvswitch" };
	unsigned long long priority, number, microseconds;
	bool about_gpus = false;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		about_gpus = about_gpus || strstr(line, words[i]);
	for (size_t i = 0; i < log->count; i++)
		about_gpus = about_gpus || (*log->pci[i] && strstr(line, log->pci[i]));
	if (log->out->length < MOST_BYTES && about_gpus) {
		if (message &&
		    sscanf(line, "%llu,%llu,%llu,", &priority, &number, &microseconds) == 3)
			text_addf(log->out, "[%llu.%06llu] %s\n", microseconds / 1000000,
				  microseconds % 1000000, message + 1);
		else
			text_addf(log->out, "%s\n", line);
	}
	text_reset(&log->line);
}

static bool kernel_log_read_file(struct kernel_log *log, const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	char block[RECORD];
	size_t records = 0;
	ssize_t n;

	if (fd < 0)
		return false;
	/* EPIPE: records were overwritten; the next read returns the oldest that is left. */
	while ((n = read(fd, block, sizeof(block))) > 0 ||
	       (n < 0 && (errno == EPIPE || errno == EINTR))) {
		records++;
		for (ssize_t i = 0; i < n; i++) {
			if (block[i] == '\n')
				kernel_log_take_line(log);
			else
				text_add_char(&log->line, block[i] ? block[i] : '?');
		}
	}
	if (log->line.length)
		kernel_log_take_line(log);
	close(fd);
	return records > 0 || n == 0;
}

const char *kernel_log_read(const char *root, const char *const *pci, size_t count,
			    struct text *out)
{
	static const char *const paths[] = { "/dev/kmsg", "/var/log/kern.log",
					     "/var/log/messages" };
	struct kernel_log log = { .pci = pci, .count = count, .line = TEXT_EMPTY, .out = out };
	const char *found = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(paths) && !found; i++) {
		char *path = xasprintf("%s%s", root, paths[i]);

		if (kernel_log_read_file(&log, path))
			found = paths[i];
		free(path);
	}
	text_release(&log.line);
	return found;
}
