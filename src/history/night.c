/* Converts a result to a night of the history. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/text.h"
#include "history/history.h"
#include "judge/estimate/kind.h"
#include "base/hash/siphash.h"
#include "result/result.h"
#include "result/verdict.h"

static const char *night_text_or_empty(const char *s)
{
	return s ? s : "";
}

static void night_add_line(struct text *out, const char *name, const char *value)
{
	const char *texts[] = { name, "=", value, "\n" };

	/* A fact is one line, whatever it contains. */
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts) - 1; i++)
		for (const char *p = texts[i] ? texts[i] : ""; *p; p++)
			text_add_char(out, (char)(*p == '\n' ? ' ' : *p));
	text_add_char(out, '\n');
}

static void night_add_config(struct text *out, const struct result *r)
{
	static const struct siphash_key key = { 0, 0 };
	struct text all = TEXT_EMPTY;
	char hash[24];

	for (size_t i = 0; i < r->setting_count; i++) {
		const struct result_setting *s = &r->settings[i];

		/* Settings that affect the measurement; not page titles, not limits. */
		if (s->section && s->key && strcmp(s->section, "report") != 0 &&
		    !text_starts_with(s->section, "limit") && strcmp(s->key, "label") != 0 &&
		    strcmp(s->key, "tags") != 0 && strcmp(s->key, "verdict") != 0)
			text_addf(&all, "%s\n%s\n%s\n", s->section, s->key,
				  night_text_or_empty(s->value));
	}
	snprintf(hash, sizeof(hash), "%016" PRIx64,
		 siphash(&key, all.data ? all.data : "", all.length));
	night_add_line(out, "config", hash);
	text_release(&all);
}

/* Facts of an epoch: hardware of `device` (may be NULL), driver and config. */
static char *night_epoch_facts(const struct result *r, const struct device_info *device)
{
	struct text out = TEXT_EMPTY;

	if (device) {
		char number[64];

		night_add_line(&out, "model", device->name);
		night_add_line(&out, "module", device->module);
		snprintf(number, sizeof(number), "%d", device->ecc);
		night_add_line(&out, "ecc", number);
		snprintf(number, sizeof(number), "%" PRIu64, device->memory_bytes);
		night_add_line(&out, "memory", number);
		snprintf(number, sizeof(number), "%.0f", device->clock_hz);
		night_add_line(&out, "maximum clock", number);
		snprintf(number, sizeof(number), "generation %d, x%d", device->pcie_generation_max,
			 device->pcie_width_max);
		night_add_line(&out, "PCIe", number);
	}
	for (size_t i = 0; i < r->environment_count; i++)
		if (strcasestr(r->environment[i].name, "driver"))
			night_add_line(&out, r->environment[i].name, r->environment[i].value);
	night_add_config(&out, r);
	return text_detach(&out);
}

struct night_filling {
	struct store_night *out;
	const struct result *result;
	const struct case_result *c;
	const struct device_info *device; /* of the case */
	char *section, *point;            /* of the case */
};

/* The machine of a device: its UUID, or else its node. The caller frees the string. */
static char *night_machine_of(const struct store_night *night, const struct device_info *d)
{
	size_t length = d ? device_node_length(d->id) : 0;

	if (d && *d->uuid)
		return xstrdup(d->uuid);
	return length ? xstrndup(d->id, length) : xstrdup(night->host);
}

/* Adds a value of the case, initially unknown; `m` NULL: for all of its metrics. */
static struct store_figure *night_add_figure(struct night_filling *f, const struct metric_value *m,
					     size_t epoch)
{
	struct store_night *out = f->out;

	ARRAY_GROW(out->figures, out->figure_count, out->figure_capacity);
	out->figures[out->figure_count] = (struct store_figure){
		.metric = xstrdup(m ? m->name : ""),
		.case_id = xstrdup(night_text_or_empty(f->c->id)),
		.section = xstrdup(f->section),
		.point = xstrdup(f->point),
		.model = xstrdup(f->device ? f->device->name : ""),
		.machine = night_machine_of(out, f->device),
		.unit = xstrdup(m ? m->unit : ""),
		.kind = xstrdup(m ? figure_kind_name(figure_kind_of(m, f->c, f->device)) : ""),
		.better = m ? m->better : BETTER_NONE,
		.headline = m && m->headline,
		.epoch = epoch,
		.value = NAN,
		.low = NAN,
		.high = NAN
	};
	return &out->figures[out->figure_count++];
}

static double night_finite_or_unknown(double value)
{
	return isfinite(value) ? value : (double)NAN;
}

/*
 * A case without values leaves a gap in its series. So does an unsettled value, because it is not a
 * headline.
 */
static void night_add_case(struct night_filling *f, const struct device_info **devices)
{
	const struct case_result *c = f->c;
	struct store_night *out = f->out;
	size_t epoch = 0;

	f->device = result_device(f->result, c->device);
	f->section =
		xasprintf("%s%s%s", night_text_or_empty(c->suite),
			  *night_text_or_empty(c->label) ? ":" : "", night_text_or_empty(c->label));
	f->point = case_point(c);
	while (epoch < out->epoch_count && devices[epoch] != f->device)
		epoch++;
	if (epoch == out->epoch_count) { /* the first case of this device */
		devices[out->epoch_count++] = f->device;
		out->epochs = xrealloc(out->epochs, out->epoch_count, sizeof(*out->epochs));
		out->epochs[epoch] = night_epoch_facts(f->result, f->device);
	}
	for (size_t i = 0; i < c->metric_count; i++) {
		const struct metric_value *m = &c->metrics[i];
		struct store_figure *figure = night_add_figure(f, m, epoch);

		figure->only_gap = case_is_unsettled(c, m);
		if (figure->only_gap)
			continue;
		figure->value =
			c->status == CASE_OK ? night_finite_or_unknown(m->value) : (double)NAN;
		figure->low = night_finite_or_unknown(m->low);
		figure->high = night_finite_or_unknown(m->high);
	}
	if (!c->metric_count)
		night_add_figure(f, NULL, epoch)->only_gap = true;
	free(f->section);
	free(f->point);
}

/* "rack:7, site:b" -> "rack:7 site:b" */
static char *night_tags_of(const char *written)
{
	struct text out = TEXT_EMPTY;

	for (const char *p = written; *p; p += strcspn(p, " ,\t")) {
		char *tag;

		p += strspn(p, " ,\t");
		tag = xstrndup(p, strcspn(p, " ,\t"));
		if (*tag && !history_has_tag(out.data ? out.data : "", tag))
			text_addf(&out, "%s%s", out.length ? " " : "", tag);
		free(tag);
	}
	return text_detach(&out);
}

enum status night_of_result(const struct result *r, struct store_night *out, struct error *err)
{
	/* All devices with an epoch, and NULL. */
	const struct device_info **devices = xcalloc(r->device_count + 2, sizeof(*devices));
	struct night_filling f = { .out = out, .result = r };
	struct text facts = TEXT_EMPTY;

	memset(out, 0, sizeof(*out));
	if (!history_day(r->started, &out->day) || !*night_text_or_empty(r->run_id)) {
		free(devices);
		return error_set(err, STATUS_USAGE, "the result has no run id or no start time");
	}
	out->run_id = xstrdup(r->run_id);
	out->started = xstrdup(r->started);
	out->host = xstrdup(night_text_or_empty(result_fact(r, "hostname")));
	out->label = xstrdup(night_text_or_empty(r->label));
	out->state = xstrdup(night_text_or_empty(r->state));
	out->tags = night_tags_of(night_text_or_empty(r->tags));
	out->verdict = xstrdup(r->judgement ? verdicts_word(r->judgement) : "");
	night_add_line(&facts, "gpuproof", r->gpuproof_version);
	for (size_t i = 0; i < r->environment_count; i++)
		night_add_line(&facts, r->environment[i].name, r->environment[i].value);
	out->facts = text_detach(&facts);
	out->devices = xcalloc(r->device_count + 1, sizeof(*out->devices));
	out->device_count = r->device_count;
	for (size_t i = 0; i < r->device_count; i++) {
		const struct device_info *d = &r->devices[i];

		out->devices[i] = (struct store_device){ .id = xstrdup(d->id),
							 .machine = night_machine_of(out, d),
							 .model = xstrdup(d->name),
							 .serial = xstrdup(d->serial),
							 .slot = xstrdup(d->pci) };
	}
	for (size_t i = 0; i < r->case_count; i++) {
		f.c = &r->cases[i];
		night_add_case(&f, devices);
	}
	free(devices);
	return STATUS_OK;
}

void store_night_release(struct store_night *night)
{
	char *texts[] = { night->run_id, night->started, night->host,  night->label,
			  night->state,  night->verdict, night->facts, night->tags };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(texts[i]);
	for (size_t i = 0; i < night->device_count; i++) {
		struct store_device *d = &night->devices[i];
		char *words[] = { d->id, d->machine, d->model, d->serial, d->slot };

		for (size_t k = 0; k < ARRAY_SIZE(words); k++)
			free(words[k]);
	}
	for (size_t i = 0; i < night->epoch_count; i++)
		free(night->epochs[i]);
	for (size_t i = 0; i < night->figure_count; i++) {
		struct store_figure *f = &night->figures[i];
		char *words[] = { f->metric, f->case_id, f->section, f->point,
				  f->model,  f->machine, f->unit,    f->kind };

		for (size_t k = 0; k < ARRAY_SIZE(words); k++)
			free(words[k]);
	}
	free(night->devices);
	free(night->epochs);
	free(night->figures);
	memset(night, 0, sizeof(*night));
}
