#include "suites/training/parallel/baseline_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "suites/shared/sustained.h"

/* A run has a few models, batches and precisions. */
#define KEPT_MOST 8

struct baseline {
	const struct device *device;
	struct setup setup;
	struct sampling rules;
	double load_seconds;  /* sustained_load_seconds() */
	struct series series; /* the cache's own copy */
	char *id;             /* id of the case that measured it */
	double seconds;       /* clock time of the measurement */
};

struct baseline_cache {
	struct baseline kept[KEPT_MOST];
	size_t count, next;
};

struct baseline_cache *baseline_cache_open(void)
{
	return xcalloc(1, sizeof(struct baseline_cache));
}

static void baseline_cache_release(struct baseline *a)
{
	free(a->series.samples);
	free(a->id);
	*a = (struct baseline){ 0 };
}

void baseline_cache_close(struct baseline_cache *cache)
{
	for (size_t i = 0; i < KEPT_MOST; i++)
		baseline_cache_release(&cache->kept[i]);
	free(cache);
}

/* Compares all properties that determine the step's duration; data do not. */
static bool baseline_cache_same_step(const struct setup *a, const struct setup *b)
{
	return a->layers == b->layers &&
	       memcmp(a->widths, b->widths, (a->layers + 1) * sizeof(a->widths[0])) == 0 &&
	       a->kind == b->kind &&
	       memcmp(&a->transformer, &b->transformer, sizeof(a->transformer)) == 0 &&
	       memcmp(&a->images, &b->images, sizeof(a->images)) == 0 &&
	       a->segments == b->segments && a->pointwise == b->pointwise &&
	       a->loss_chunks == b->loss_chunks && a->batch == b->batch && a->shards == b->shards &&
	       a->no_aliasing == b->no_aliasing && a->precision == b->precision &&
	       a->storage_only == b->storage_only && a->weight_gradient == b->weight_gradient &&
	       a->fusion == b->fusion && a->search_seconds == b->search_seconds &&
	       a->graph == b->graph && a->optimizer == b->optimizer && a->rate == b->rate &&
	       a->momentum == b->momentum && a->loss_scale == b->loss_scale &&
	       a->dynamic_scale == b->dynamic_scale;
}

static const struct baseline *baseline_cache_lookup(const struct baseline_cache *cache,
						    const struct run *run,
						    const struct setup *setup)
{
	const struct sampling *rules = run->sampler.rules;

	for (size_t i = 0; i < cache->count; i++) {
		const struct baseline *b = &cache->kept[i];
		const struct sampling *r = &b->rules;

		if (b->device == run->devices[0] && baseline_cache_same_step(&b->setup, setup) &&
		    r->min_samples == rules->min_samples && r->max_samples == rules->max_samples &&
		    r->target == rules->target && r->max_seconds == rules->max_seconds &&
		    r->sample_seconds == rules->sample_seconds && r->warmup == rules->warmup &&
		    r->preheat_seconds == rules->preheat_seconds &&
		    r->settle_seconds == rules->settle_seconds &&
		    b->load_seconds == sustained_load_seconds(run) &&
		    clock_seconds() - b->seconds < BASELINE_CACHE_SECONDS)
			return b;
	}
	return NULL;
}

/* `to` keeps its name and unit. */
static void baseline_cache_copy_samples(struct series *to, const struct series *from)
{
	to->samples = xmalloc(from->count * sizeof(*to->samples));
	memcpy(to->samples, from->samples, from->count * sizeof(*to->samples));
	to->count = to->capacity = from->count;
	to->batch = from->batch;
	to->first = from->first;
	to->load = from->load;
	to->stop = from->stop;
	to->statistics = from->statistics;
}

const struct series *baseline_cache_find(const struct baseline_cache *cache, struct run *run,
					 const struct setup *setup, const char *name)
{
	const struct baseline *a = baseline_cache_lookup(cache, run, setup);
	struct series *series;

	if (!a)
		return NULL;
	series = case_result_add_times(run->result, name);
	baseline_cache_copy_samples(series, &a->series);
	run_note(run,
		 "The single-device time was measured by %s, on the same device %.0f s earlier.",
		 a->id, clock_seconds() - a->seconds);
	return series;
}

void baseline_cache_store(struct baseline_cache *cache, const struct run *run,
			  const struct setup *setup, const struct series *series)
{
	struct baseline *a = &cache->kept[cache->next];

	if (series->count == 0)
		return;
	baseline_cache_release(a);
	*a = (struct baseline){ .device = run->devices[0],
				.setup = *setup,
				.rules = *run->sampler.rules,
				.load_seconds = sustained_load_seconds(run),
				.id = xstrdup(run->result->id ? run->result->id
							      : "an earlier case"),
				.seconds = clock_seconds() };
	baseline_cache_copy_samples(&a->series, series);
	cache->next = (cache->next + 1) % KEPT_MOST;
	cache->count = cache->count < KEPT_MOST ? cache->count + 1 : cache->count;
}
