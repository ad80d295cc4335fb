#include "base/memory.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/text.h"

static void *memory_exit_if_null(void *p, size_t size)
{
	if (!p && size) {
		fprintf(stderr, "gpuproof: out of host memory: cannot allocate %zu bytes\n", size);
		exit(70);
	}
	return p;
}

void *xmalloc(size_t size)
{
	return memory_exit_if_null(malloc(size ? size : 1), size);
}

void *xcalloc(size_t count, size_t size)
{
	return memory_exit_if_null(calloc(count ? count : 1, size ? size : 1), count);
}

void *xcalloc_aligned(size_t alignment, size_t size)
{
	return memset(memory_exit_if_null(aligned_alloc(alignment, size), size), 0, size);
}

void *xrealloc(void *old, size_t count, size_t size)
{
	if (size && count > SIZE_MAX / size)
		memory_exit_if_null(NULL, SIZE_MAX);
	size *= count;
	return memory_exit_if_null(realloc(old, size ? size : 1), size);
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
	return memory_exit_if_null(length < 0 ? NULL : s, 1);
}

/*
 * Reserved at once, so that the address of a string shows if it is shared; memory is used as it
 * fills.
 */
#define REGION_BYTES ((size_t)512 << 20)
#define LONGEST 4096
#define FIRST_SLOTS 4096 /* a power of two */

static struct {
	pthread_mutex_t lock;
	char *region;
	size_t used;
	uint32_t *slots; /* offset in the region + 1; 0: free */
	size_t slot_count, count;
} shared = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool memory_is_shared(const char *text)
{
	return shared.region && (uintptr_t)text >= (uintptr_t)shared.region &&
	       (uintptr_t)text < (uintptr_t)shared.region + REGION_BYTES;
}

static bool memory_open_region(void)
{
	void *region;

	if (shared.region)
		return true;
	region = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (region == MAP_FAILED)
		return false;
	shared.slots = xcalloc(FIRST_SLOTS, sizeof(*shared.slots));
	shared.slot_count = FIRST_SLOTS;
	shared.region = region;
	return true;
}

/* Slot of `text`, or the free slot for it. */
static uint32_t *memory_shared_text_slot(const char *text, size_t length)
{
	size_t mask = shared.slot_count - 1;
	size_t at = (size_t)text_hash(TEXT_HASH_START, text, length) & mask;

	while (shared.slots[at] && strcmp(shared.region + shared.slots[at] - 1, text) != 0)
		at = (at + 1) & mask;
	return &shared.slots[at];
}

static void memory_shared_slots_double(void)
{
	uint32_t *old = shared.slots;
	size_t count = shared.slot_count;

	shared.slot_count = 2 * count;
	shared.slots = xcalloc(shared.slot_count, sizeof(*shared.slots));
	for (size_t i = 0; i < count; i++)
		if (old[i]) {
			const char *text = shared.region + old[i] - 1;

			*memory_shared_text_slot(text, strlen(text)) = old[i];
		}
	free(old);
}

void memory_shared_text(char **text)
{
	size_t length = *text ? strlen(*text) : 0;
	uint32_t *slot;

	if (!*text || length > LONGEST)
		return;
	pthread_mutex_lock(&shared.lock);
	if (memory_open_region() && !memory_is_shared(*text)) {
		if (2 * shared.count >= shared.slot_count)
			memory_shared_slots_double();
		slot = memory_shared_text_slot(*text, length);
		if (!*slot && shared.used + length + 1 <= REGION_BYTES) {
			memcpy(shared.region + shared.used, *text, length + 1);
			*slot = (uint32_t)shared.used + 1;
			shared.used += length + 1;
			shared.count++;
		}
		if (*slot) {
			free(*text);
			*text = shared.region + *slot - 1;
		}
	}
	pthread_mutex_unlock(&shared.lock);
}

void memory_shared_text_free(char *text)
{
	if (!memory_is_shared(text))
		free(text);
}
