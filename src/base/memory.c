#include "base/memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *check(void *p, size_t size)
{
	if (!p && size) {
		fprintf(stderr, "gpuproof: out of memory: %zu bytes of bookkeeping\n", size);
		exit(70);
	}
	return p;
}

void *xmalloc(size_t size)
{
	return check(malloc(size ? size : 1), size);
}

void *xcalloc(size_t count, size_t size)
{
	return check(calloc(count ? count : 1, size ? size : 1), count);
}

void *xcalloc_aligned(size_t alignment, size_t size)
{
	return memset(check(aligned_alloc(alignment, size), size), 0, size);
}

void *xrealloc(void *old, size_t count, size_t size)
{
	if (size && count > SIZE_MAX / size)
		check(NULL, SIZE_MAX);
	size *= count;
	return check(realloc(old, size ? size : 1), size);
}

char *xstrdup(const char *s)
{
	return xstrndup(s, strlen(s));
}

char *xstrndup(const char *s, size_t n)
{
	size_t length = strnlen(s, n);
	char *copy = xmalloc(length + 1);

	memcpy(copy, s, length);
	copy[length] = '\0';
	return copy;
}

char *xasprintf(const char *format, ...)
{
	char *s = NULL;
	va_list ap;
	int length;

	va_start(ap, format);
	length = vasprintf(&s, format, ap);
	va_end(ap);
	return check(length < 0 ? NULL : s, 1);
}
