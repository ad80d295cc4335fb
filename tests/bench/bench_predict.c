/*
 * Predictions of the suite `parallel` and the measured times, predicted anew from the curves of
 * each result by the rules of this program: bench_predict RESULT.json... So a change of predict*.c
 * is judged by runs that are there, without a GPU.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "measure/run.h"
#include "plan/plan.h"
#include "plan/suite.h"
#include "result/result.h"

static void forget(struct case_result *c, const char *metric)
{
	for (size_t i = 0; i < c->metric_count; i++)
		if (strcmp(c->metrics[i].name, metric) == 0)
			c->metrics[i].name[0] = '-';
}

static double value_of(const struct case_result *c, const char *metric)
{
	const struct metric_value *value = case_metric(c, metric);

	return value ? value->value : NAN;
}

static struct case_result *case_of(struct result *result, const char *id)
{
	for (size_t i = 0; i < result->case_count; i++)
		if (strcmp(result->cases[i].id, id) == 0)
			return &result->cases[i];
	return NULL;
}

static void predict(const struct plan_case *planned, struct result *result)
{
	struct case_result *c = case_of(result, planned->id);
	struct run run = { .c = planned, .result = c };
	double before;

	if (strcmp(planned->suite->name, "parallel") != 0 || !c || c->status != CASE_OK)
		return;
	before = value_of(c, "parallel.prediction_error");
	forget(c, "parallel.predicted_time");
	forget(c, "parallel.prediction_error");
	planned->suite->derive(&run, result);
	printf("%-64.*s %9.3f ms %9.3f predicted %+6.1f %%, by the run %+6.1f %%\n",
	       (int)strcspn(c->id, "@"), c->id, 1e3 * value_of(c, "parallel.step_time"),
	       1e3 * value_of(c, "parallel.predicted_time"),
	       100 * value_of(c, "parallel.prediction_error"), 100 * before);
}

static enum status predict_all(const char *path, struct error *err)
{
	struct result result;
	struct config config;
	struct plan plan = { 0 };
	struct text errors = TEXT_EMPTY;

	if (result_read(&result, path, err) != STATUS_OK)
		return err->status;
	if (config_parse(&config, path, result.config_text, strlen(result.config_text), NULL, 0,
			 &errors) != STATUS_OK)
		error_set(err, STATUS_USAGE, "%s", errors.data);
	else if (plan_build(&plan, &config, result.devices, result.device_count, err) == STATUS_OK)
		for (size_t i = 0; i < plan.case_count; i++)
			predict(&plan.cases[i], &result);
	plan_release(&plan);
	config_release(&config);
	text_release(&errors);
	result_release(&result);
	return err->status;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct error err = ERROR_NONE;

		printf("%s\n", argv[i]);
		if (predict_all(argv[i], &err) != STATUS_OK) {
			fprintf(stderr, "%s: %s\n", argv[i], err.message);
			return 1;
		}
	}
	return argc > 1 ? 0 : 2;
}
