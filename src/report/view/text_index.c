#include "report/view/text_index.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

struct text_index_slot {
	const char *first, *second; /* NULL: free */
	uint64_t hash;
	size_t number;
};

static uint64_t text_index_hash_of(const char *first, const char *second)
{
	/* With the first one's end, "ab" and "c" are not "a" and "bc". */
	return text_hash(text_hash(TEXT_HASH_START, first, strlen(first) + 1), second,
			 strlen(second));
}

/* The slot of the pair, or the free slot for it. */
static struct text_index_slot *text_index_slot_of(const struct text_index *index, uint64_t hash,
						  const char *first, const char *second)
{
	size_t at = (size_t)hash & index->mask;

	while (index->slots[at].first &&
	       (index->slots[at].hash != hash || strcmp(index->slots[at].first, first) != 0 ||
		strcmp(index->slots[at].second, second) != 0))
		at = (at + 1) & index->mask;
	return &index->slots[at];
}

size_t *text_index_at(struct text_index *index, const char *first, const char *second)
{
	uint64_t hash = text_index_hash_of(first, second);
	struct text_index_slot *slot;

	if (!index->slots || 2 * index->count > index->mask) {
		struct text_index larger = { .count = index->count, .mask = 2 * index->mask + 1 };

		larger.mask = larger.mask < 31 ? 31 : larger.mask;
		larger.slots = xcalloc(larger.mask + 1, sizeof(*larger.slots));
		for (size_t i = 0; index->slots && i <= index->mask; i++) {
			const struct text_index_slot *s = &index->slots[i];

			if (s->first)
				*text_index_slot_of(&larger, s->hash, s->first, s->second) = *s;
		}
		free(index->slots);
		*index = larger;
	}
	slot = text_index_slot_of(index, hash, first, second);
	if (!slot->first) {
		*slot = (struct text_index_slot){ first, second, hash, SIZE_MAX };
		index->count++;
	}
	return &slot->number;
}

size_t text_index_find(const struct text_index *index, const char *first, const char *second)
{
	const struct text_index_slot *slot =
		index->slots ? text_index_slot_of(index, text_index_hash_of(first, second), first,
						  second)
			     : NULL;

	return slot && slot->first ? slot->number : SIZE_MAX;
}

void text_index_release(struct text_index *index)
{
	free(index->slots);
	*index = (struct text_index){ 0 };
}
