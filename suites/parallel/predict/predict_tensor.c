#include "suites/parallel/predict/predict_work.h"

#include "suites/parallel/modes/tensor.h"
#include "suites/parallel/predict/predict_reductions.h"

struct schedule {
	const struct work *w;
	struct reductions r;
	uint64_t chunks;
	double rows;                      /* of a chunk */
	size_t summed[TENSOR_CHUNKS_MAX]; /* the number of each chunk's latest sum */
};

static void compute(struct schedule *s, double seconds)
{
	reductions_compute(&s->r, seconds, REDUCTION_DURING_GEMM);
}

static void sum_up(struct schedule *s, uint64_t chunk, uint64_t width)
{
	s->summed[chunk] = s->r.count;
	reductions_add(&s->r, work_collective(s->w, "all_reduce", s->w->setup->ranks,
					      s->rows * (double)width));
}

static void wait_summed(struct schedule *s, uint64_t chunk)
{
	reductions_wait(&s->r, s->summed[chunk]);
}

/* Bias and ReLU of a layer whose outputs are sums come after these. */
static void forward(struct schedule *s, size_t paired)
{
	const struct work *w = s->w;

	for (size_t l = 0; l <= paired; l += 2)
		for (uint64_t c = 0; c < s->chunks; c++) {
			if (l > 0) {
				wait_summed(s, c);
				compute(s, work_activation(w, l - 1, s->rows));
			}
			if (l == paired)
				continue;
			compute(s, work_forward(w, l, s->rows) + work_forward(w, l + 1, s->rows) -
					   work_activation(w, l + 1, s->rows));
			sum_up(s, c, w->setup->widths[l + 2]);
		}
}

/* The gradients of the weights fill the time of the sums. */
static void backward(struct schedule *s, size_t paired)
{
	const struct work *w = s->w;
	double all = (double)w->setup->batch;

	for (size_t l = paired; l > 0; l -= 2) {
		for (uint64_t c = 0; c < s->chunks; c++) {
			if (l < paired)
				wait_summed(s, c);
			compute(s, work_outputs_back(w, l - 1, s->rows) +
					   work_inputs_back(w, l - 1, s->rows) +
					   work_outputs_back(w, l - 2, s->rows) +
					   work_inputs_back(w, l - 2, s->rows));
			if (l > 2)
				sum_up(s, c, w->setup->widths[l - 2]);
			if (l > 2 && w->setup->no_overlap)
				wait_summed(s, c);
		}
		compute(s, work_weights_back(w, l - 1, all) + work_weights_back(w, l - 2, all));
	}
}

double predict_tensor(const struct work *w)
{
	struct schedule s = { .w = w, .chunks = w->setup->chunks ? w->setup->chunks : 1 };
	size_t paired = w->setup->layers / 2 * 2;
	double all = (double)w->setup->batch;

	s.rows = all / (double)s.chunks;
	s.r.no_contention = w->curves->no_contention;
	s.r.event_record = work_event_record(w);
	s.r.stream_wait = work_stream_wait(w, "all_reduce", w->setup->ranks);
	forward(&s, paired);
	if (paired < w->setup->layers)
		compute(&s, work_forward(w, paired, all) + work_backward(w, paired, all));
	compute(&s, work_loss(w, all));
	backward(&s, paired);
	return s.r.now + work_update_begin(w) + work_update(w, (double)w->model.elements);
}
