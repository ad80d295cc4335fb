/*
 * Prometheus text format for node_exporter's textfile collector: base units, no timestamps. The
 * collector rejects a whole file for a duplicate sample or a family that is not contiguous, so
 * samples are sorted by family and duplicates dropped. It also rejects a sample that two files
 * have: all carry the run's config and label, so that the samples of two configs differ.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "export/escape.h"
#include "export/export.h"
#include "result/verdict.h"

/* Owns its `char *`. */
struct sample {
	char *family, *help, *labels;
	double value;
};

struct samples {
	struct sample *items;
	size_t count, capacity;
};

static void prometheus_add_label(struct text *labels, const char *name, const char *value)
{
	text_addf(labels, "%s%s=\"", labels->length ? "," : "", name);
	escape_prometheus(labels, value);
	text_add_char(labels, '"');
}

/* Label names and values, the first without a name ends them. */
#define LABELS(...) ((const char *const[]){ __VA_ARGS__, NULL, NULL })

static void prometheus_add_sample(struct samples *samples, const char *family, const char *help,
				  double value, const char *const *labels)
{
	struct text out = TEXT_EMPTY;

	for (; labels && labels[0]; labels += 2)
		prometheus_add_label(&out, labels[0], labels[1]);
	ARRAY_GROW(samples->items, samples->count, samples->capacity);
	samples->items[samples->count++] =
		(struct sample){ xstrdup(family), xstrdup(help), text_detach(&out), value };
}

/* Unit name: promtool expects "seconds", and "per_second" for a denominator. */
static void prometheus_add_unit(struct text *out, const char *unit, size_t length, bool one)
{
	static const char *const units[][3] = {
		{ "s", "seconds", "second" },     { "B", "bytes", "byte" },
		{ "FLOP", "flops", "flop" },      { "Hz", "hertz", "hertz" },
		{ "W", "watts", "watt" },         { "J", "joules", "joule" },
		{ "degC", "celsius", "celsius" }, { "1", "ratio", "one" }
	};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strlen(units[i][0]) == length && strncmp(units[i][0], unit, length) == 0) {
			text_add(out, units[i][one ? 2 : 1]);
			return;
		}
	}
	text_add_bytes(out, unit, length);
}

/* "gpuproof_transfer_bandwidth_bytes_per_second" */
static char *prometheus_family_name(const struct metric_value *m, bool unnamed)
{
	size_t above = strcspn(m->unit, "/");
	struct text name = TEXT_EMPTY;

	text_addf(&name, "gpuproof_%s", m->name);
	if (!unnamed) {
		text_add_char(&name, '_');
		prometheus_add_unit(&name, m->unit, above, false);
	}
	if (m->unit[above]) {
		text_add(&name, "_per_");
		prometheus_add_unit(&name, m->unit + above + 1, strlen(m->unit + above + 1), true);
	}
	for (char *p = name.data; *p; p++)
		if (!isalnum((unsigned char)*p) || (unsigned char)*p > 0x7f)
			*p = '_';
	return text_detach(&name);
}

static void prometheus_add_metric(struct samples *samples, const struct result *r,
				  const struct case_result *c, const struct metric_value *m)
{
	static const char *const better[] = { "higher is better", "lower is better",
					      "no direction is better" };
	const struct device_info *d = result_device(r, c->device);
	const struct presentation *p = result_presentation(r, c->suite);
	const struct metric *row = p ? presentation_metric(p, m->name) : NULL;
	/*
	 * A number without a unit is a ratio only if it is a fraction; a count or a loss is not. In
	 * results that do not tell, each is called a ratio. Only counters may end in "_total".
	 */
	bool unnamed = strcmp(m->unit, "1") == 0 && !text_ends_with(m->name, "_total") &&
		       (text_ends_with(m->name, "_ratio") || (row && !row->percent));
	struct text help = TEXT_EMPTY;
	char *family;

	if (!isfinite(m->value))
		return;
	family = prometheus_family_name(m, unnamed);
	escape_prometheus_help(&help, m->name);
	text_add(&help, " in ");
	escape_prometheus_help(&help,
			       unnamed || strcmp(m->unit, "1") != 0 ? m->unit : "1 (a ratio)");
	text_addf(&help, ", %s", better[m->better]);
	/* A separate series: a drifting value must not be mistaken for that of other nights. */
	prometheus_add_sample(samples, family, help.data, m->value,
			      LABELS("case", c->id, "suite", c->suite, "device", c->device, "model",
				     d ? d->name : "", "uuid", d ? d->uuid : "",
				     case_is_unsettled(c, m) ? "settled" : NULL, "false"));
	text_release(&help);
	free(family);
}

static void prometheus_add_run(struct samples *samples, const struct result *r)
{
	double finished = clock_parse_iso8601(export_string(r->finished));

	prometheus_add_sample(samples, "gpuproof_run_info",
			      "version, id and state of the run that measured these values", 1,
			      LABELS("version", r->gpuproof_version, "run", r->run_id, "state",
				     r->state));
	if (isfinite(finished))
		prometheus_add_sample(samples, "gpuproof_run_finished_timestamp_seconds",
				      "time at which the run ended, in seconds since 1970",
				      finished, NULL);
	if (isfinite(r->seconds))
		prometheus_add_sample(samples, "gpuproof_run_duration_seconds",
				      "duration of the run in seconds", r->seconds, NULL);
	prometheus_add_sample(samples, "gpuproof_run_planned_cases",
			      "number of planned cases of the run", (double)r->planned, NULL);
}

static int prometheus_by_cause(const void *a, const void *b)
{
	const struct verdict_check *p = *(const struct verdict_check *const *)a,
				   *q = *(const struct verdict_check *const *)b;
	int order = (p->cause > q->cause) - (p->cause < q->cause);

	order = order ? order : p->accepted - q->accepted;
	order = order ? order : strcmp(p->devices, q->devices);
	return order ? order : (p > q) - (p < q);
}

/* Checks that did not pass, by cause and devices. */
static void prometheus_add_causes(struct samples *samples, const struct verdicts *v)
{
	const struct verdict_check **checks = xcalloc(v->count + 1, sizeof(*checks));
	size_t found = 0;

	for (size_t i = 0; i < v->count; i++)
		if (v->checks[i].cause != CAUSE_NONE)
			checks[found++] = &v->checks[i];
	qsort(checks, found, sizeof(*checks), prometheus_by_cause);
	for (size_t first = 0, end; first < found; first = end) {
		const struct verdict_check *c = checks[first];

		for (end = first; end < found && checks[end]->cause == c->cause &&
				  checks[end]->accepted == c->accepted &&
				  strcmp(checks[end]->devices, c->devices) == 0;)
			end++;
		prometheus_add_sample(
			samples, "gpuproof_check_causes",
			"number of checks that did not pass, by cause (gpuproof help causes)",
			(double)(end - first),
			LABELS("cause", cause_name(c->cause), "device", c->devices, "uuid", c->uuid,
			       "accepted", c->accepted ? "true" : "false"));
	}
	free(checks);
}

static void prometheus_add_verdicts(struct samples *samples, const struct verdicts *verdicts)
{
	size_t n;

	prometheus_add_causes(samples, verdicts);
	for (int i = 0; i < VERDICT_COUNT; i++)
		prometheus_add_sample(samples, "gpuproof_check_verdicts",
				      "number of checks, by verdict", (double)verdicts->counts[i],
				      LABELS("verdict", verdict_fields_name((enum verdict)i)));
	prometheus_add_sample(samples, "gpuproof_check_accepted", "1: accepted, 0: not accepted",
			      verdicts_accepted(verdicts), NULL);
	n = 0;
	for (size_t i = 0; i < verdicts->device_count; i++)
		for (size_t a = 0; a < verdicts->devices[i].aspect_count; a++)
			n += verdict_aspect_is_missing(&verdicts->devices[i].aspects[a]);
	prometheus_add_sample(samples, "gpuproof_check_missing",
			      "number of promised aspects that were not judged, over all devices",
			      (double)n, NULL);
}

static int prometheus_by_family(const void *a, const void *b)
{
	const struct sample *p = a, *q = b;
	int order = strcmp(p->family, q->family);

	order = order ? order : strcmp(p->labels, q->labels);
	/* Makes the choice among duplicates deterministic. */
	return order ? order : (p->value > q->value) - (p->value < q->value);
}

static void prometheus_write_samples(const struct samples *samples, const char *common,
				     struct text *out)
{
	for (size_t i = 0; i < samples->count; i++) {
		const struct sample *s = &samples->items[i], *before = i ? s - 1 : NULL;
		bool first = !before || strcmp(before->family, s->family) != 0;

		if (first)
			text_addf(out, "# HELP %s %s\n# TYPE %s gauge\n", s->family, s->help,
				  s->family);
		else if (strcmp(before->labels, s->labels) == 0)
			continue;
		text_add(out, s->family);
		if (*common || *s->labels)
			text_addf(out, "{%s%s%s}", common, *common && *s->labels ? "," : "",
				  s->labels);
		text_add_char(out, ' ');
		escape_add_number(out, s->value);
		text_add_char(out, '\n');
	}
}

static void write_prometheus(const struct result *r, struct text *out)
{
	struct samples samples = { 0 };
	struct text common = TEXT_EMPTY;

	/* Labels that all samples of a run begin with. */
	if (*export_string(r->config_name))
		prometheus_add_label(&common, "config", r->config_name);
	if (*export_string(r->label))
		prometheus_add_label(&common, "run_label", r->label);
	prometheus_add_run(&samples, r);
	for (int status = CASE_OK; status <= CASE_ERROR; status++) {
		size_t count = 0;

		for (size_t i = 0; i < r->case_count; i++)
			count += (int)r->cases[i].status == status;
		prometheus_add_sample(&samples, "gpuproof_run_cases", "number of cases, by status",
				      (double)count,
				      LABELS("status", case_status_name((enum case_status)status)));
	}
	prometheus_add_sample(&samples, "gpuproof_run_judged",
			      "1: the run was checked against limits, 0: it was not",
			      r->judgement != NULL, NULL);
	if (r->judgement)
		prometheus_add_verdicts(&samples, r->judgement);
	for (size_t i = 0; i < r->case_count; i++) {
		const struct case_result *c = &r->cases[i];

		for (size_t j = 0; c->status == CASE_OK && j < c->metric_count; j++)
			prometheus_add_metric(&samples, r, c, &c->metrics[j]);
	}
	if (samples.count)
		qsort(samples.items, samples.count, sizeof(*samples.items), prometheus_by_family);
	prometheus_write_samples(&samples, common.length ? common.data : "", out);
	text_release(&common);
	for (size_t i = 0; i < samples.count; i++) {
		free(samples.items[i].family);
		free(samples.items[i].help);
		free(samples.items[i].labels);
	}
	free(samples.items);
}

const struct exporter export_prometheus = { write_prometheus, NULL };
