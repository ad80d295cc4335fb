/* Results of an imagined node, for tests of the judge. */
#ifndef GPUPROOF_TESTS_JUDGE_FIXTURE_H
#define GPUPROOF_TESTS_JUDGE_FIXTURE_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "judge/judge.h"

static inline void node_init(struct result *r, size_t devices, const char *name)
{
	memset(r, 0, sizeof(*r));
	r->devices = xcalloc(devices, sizeof(*r->devices));
	r->device_count = devices;
	r->state = xstrdup("complete");
	r->config_text = xstrdup("");
	r->config_name = xstrdup("test");
	for (size_t i = 0; i < devices; i++) {
		struct device_info *d = &r->devices[i];

		snprintf(d->id, sizeof(d->id), "cuda:%zu", i);
		snprintf(d->uuid, sizeof(d->uuid), "GPU-%zu", i);
		snprintf(d->name, sizeof(d->name), "%s", name);
		strcpy(d->backend, "cuda");
	}
}

/* transfer/h2d/pinned/512MiB@cuda:<device> with a bandwidth; without samples' interval when `half` is NaN. */
static inline struct case_result *node_add(struct result *r, size_t device, double value,
					   double half)
{
	struct case_result *c = result_add_case(r);

	c->suite = xstrdup("transfer");
	c->label = xstrdup("");
	c->id = xasprintf("transfer/h2d/pinned/512MiB@cuda:%zu", device);
	c->device = xasprintf("cuda:%zu", device);
	c->devices = xcalloc(1, sizeof(*c->devices));
	c->devices[c->device_count++] = xstrdup(c->device);
	c->reason = xstrdup("");
	c->verification = (struct verification){ .done = true, .error = NAN, .tolerance = NAN };
	c->parameters = xcalloc(3, sizeof(*c->parameters));
	c->parameters[c->parameter_count++] =
		(struct case_parameter){ xstrdup("direction"), xstrdup("h2d"), NAN, xstrdup("") };
	c->parameters[c->parameter_count++] =
		(struct case_parameter){ xstrdup("memory"), xstrdup("pinned"), NAN, xstrdup("") };
	c->parameters[c->parameter_count++] =
		(struct case_parameter){ xstrdup("size"), xstrdup("512MiB"), 512 << 20,
					 xstrdup("B") };
	c->metrics = xcalloc(1, sizeof(*c->metrics));
	c->metric_count = c->metric_capacity = 1;
	c->metrics[0] = (struct metric_value){ .name = xstrdup("transfer.bandwidth"),
					       .unit = xstrdup("B/s"),
					       .better = BETTER_HIGHER,
					       .headline = true,
					       .value = value,
					       .low = value * (1 - half),
					       .high = value * (1 + half),
					       .n = 30,
					       .series = xstrdup("transfer.time") };
	return c;
}

static inline void limits_from(struct limits *limits, const char *body)
{
	struct text errors = TEXT_EMPTY;
	struct config config;
	char *text = xasprintf("[limit a]\n%s", body);

	if (config_parse_with(&config, &schema_limits, "test.ini", text, strlen(text), NULL, 0,
			      &errors) != STATUS_OK)
		fprintf(stderr, "%s", errors.data);
	limits_of_config(limits, &config);
	config_release(&config);
	text_release(&errors);
	free(text);
}

#endif
