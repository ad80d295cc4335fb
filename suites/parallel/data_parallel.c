#include "suites/parallel/data_parallel.h"

const char *data_parallel_refusal(const struct setup *setup)
{
	if (setup->ranks < 2)
		return "data parallel needs at least two devices";
	return setup->batch % (uint64_t)setup->ranks
		       ? "the batch does not divide by the number of devices"
		       : NULL;
}

void data_parallel_share(const struct setup *setup, int rank, struct share *share,
			 uint64_t *step_rows)
{
	uint64_t rows = setup->batch / (uint64_t)setup->ranks;

	*share = (struct share){
		.last = setup->layers, .row = (uint64_t)rank * rows, .rows = rows, .parts = 1
	};
	*step_rows = rows;
}

double mode_nothing(const struct setup *setup)
{
	(void)setup;
	return 0;
}

size_t buckets_make(const struct setup *setup, const struct model *model, struct bucket *out)
{
	uint64_t first = 0;
	size_t made = 0;

	for (size_t l = model->layers; l-- > 0;) {
		uint64_t count = model_elements(model, l, model->layers) - first;

		if (l > 0 && count * precision_bytes(setup->precision) < setup->bucket_bytes)
			continue;
		out[made++] = (struct bucket){ .layer = l, .first = first, .count = count };
		first += count;
	}
	return made;
}
