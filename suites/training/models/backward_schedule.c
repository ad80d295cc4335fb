#include "suites/training/models/backward_schedule.h"

bool backward_dgrad_first(const struct network *n)
{
	return setup_dgrad_first(n->setup) &&
	       (n->partition.first > 0 || setup_wgrad_microbatches(n->setup) > 1);
}

size_t backward_group(const struct network *n, size_t last)
{
	if (!backward_dgrad_first(n))
		return last - 1;
	return n->segments.count > 0 ? segments_first(&n->segments, last - 1) : n->partition.first;
}

/*
 * The first two buffers alternate between groups if there are several; the others are selected by
 * the layer's index in its group.
 */
size_t backward_transient_buffer(const struct network *n, size_t l)
{
	size_t first = backward_group(n, l + 1), between = n->segments.count > 1 ? 2 : 0;

	if (!backward_dgrad_first(n) || n->alternate_transient)
		return l % 2;
	if (first == l)
		return segments_index(&n->segments, l) % 2;
	return between + l - first - 1;
}

uint64_t backward_transient_columns(const struct network *n, size_t buffer)
{
	uint64_t widest = 0;

	if (!backward_dgrad_first(n))
		return buffer < 2 ? network_max_hidden_width(n) : 0;
	for (size_t l = n->partition.first + 1; l < n->partition.last; l++) {
		uint64_t width = partition_width(n->setup, &n->partition, l);

		if (backward_transient_buffer(n, l) == buffer && width > widest)
			widest = width;
	}
	/* The first two may later serve all layers: see backward_layouts_tuned(). */
	return buffer < 2 && widest > 0 ? network_max_hidden_width(n) : widest;
}

size_t backward_transposed_buffer(const struct network *n, size_t l)
{
	if (backward_dgrad_first(n))
		return l - backward_group(n, l + 1);
	return n->alternate_transposed || n->partition.parts > 1 ? l % 2 : 0;
}

uint64_t backward_transposed_columns(const struct network *n, size_t buffer)
{
	uint64_t widest = 0;

	for (size_t l = n->partition.first; l < n->partition.last; l++)
		if (n->local.layer[l].kind == LAYER_LINEAR &&
		    backward_transposed_buffer(n, l) == buffer && n->local.layer[l].out > widest)
			widest = n->local.layer[l].out;
	return widest;
}

void backward_layouts_tuned(struct network *n)
{
	if (!backward_dgrad_first(n) || !n->transient[0] || !n->transient[1])
		return;
	for (size_t l = n->partition.first; l < n->partition.last; l++)
		if (n->wgrad_layouts[l] != WGRAD_TRANSPOSED)
			return;
	n->alternate_transient = true;
	for (size_t i = 2; i < NETWORK_MAX_TRANSIENT; i++) {
		arena_free(n->arena, n->transient[i]);
		n->transient[i] = NULL;
	}
}
