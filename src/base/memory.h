/*
 * Bookkeeping memory. These calls never return NULL: running out of memory for
 * bookkeeping ends the process with exit code 70. Benchmark buffers never come
 * from here but from the backend, where "does not fit" is an ordinary result.
 *
 * Convention: a `char *` field is owned by its struct, a `const char *` field
 * is borrowed or static.
 */
#ifndef GPUPROOF_BASE_MEMORY_H
#define GPUPROOF_BASE_MEMORY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size); /* overflow-checked, zeroed */
/* Zeroed, at a multiple of `alignment`, a power of two that divides `size`. For free(). */
void *xcalloc_aligned(size_t alignment, size_t size);
void *xrealloc(void *old, size_t count, size_t size); /* overflow-checked */
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Texts that very many structs hold alike are kept once: the cases of 10,000 nodes have the same
 * few names of suites, metrics and units. Replaces *text, which malloc() gave, by the shared copy,
 * which must not be changed, stays to the end of the process, and is freed by shared_text_free()
 * alone. NULL, what is shared already and what there is no room for stay as they are. For several
 * threads.
 */
void shared_text(char **text);
/* free(), but for shared ones. */
void shared_text_free(char *text);

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
