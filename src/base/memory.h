/*
 * Heap memory of the program itself. These functions never return NULL: if memory runs out, the
 * process exits with code 70. Benchmark buffers come from the backend instead, where "does not fit"
 * is an ordinary result.
 *
 * Convention: a `char *` member is owned by its struct, a `const char *` member is borrowed or
 * static.
 */
#ifndef GPUPROOF_BASE_MEMORY_H
#define GPUPROOF_BASE_MEMORY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size); /* overflow-checked, zeroed */
/*
 * Zeroed memory aligned to `alignment`, a power of two that divides `size`. Released with free().
 */
void *xcalloc_aligned(size_t alignment, size_t size);
void *xrealloc(void *old, size_t count, size_t size); /* overflow-checked */
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * String interning: strings that many structs have in common are stored once, such as names of
 * suites, metrics and units in the cases of 10,000 nodes. Replaces *text, allocated with malloc(),
 * with the shared copy. Do not change the copy. Pass it only to memory_shared_text_free(), which
 * keeps it for other users until the process ends. NULL, a shared string, and a string for which
 * there is no room stay unchanged. Thread-safe.
 */
void memory_shared_text(char **text);
/* free() that ignores shared strings. */
void memory_shared_text_free(char *text);

/*
 * Makes room for one more element at the end of a growing array:
 *	ARRAY_GROW(list->items, list->count, list->capacity);
 *	list->items[list->count++] = item;
 */
#define ARRAY_GROW(items, count, capacity)                                         \
	do {                                                                       \
		if ((count) == (capacity)) {                                       \
			(capacity) = (capacity) ? 2 * (capacity) : 8;              \
			(items) = xrealloc((items), (capacity), sizeof(*(items))); \
		}                                                                  \
	} while (0)

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#ifdef __cplusplus
}
#endif

#endif
