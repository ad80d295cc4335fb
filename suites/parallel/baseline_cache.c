#include "suites/parallel/baseline_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"

/* A run has a few models, batches and precisions. */
#define KEPT_MOST 8

struct alone {
	const struct device *device;
	struct setup setup;
	struct sampling rules;
	struct series series; /* of its own */
	char *id;             /* of the case that measured it */
	double seconds;       /* when, by the clock */
};

static struct alone kept[KEPT_MOST];
static size_t count, next;

static void release(struct alone *a)
{
	free(a->series.samples);
	free(a->id);
	*a = (struct alone){ 0 };
}

void baseline_cache_clear(void)
{
	for (size_t i = 0; i < KEPT_MOST; i++)
		release(&kept[i]);
	count = next = 0;
}

static bool same_rules(const struct sampling *a, const struct sampling *b)
{
	return a->min_samples == b->min_samples && a->max_samples == b->max_samples &&
	       a->target == b->target && a->max_seconds == b->max_seconds &&
	       a->sample_seconds == b->sample_seconds && a->warmup == b->warmup &&
	       a->preheat_seconds == b->preheat_seconds &&
	       a->settle_seconds == b->settle_seconds;
}

static bool same_optimizer(const struct setup *a, const struct setup *b)
{
	return a->optimizer == b->optimizer && a->rate == b->rate && a->momentum == b->momentum &&
	       a->loss_scale == b->loss_scale && a->dynamic_scale == b->dynamic_scale;
}

/* What decides how long the step takes. Data do not. */
static bool same_step(const struct setup *a, const struct setup *b)
{
	return a->layers == b->layers &&
	       memcmp(a->widths, b->widths, (a->layers + 1) * sizeof(a->widths[0])) == 0 &&
	       a->batch == b->batch && a->shards == b->shards && a->precision == b->precision &&
	       a->storage_only == b->storage_only && a->weight_gradient == b->weight_gradient &&
	       a->fusion == b->fusion && a->search_seconds == b->search_seconds &&
	       a->graph == b->graph && same_optimizer(a, b);
}

static const struct alone *find(const struct run *run, const struct setup *setup)
{
	for (size_t i = 0; i < count; i++)
		if (kept[i].device == run->devices[0] && same_step(&kept[i].setup, setup) &&
		    same_rules(&kept[i].rules, run->sampler.rules) &&
		    clock_seconds() - kept[i].seconds < BASELINE_CACHE_SECONDS)
			return &kept[i];
	return NULL;
}

/* `to` keeps its name and unit. */
static void copy_samples(struct series *to, const struct series *from)
{
	to->samples = xmalloc(from->count * sizeof(*to->samples));
	memcpy(to->samples, from->samples, from->count * sizeof(*to->samples));
	to->count = to->capacity = from->count;
	to->batch = from->batch;
	to->first = from->first;
	to->stop = from->stop;
	to->statistics = from->statistics;
}

const struct series *baseline_cache_find(struct run *run, const struct setup *setup, const char *name)
{
	const struct alone *a = find(run, setup);
	struct series *series;

	if (!a)
		return NULL;
	series = case_result_add_times(run->result, name);
	copy_samples(series, &a->series);
	run_note(run, "The time on one device is that of %s, which took it on the same device %.0f s before.",
		 a->id, clock_seconds() - a->seconds);
	return series;
}

void baseline_cache_store(const struct run *run, const struct setup *setup, const struct series *series)
{
	struct alone *a = &kept[next];

	if (series->count == 0)
		return;
	release(a);
	*a = (struct alone){ .device = run->devices[0],
			     .setup = *setup,
			     .rules = *run->sampler.rules,
			     .id = xstrdup(run->result->id ? run->result->id : "an earlier case"),
			     .seconds = clock_seconds() };
	copy_samples(&a->series, series);
	next = (next + 1) % KEPT_MOST;
	count = count < KEPT_MOST ? count + 1 : count;
}
