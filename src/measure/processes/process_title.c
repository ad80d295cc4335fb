#include "measure/processes/process_title.h"

#include <linux/prctl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "device/limits.h"

/* Indices of fields in /proc/PID/stat, see proc(5). */
enum {
	STAT_START_CODE = 26,
	STAT_END_CODE,
	STAT_START_STACK,
	STAT_START_DATA = 45,
	STAT_END_DATA,
	STAT_START_BRK,
	STAT_ARG_START,
	STAT_ARG_END,
	STAT_ENV_START,
	STAT_ENV_END,
	STAT_COUNT
};

#define TITLE_BYTES 128

/* Anonymous memory: the kernel reads command lines from no file mapping. */
static char *title;

/* Fields from the third one on, the first after the name in parentheses. */
static bool process_title_read_stat(uint64_t fields[STAT_COUNT])
{
	char line[1024], *at = NULL;
	int field = 3;

	if (device_limits_read_line(line, sizeof(line), "/proc/self/stat"))
		at = strrchr(line, ')');
	for (at = at ? strchr(at, ' ') : NULL; at && field < STAT_COUNT; at = strchr(at, ' '))
		fields[field++] = strtoull(++at, NULL, 10);
	return field == STAT_COUNT;
}

/* Makes the kernel read the command line of this process from `title`. */
static void process_title_point_command_line(void)
{
	uint64_t f[STAT_COUNT];
	struct prctl_mm_map map;

	if (!process_title_read_stat(f))
		return;
	map = (struct prctl_mm_map){ .start_code = f[STAT_START_CODE],
				     .end_code = f[STAT_END_CODE],
				     .start_data = f[STAT_START_DATA],
				     .end_data = f[STAT_END_DATA],
				     .start_brk = f[STAT_START_BRK],
				     .brk = (uint64_t)(uintptr_t)sbrk(0),
				     .start_stack = f[STAT_START_STACK],
				     .arg_start = (uint64_t)(uintptr_t)title,
				     .arg_end = (uint64_t)(uintptr_t)title + TITLE_BYTES,
				     .env_start = f[STAT_ENV_START],
				     .env_end = f[STAT_ENV_END],
				     .exe_fd = (uint32_t)-1 };
	prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof(map), 0);
}

void process_title(const char *format, ...)
{
	static const char program[] = "gpuproof: ";
	bool first = !title;
	va_list ap;

	if (first) {
		void *memory = mmap(NULL, TITLE_BYTES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED)
			return;
		title = memory;
		/* A nonzero last byte tells the kernel that the text ends at its first zero. */
		title[TITLE_BYTES - 1] = ' ';
	}
	memcpy(title, program, sizeof(program));
	va_start(ap, format);
	vsnprintf(title + strlen(program), TITLE_BYTES - sizeof(program), format, ap);
	va_end(ap);
	if (first)
		process_title_point_command_line();
}
