#include "suites/training/parallel/block_memory.h"

/* Per token and hidden value: values in the precision, and one-byte masks. */
static double block_formula_bytes(const struct network *n)
{
	double e = (double)precision_bytes(n->setup->precision), t = n->partition.parts,
	       norms = n->setup->pointwise ? 2 : 4, inner = n->setup->pointwise ? 8 : 12;

	return ((norms * e + 2) * (n->partition.sequence ? 1 : t) + inner * e) / t;
}

/* Per token and head: the softmax of the scores, the result of dropout, and a mask. */
static double block_scores_bytes(const struct network *n)
{
	double e = (double)precision_bytes(n->setup->precision), t = n->partition.parts;

	return (2 * e + 1) * (double)n->setup->transformer.heads *
	       (double)n->setup->transformer.sequence / t;
}

struct block_memory block_memory_of(const struct network *n)
{
	double h = (double)n->setup->transformer.hidden, kept = (double)n->partition.kept,
	       step = (double)n->step_rows, t = n->partition.parts, blocks = 0, inputs,
	       bytes = (double)precision_bytes(n->setup->precision);
	struct block_memory m = { .kept = (double)n->blocks.kept_bytes };

	for (size_t l = n->partition.first; l < n->partition.last; l++)
		if (n->local.layer[l].kind == LAYER_BLOCK) {
			blocks++;
			m.kept += (double)n->kept[l] / (double)network_row_shares(n, l) * h * bytes;
		}
	m.published = blocks * kept * h * block_formula_bytes(n);
	if (n->setup->pointwise)
		m.published +=
			step * h * bytes * (1.0 / (double)network_row_shares(n, 1) + 4.0 / t);
	m.unfused = m.published + blocks * kept * block_scores_bytes(n);
	if (blocks == 0 || !setup_recomputes_blocks(n->setup))
		return m;
	inputs = h * bytes / (double)network_row_shares(n, 1);
	m.published = blocks * kept * inputs + step * (h * block_formula_bytes(n) - inputs);
	m.unfused = m.published + step * block_scores_bytes(n);
	return m;
}
