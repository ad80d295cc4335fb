/* One device's own time is measured once for all splits of the same model, and only for those. */
#include "base/memory.h"
#include "parallel_setups.h"
#include "plan/suite.h"
#include "suites/training/parallel/measure.h"
#include "suites/training/parallel/ranks/connection_cache.h"

struct measured {
	struct case_result result;
	const struct series *single;
	bool told; /* that it is another case's */
};

static enum status measure(void *state, struct device *device, struct world *world,
			   const struct setup *setup, int64_t samples, struct measured *out,
			   struct error *err)
{
	struct measure_options options = { .verify_flops = 1e5, .iterations = samples };
	struct sampling rules = { .min_samples = 4,
				  .max_samples = 4,
				  .target = 0.01,
				  .max_seconds = 1,
				  .sample_seconds = 1e-5 };
	struct plan_case c = { .suite = suite_find("parallel") };
	struct run run = { .c = &c,
			   .devices = &device,
			   .device_count = 1,
			   .world = world,
			   .suite_state = state,
			   .result = &out->result };

	case_result_init(&out->result);
	run.sampler = (struct sampler){ .rules = &rules, .device = device, .world = world };
	if (parallel_measure_setup(&run, setup, &options, err) != STATUS_OK)
		return err->status;
	out->single = case_series(&out->result, "parallel.single_time");
	out->told = out->result.notes && strstr(out->result.notes, "The single-device time was "
								   "measured by");
	return STATUS_OK;
}

static bool same_samples(const struct series *a, const struct series *b)
{
	return a->count == b->count && a->batch == b->batch &&
	       memcmp(a->samples, b->samples, a->count * sizeof(*a->samples)) == 0 &&
	       a->statistics.median == b->statistics.median;
}

/* Measured before and after, alone: whether the second has the first one's samples. */
struct pair {
	struct setup first, second;
	int64_t samples[2];
	bool same;
};

static enum status run_pair(struct device *device, struct world *world, void *context,
			    struct error *err)
{
	const struct pair *p = context;
	void *state = suite_find("parallel")->open_state();
	struct measured a, b;
	enum status status = measure(state, device, world, &p->first, p->samples[0], &a, err);

	if (status == STATUS_OK)
		status = measure(state, device, world, &p->second, p->samples[1], &b, err);
	suite_find("parallel")->close_state(state);
	if (status != STATUS_OK || world->rank > 0)
		return status;
	if (!a.single || !b.single || a.told || b.told != p->same ||
	    same_samples(a.single, b.single) != p->same)
		status = error_set(err, STATUS_INTERNAL, "%s",
				   p->same ? "measured again" : "another model's");
	if (!case_metric(&b.result, "parallel.single_time") ||
	    case_metric(&b.result, "parallel.single_time")->value != b.single->statistics.median)
		status = error_set(err, STATUS_INTERNAL, "the metric is not of the samples");
	case_result_release(&a.result);
	case_result_release(&b.result);
	return status;
}

static void expect(struct pair p, const char *what)
{
	assert_ranks(run_ranks(2, run_pair, &p), 2, STATUS_OK, what);
}

static struct pair pair_of(const char *first, const char *second)
{
	return (struct pair){ .first = tiny(first, 2, PRECISION_FP32),
			      .second = tiny(second, 2, PRECISION_FP32),
			      .samples = { 4, 4 } };
}

static void splits_of_one_model_have_one_time(void **state)
{
	struct pair p = pair_of("ddp", "layer_split");

	(void)state;
	p.same = true;
	p.second.microbatches = 4;
	p.second.seed++;
	expect(p, "another split");
}

static void what_changes_the_step_or_its_timing_is_measured(void **state)
{
	struct pair batch = pair_of("ddp", "ddp"), width = batch, precision = batch, graph = batch,
		    optimizer = batch, fusion = batch, weak = batch, samples = batch;

	(void)state;
	batch.second.batch *= 2;
	expect(batch, "batch");
	width.second.widths[2]++;
	expect(width, "width");
	precision.second = tiny("ddp", 2, PRECISION_FP64);
	expect(precision, "precision");
	optimizer.second.optimizer = OPTIMIZER_SGD;
	expect(optimizer, "optimizer");
	fusion.second.fusion = FUSION_OFF;
	expect(fusion, "fusion");
	weak.second.weak = true;
	expect(weak, "a part of the batch");
	samples.samples[1] = 5;
	expect(samples, "rules");
	graph.same = true; /* nothing differs: the pairs above can fail */
	expect(graph, "the same");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(splits_of_one_model_have_one_time),
		cmocka_unit_test(what_changes_the_step_or_its_timing_is_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
