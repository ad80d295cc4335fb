/*
 * Custom formats of github-action-benchmark. Each file has one direction: bigger or smaller is
 * better.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "export/escape.h"
#include "export/export.h"

static void github_action_benchmark_text_member(struct json_writer *w, const char *name,
						const char *text)
{
	char *plain = escape_plain(text, true, ESCAPE_ALL);

	writer_text_member(w, name, plain);
	free(plain);
}

static void github_action_benchmark_add_metric(struct json_writer *w, const struct result *r,
					       const struct case_result *c,
					       const struct metric_value *m)
{
	const struct device_info *device = result_device(r, c->device);
	char *name = xasprintf("%s %s", export_string(c->id), m->name);
	char *extra =
		xasprintf("%s, n = %zu", device ? device->name : export_string(c->device), m->n);

	writer_open(w, '{');
	github_action_benchmark_text_member(w, "name", name);
	github_action_benchmark_text_member(w, "unit", m->unit);
	writer_real_member(w, "value", m->value);
	if (isfinite(m->low) && isfinite(m->high)) {
		char range[48];

		snprintf(range, sizeof(range), "± %.4g",
			 fmax(m->high - m->value, m->value - m->low));
		github_action_benchmark_text_member(w, "range", range);
	}
	github_action_benchmark_text_member(w, "extra", extra);
	writer_close(w, '}');
	free(name);
	free(extra);
}

static void github_action_benchmark_write_direction(const struct result *r, enum better better,
						    struct text *out)
{
	struct json_writer w = { .expand = 1 };

	writer_open(&w, '[');
	for (size_t i = 0; i < r->case_count; i++) {
		const struct case_result *c = &r->cases[i];

		for (size_t j = 0; c->status == CASE_OK && j < c->metric_count; j++)
			if (c->metrics[j].headline && c->metrics[j].better == better &&
			    isfinite(c->metrics[j].value))
				github_action_benchmark_add_metric(&w, r, c, &c->metrics[j]);
	}
	writer_close(&w, ']');
	export_json(&w, out);
}

static void github_action_write_bigger(const struct result *r, struct text *out)
{
	github_action_benchmark_write_direction(r, BETTER_HIGHER, out);
}

static void github_action_write_smaller(const struct result *r, struct text *out)
{
	github_action_benchmark_write_direction(r, BETTER_LOWER, out);
}

const struct exporter export_github_action_bigger = { github_action_write_bigger, NULL };
const struct exporter export_github_action_smaller = { github_action_write_smaller, NULL };
