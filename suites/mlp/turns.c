#include "suites/mlp/turns.h"

#include "suites/mlp/mode.h"

bool turns_inputs_first(const struct network *n)
{
	return n->setup->mode->inputs_first && n->share.first > 0;
}

size_t turns_group(const struct network *n, size_t last)
{
	if (!turns_inputs_first(n))
		return last - 1;
	return n->segments.count > 0 ? segments_first(&n->segments, last - 1) : n->share.first;
}

/* Two in turn between groups, if there are several; the others by their place in the group. */
size_t turns_transient(const struct network *n, size_t l)
{
	size_t first = turns_group(n, l + 1), between = n->segments.count > 1 ? 2 : 0;

	if (!turns_inputs_first(n) || n->transient_in_turn)
		return l % 2;
	if (first == l)
		return segments_index(&n->segments, l) % 2;
	return between + l - first - 1;
}

uint64_t turns_transient_columns(const struct network *n, size_t buffer)
{
	uint64_t widest = 0;

	if (!turns_inputs_first(n))
		return buffer < 2 ? network_inside(n) : 0;
	for (size_t l = n->share.first + 1; l < n->share.last; l++) {
		uint64_t width = share_width(n->setup, &n->share, l);

		if (turns_transient(n, l) == buffer && width > widest)
			widest = width;
	}
	/* The first two may become the only ones. */
	return buffer < 2 && widest > 0 ? network_inside(n) : widest;
}

size_t turns_transposed(const struct network *n, size_t l)
{
	if (turns_inputs_first(n))
		return l - turns_group(n, l + 1);
	return n->transposed_in_turn || n->share.parts > 1 ? l % 2 : 0;
}

uint64_t turns_transposed_columns(const struct network *n, size_t buffer)
{
	uint64_t widest = 0;

	for (size_t l = n->share.first; l < n->share.last; l++)
		if (turns_transposed(n, l) == buffer && n->local.layer[l].out > widest)
			widest = n->local.layer[l].out;
	return widest;
}

void turns_settled(struct network *n)
{
	if (!turns_inputs_first(n) || !n->transient[0] || !n->transient[1])
		return;
	for (size_t l = n->share.first; l < n->share.last; l++)
		if (n->routes[l] != ROUTE_TRANSPOSED)
			return;
	n->transient_in_turn = true;
	for (size_t i = 2; i < NETWORK_MAX_TRANSIENT; i++) {
		arena_free(n->arena, n->transient[i]);
		n->transient[i] = NULL;
	}
}
