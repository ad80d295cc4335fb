#include "suites/training/models/stages.h"

#include <math.h>

#include "suites/training/models/model.h"

static double stages_work_of(const struct setup *setup, size_t first, size_t last)
{
	double flops = 0;

	for (size_t l = first; l < last; l++)
		flops += setup_layer_flops(setup, l, setup->batch);
	return flops;
}

/*
 * least[s][l]: the largest stage if layers [first, first + l) are divided optimally into s stages;
 * cut: its last bound, also relative to the first layer.
 */
struct stage_table {
	size_t first;
	double least[SETUP_MAX_LAYERS + 1][SETUP_MAX_LAYERS + 1];
	size_t cut[SETUP_MAX_LAYERS + 1][SETUP_MAX_LAYERS + 1];
};

static void stages_best_cut(const struct setup *setup, struct stage_table *table, size_t stages,
			    size_t layers)
{
	table->least[stages][layers] = INFINITY;
	for (size_t cut = stages - 1; cut < layers; cut++) {
		double largest =
			fmax(table->least[stages - 1][cut],
			     stages_work_of(setup, table->first + cut, table->first + layers));

		if (largest < table->least[stages][layers]) {
			table->least[stages][layers] = largest;
			table->cut[stages][layers] = cut;
		}
	}
}

void stages_balance_layers(const struct setup *setup, size_t first, size_t last, size_t stages,
			   size_t *bounds)
{
	struct stage_table table = { .first = first };
	size_t layers = last - first, at = layers;

	for (size_t l = 1; l <= layers; l++)
		table.least[0][l] = INFINITY;
	for (size_t s = 1; s <= stages; s++)
		for (size_t l = s; l <= layers; l++)
			stages_best_cut(setup, &table, s, l);
	bounds[stages] = last;
	for (size_t s = stages; s > 0; s--) {
		at = table.cut[s][at];
		bounds[s - 1] = first + at;
	}
}

void stages_balance(const struct setup *setup, size_t stages, size_t *bounds)
{
	stages_balance_layers(setup, 0, setup->layers, stages, bounds);
}
