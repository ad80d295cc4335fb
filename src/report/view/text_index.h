/* Numbers by a pair of texts: an open hash table that grows; look-ups take constant time. */
#ifndef GPUPROOF_REPORT_VIEW_TEXT_INDEX_H
#define GPUPROOF_REPORT_VIEW_TEXT_INDEX_H

#include <stddef.h>

struct text_index {
	struct text_index_slot *slots;
	size_t count, mask;
};

/*
 * The number of the pair, to be read or set; a new one is SIZE_MAX. The texts are borrowed while
 * the index is. The pointer is good until the next call.
 */
size_t *text_index_at(struct text_index *index, const char *first, const char *second);
/* The number of the pair; SIZE_MAX: not found. */
size_t text_index_find(const struct text_index *index, const char *first, const char *second);
void text_index_release(struct text_index *index);

#endif
