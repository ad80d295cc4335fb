/*
 * Expected and measured duration of a run, section by section: bench_estimate RESULT.json... So a
 * change of a suite's setup_seconds is judged by runs that are there, without a GPU. Cases of a
 * concurrent group count one by one, as in the plan.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "plan/plan.h"
#include "plan/suite.h"
#include "result/result.h"

struct sum {
	size_t cases;
	double expected, took;
};

static double seconds_of(const struct result *result, const char *id)
{
	for (size_t i = 0; i < result->case_count; i++)
		if (strcmp(result->cases[i].id, id) == 0)
			return result->cases[i].seconds;
	return 0;
}

static void print(const char *suite, const char *label, const struct sum *sum)
{
	printf("%-12s %-14s %5zu cases %9.2f s expected %9.2f s taken  x%.2f\n", suite, label,
	       sum->cases, sum->expected, sum->took, sum->expected / sum->took);
}

/* The cases of one section follow each other. */
static void compare(const struct plan *plan, const struct result *result)
{
	struct sum all = { 0 }, part = { 0 };

	for (size_t i = 0; i < plan->case_count; i++) {
		const struct plan_case *c = &plan->cases[i];
		double took = seconds_of(result, c->id);

		part = (struct sum){ part.cases + 1, part.expected + c->estimate_seconds,
				     part.took + took };
		all = (struct sum){ all.cases + 1, all.expected + c->estimate_seconds,
				    all.took + took };
		if (i + 1 == plan->case_count || plan->cases[i + 1].section != c->section) {
			print(c->suite->name, c->section->label, &part);
			part = (struct sum){ 0 };
		}
	}
	print("all", "", &all);
	printf("the run as a whole: %.2f s\n", result->seconds);
}

static enum status compare_file(const char *path, struct error *err)
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
		compare(&plan, &result);
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
		if (compare_file(argv[i], &err) != STATUS_OK) {
			fprintf(stderr, "%s: %s\n", argv[i], err.message);
			return 1;
		}
	}
	return argc > 1 ? 0 : 2;
}
