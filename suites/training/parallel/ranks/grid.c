#include "suites/training/parallel/ranks/grid.h"

#include <stdio.h>

struct grid grid_of(const struct setup *setup)
{
	return setup->grid.data > 0 ? setup->grid : (struct grid){ 1, 1, setup->ranks };
}

struct grid_place grid_place(const struct setup *setup, int rank)
{
	struct grid g = grid_of(setup);

	return (struct grid_place){ .part = rank % g.tensor,
				    .stage = rank / g.tensor % g.pipeline,
				    .data = rank / g.tensor / g.pipeline };
}

int grid_rank(const struct setup *setup, struct grid_place place)
{
	struct grid g = grid_of(setup);

	return (place.data * g.pipeline + place.stage) * g.tensor + place.part;
}

bool grid_parse(const char *text, struct grid *out)
{
	char rest;

	return sscanf(text, "%dx%dx%d%c", &out->data, &out->tensor, &out->pipeline, &rest) == 3 &&
	       out->data > 0 && out->tensor > 0 && out->pipeline > 0 &&
	       out->data <= NODE_DEVICES_MOST && out->tensor <= NODE_DEVICES_MOST &&
	       out->pipeline <= NODE_DEVICES_MOST;
}
