#include "suites/parallel/segments.h"

#include "suites/parallel/stages.h"

void segments_make(struct segments *s, const struct setup *setup)
{
	*s = (struct segments){ .count = setup->segments };
	if (s->count > setup->layers)
		s->count = setup->layers;
	if (s->count > 0)
		stages_balance(setup, s->count, s->bounds);
}

/* The segment that has `layer`. */
static size_t segment_of(const struct segments *s, size_t layer)
{
	size_t segment = 0;

	while (segment + 1 < s->count && s->bounds[segment + 1] <= layer)
		segment++;
	return segment;
}

size_t segments_buffer(const struct segments *s, size_t l)
{
	if (s->count == 0 || l >= s->bounds[s->count])
		return 0;
	return l - s->bounds[segment_of(s, l)];
}

uint64_t segments_width(const struct segments *s, const struct setup *setup, size_t buffer)
{
	uint64_t widest = 0;

	for (size_t l = 0; l < setup->layers && s->count > 0; l++)
		if (segments_buffer(s, l) == buffer && setup->widths[l] > widest)
			widest = setup->widths[l];
	return widest;
}

size_t segments_again(const struct segments *s, size_t layer)
{
	size_t segment = segment_of(s, layer);

	if (s->count == 0 || segment + 1 == s->count || s->bounds[segment + 1] != layer + 1)
		return layer;
	return s->bounds[segment];
}
