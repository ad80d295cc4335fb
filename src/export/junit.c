/*
 * JUnit XML by Jenkins' schema (xunit-plugin, junit-10.xsd), which has no `file` and no properties
 * of test cases; the facts are therefore in message and body. A test suite per suite of the run,
 * one for the run itself and one for the limits, whose last test is the verdict (skipped without
 * one). Names are unique and stable from run to run, because Jenkins tracks a test by its name.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "export/escape.h"
#include "export/export.h"
#include "result/outcome.h"
#include "result/verdict.h"

#define LONGEST_NAME 500
#define LONGEST_MESSAGE 1000
#define LONGEST_BODY 20000

enum outcome { PASSED, FAILED, BROKEN, SKIPPED, OUTCOME_COUNT };

/* One test; owns its `char *`. */
struct test {
	char *suite, *name;
	enum outcome outcome;
	const char *type; /* type of a failure: "wrong result" */
	char *message, *body;
	double seconds;
	unsigned repeat; /* number of earlier tests with the same names */
};

struct tests {
	struct test *items;
	size_t count, capacity;
};

static struct test *junit_add_test(struct tests *tests, const char *suite, char *name,
				   enum outcome outcome)
{
	struct test *test;

	ARRAY_GROW(tests->items, tests->count, tests->capacity);
	test = &tests->items[tests->count++];
	*test = (struct test){ .suite = xstrdup(suite), .outcome = outcome, .type = "" };
	test->name = escape_plain(name, false, LONGEST_NAME);
	free(name);
	return test;
}

static char *junit_case_body(const struct result *r, const struct case_result *c)
{
	static const char *const better[] = { ", higher is better", ", lower is better", "" };
	struct text body = TEXT_EMPTY;

	for (size_t i = 0; i < c->metric_count; i++) {
		const struct metric_value *m = &c->metrics[i];
		const char *unit = case_unit(c, m);
		char value[64], low[64], high[64];

		text_addf(&body, "%s = %s", m->name,
			  units_format(m->value, unit, value, sizeof(value)));
		if (isfinite(m->low) && isfinite(m->high))
			text_addf(&body, " [%s, %s]", units_format(m->low, unit, low, sizeof(low)),
				  units_format(m->high, unit, high, sizeof(high)));
		text_addf(&body, ", n = %zu%s\n", m->n, better[m->better]);
	}
	for (size_t i = 0; i < c->device_count; i++) {
		const struct device_info *d = result_device(r, c->devices[i]);

		text_addf(&body, "device %s", c->devices[i]);
		if (d)
			text_addf(&body, ": %s%s%s", d->name, *d->uuid ? ", " : "", d->uuid);
		text_add_char(&body, '\n');
	}
	if (*export_string(c->notes))
		text_addf(&body, "%s\n", c->notes);
	return text_detach(&body);
}

static void junit_add_case(struct tests *tests, const struct result *r, const struct case_result *c)
{
	static const enum outcome outcomes[] = { [CASE_OK] = PASSED,
						 [CASE_SKIPPED] = SKIPPED,
						 [CASE_FAILED] = FAILED,
						 [CASE_ERROR] = BROKEN };
	static const char *const types[] = { "", "skipped", "wrong result", "error" };
	const char *suite = *export_string(c->suite) ? c->suite : "run";
	struct test *test =
		junit_add_test(tests, suite, xstrdup(export_string(c->id)), outcomes[c->status]);

	test->type = types[c->status];
	test->seconds = c->seconds;
	test->message = xstrdup(export_string(c->reason));
	test->body = junit_case_body(r, c);
}

/* Takes ownership of `message`, a problem of the run; NULL: none. */
static void junit_add_of_run(struct tests *tests, const struct result *r, const char *name,
			     char *message)
{
	struct test *test = junit_add_test(tests, "run", xstrdup(name), message ? BROKEN : PASSED);

	test->type = "incomplete";
	test->message = message ? message : xstrdup("");
	test->body = xasprintf("%s\n", export_string(r->command));
}

static void junit_add_completeness(struct tests *tests, const struct result *r)
{
	size_t not_run = result_outcome_not_run(r), devices = result_lost_devices(r),
	       workers = result_outcome_lost_workers(r);

	junit_add_of_run(tests, r, "every planned case ran",
			 not_run ? xasprintf("the run is %s: %zu of %zu cases did not run",
					     export_string(r->state), not_run, r->planned)
				 : NULL);
	junit_add_of_run(tests, r, "every device was usable",
			 devices ? xasprintf("number of unusable devices: %zu", devices) : NULL);
	junit_add_of_run(tests, r, "no worker process died",
			 workers ? xasprintf("number of worker processes that died: %zu; their "
					     "cases were repeated",
					     workers)
				 : NULL);
}

static char *junit_check_name(const struct verdict_check *check)
{
	static const char *const words[] = {
		[AT_LEAST] = "at least",
		[AT_MOST] = "at most",
		[LIKE_IDENTICAL] = "within the margin to identical devices",
		[LIKE_POPULATION] = "within the margin to reference GPUs",
		[LIKE_FLEET] = "within the margin to the same model on all nodes",
		[NO_COMPARISON] = "",
	};
	const char *subject = *check->case_id ? check->case_id : "the run";

	return xasprintf("[%s] %s%s%s%s%s", check->limit, subject, *check->metric ? " " : "",
			 check->metric, *words[check->comparison] ? " " : "",
			 words[check->comparison]);
}

static char *junit_check_body(const struct verdict_check *check)
{
	const struct {
		const char *name, *text;
	} facts[] = { { "bound", check->bound_text },
		      { "origin", check->bound_origin },
		      { "limit at", check->place },
		      { "devices", check->devices },
		      { "model", check->model },
		      { "uuid", check->uuid },
		      { "cause", cause_name(check->cause) },
		      { "what to do", cause_action(check->cause) } };
	struct text body = TEXT_EMPTY;

	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		if (*facts[i].text)
			text_addf(&body, "%s: %s\n", facts[i].name, facts[i].text);
	text_addf(&body, "launches: %zu, samples: %zu\n", check->launches, check->samples);
	return text_detach(&body);
}

static void junit_add_check(struct tests *tests, const struct verdict_check *check)
{
	bool violated = check->verdict == VERDICT_FAIL || check->verdict == VERDICT_WARN;
	/* A skip that the limit does not allow does not pass, nor does a warning with --strict. */
	enum outcome outcome = !check->accepted                 ? (violated ? FAILED : BROKEN)
			       : verdict_check_is_judged(check) ? PASSED
								: SKIPPED;
	struct test *test = junit_add_test(tests, "limits", junit_check_name(check), outcome);
	char *numbers = verdict_check_numbers(check);

	test->type = verdict_fields_name(check->verdict);
	test->message =
		xasprintf("%s%s%s%s%s", verdict_fields_name(check->verdict), *numbers ? ": " : "",
			  numbers, *check->reason ? ": " : "", check->reason);
	test->body = junit_check_body(check);
	free(numbers);
}

/* Promised and judged aspects of a device; findings are among the checks. */
static void junit_add_promises(struct tests *tests, const struct device_judgement *d)
{
	for (size_t i = 0; i < d->aspect_count; i++) {
		const struct aspect_judgement *aspect = &d->aspects[i];
		bool missing = verdict_aspect_is_missing(aspect);
		struct test *test;

		if (!aspect->promised)
			continue;
		test = junit_add_test(tests, "limits",
				      xasprintf("[promises] %s of %s was judged",
						aspect_name(aspect->aspect), d->device),
				      missing ? BROKEN : PASSED);
		test->type = "not judged";
		test->message = xstrdup(missing ? aspect->reason : "");
		test->body = xasprintf("checks: %zu, judged: %zu, passed: %zu\n", aspect->checks,
				       aspect->judged, aspect->passed);
	}
}

/* The verdict, as in every other output: no page is green without one. */
static void junit_add_verdict(struct tests *tests, const struct verdicts *v)
{
	struct test *test = junit_add_test(tests, "limits", xstrdup("verdict"),
					   !v                                   ? SKIPPED
					   : verdicts_accepted(v)               ? PASSED
					   : verdicts_exit_code(v) == 0         ? SKIPPED
					   : v->overall == VERDICT_INCONCLUSIVE ? BROKEN
										: FAILED);
	struct text body = TEXT_EMPTY;

	test->type = v && (verdicts_exit_code(v) || verdicts_accepted(v))
			     ? verdict_fields_name(v->overall)
			     : "not judged";
	test->message = xstrdup(v ? v->sentence
				  : "the result has no verdict; run with --check, or use gpuproof "
				    "check RESULT -o FILE");
	if (v)
		text_addf(&body, "limits: %s\n", v->limits);
	for (size_t i = 0; v && i < v->reason_count; i++)
		text_addf(&body, "%s: %s %s\n", verdict_fields_name(v->reasons[i].verdict),
			  v->reasons[i].text, v->reasons[i].remedy);
	test->body = text_detach(&body);
}

static int junit_by_name(const void *a, const void *b)
{
	const struct test *const *p = a, *const *q = b;
	int order = strcmp((*p)->suite, (*q)->suite);

	order = order ? order : strcmp((*p)->name, (*q)->name);
	return order ? order : (*p > *q) - (*p < *q);
}

static void junit_collect_tests(struct tests *tests, const struct result *r)
{
	const struct verdicts *v = r->judgement;
	struct test **sorted;

	junit_add_completeness(tests, r);
	for (size_t i = 0; i < r->case_count; i++)
		junit_add_case(tests, r, &r->cases[i]);
	for (size_t i = 0; v && i < v->count; i++)
		junit_add_check(tests, &v->checks[i]);
	for (size_t i = 0; v && i < v->device_count; i++)
		junit_add_promises(tests, &v->devices[i]);
	junit_add_verdict(tests, v);
	if (!v && result_outcome_memory_errors(r)) {
		struct test *test =
			junit_add_test(tests, "limits", xstrdup("memory errors"), FAILED);

		/* A judgement has its own check for them. */
		test->type = "memory errors";
		test->message = xasprintf("%" PRIu64 " uncorrected memory errors (ECC)",
					  result_outcome_memory_errors(r));
		test->body = xstrdup("");
	}
	sorted = xcalloc(tests->count + 1, sizeof(struct test *));
	for (size_t i = 0; i < tests->count; i++)
		sorted[i] = &tests->items[i];
	qsort(sorted, tests->count, sizeof(*sorted), junit_by_name);
	for (size_t i = 1; i < tests->count; i++)
		if (strcmp(sorted[i]->suite, sorted[i - 1]->suite) == 0 &&
		    strcmp(sorted[i]->name, sorted[i - 1]->name) == 0)
			sorted[i]->repeat = sorted[i - 1]->repeat + 1;
	free(sorted);
}

static void junit_xml_add_attribute(struct text *out, const char *name, const char *value,
				    size_t longest)
{
	text_addf(out, " %s=\"", name);
	escape_xml_attribute(out, value, longest);
	text_add_char(out, '"');
}

static void junit_write_problem(struct text *out, const struct test *test)
{
	static const char *const elements[] = {
		[FAILED] = "failure", [BROKEN] = "error", [SKIPPED] = "skipped"
	};
	const char *element = elements[test->outcome];

	text_addf(out, "   <%s", element);
	junit_xml_add_attribute(out, "type", test->type, LONGEST_MESSAGE);
	junit_xml_add_attribute(out, "message", test->message, LONGEST_MESSAGE);
	text_add_char(out, '>');
	escape_xml(out, test->message, LONGEST_BODY);
	text_add_char(out, '\n');
	escape_xml(out, test->body, LONGEST_BODY);
	text_addf(out, "</%s>\n", element);
}

static void junit_write_test(struct text *out, const struct test *test)
{
	char *name = test->repeat ? xasprintf("%s #%u", test->name, test->repeat + 1)
				  : xstrdup(test->name);
	char *class = xasprintf("gpuproof.%s", test->suite);

	text_add(out, "  <testcase");
	junit_xml_add_attribute(out, "classname", class, LONGEST_NAME);
	junit_xml_add_attribute(out, "name", name, ESCAPE_ALL);
	text_addf(out, " time=\"%.3f\">\n", isfinite(test->seconds) ? fmax(test->seconds, 0) : 0.0);
	if (test->outcome != PASSED) {
		junit_write_problem(out, test);
	} else {
		text_add(out, "   <system-out>");
		escape_xml(out, test->message, LONGEST_BODY);
		text_add(out, *test->message ? "\n" : "");
		escape_xml(out, test->body, LONGEST_BODY);
		text_add(out, "</system-out>\n");
	}
	text_add(out, "  </testcase>\n");
	free(name);
	free(class);
}

static void junit_write_counts(struct text *out, const struct tests *tests, const char *suite)
{
	size_t counts[OUTCOME_COUNT] = { 0 }, total = 0;
	double seconds = 0;

	for (size_t i = 0; i < tests->count; i++) {
		if (suite && strcmp(tests->items[i].suite, suite) != 0)
			continue;
		total++;
		counts[tests->items[i].outcome]++;
		seconds += isfinite(tests->items[i].seconds) ? fmax(tests->items[i].seconds, 0) : 0;
	}
	text_addf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\"", total, counts[FAILED],
		  counts[BROKEN]);
	if (suite)
		text_addf(out, " skipped=\"%zu\"", counts[SKIPPED]);
	text_addf(out, " time=\"%.3f\"", seconds);
}

static void junit_write_suite(struct text *out, const struct tests *tests, const struct result *r,
			      const char *suite)
{
	size_t length = strlen(export_string(r->started));
	/* Without the Z: xs:dateTime of other schemas is local time. */
	char *stamp = xstrndup(export_string(r->started),
			       length && r->started[length - 1] == 'Z' ? length - 1 : length);

	text_add(out, " <testsuite");
	junit_xml_add_attribute(out, "name", suite, LONGEST_NAME);
	junit_write_counts(out, tests, suite);
	junit_xml_add_attribute(out, "timestamp", stamp, LONGEST_NAME);
	junit_xml_add_attribute(out, "hostname", export_fact(r, "hostname"), LONGEST_NAME);
	text_add(out, ">\n");
	for (size_t i = 0; i < tests->count; i++)
		if (strcmp(tests->items[i].suite, suite) == 0)
			junit_write_test(out, &tests->items[i]);
	text_add(out, " </testsuite>\n");
	free(stamp);
}

static void write_junit(const struct result *r, struct text *out)
{
	struct tests tests = { 0 };

	junit_collect_tests(&tests, r);
	text_add(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"gpuproof\"");
	junit_write_counts(out, &tests, NULL);
	text_add(out, ">\n");
	for (size_t i = 0; i < tests.count; i++) {
		size_t before = i;

		/* Cases are sorted by suite: the previous one usually has the same suite. */
		while (before && strcmp(tests.items[before - 1].suite, tests.items[i].suite) != 0)
			before--;
		if (!before)
			junit_write_suite(out, &tests, r, tests.items[i].suite);
	}
	text_add(out, "</testsuites>\n");
	for (size_t i = 0; i < tests.count; i++) {
		free(tests.items[i].suite);
		free(tests.items[i].name);
		free(tests.items[i].message);
		free(tests.items[i].body);
	}
	free(tests.items);
}

const struct exporter export_junit = { write_junit, NULL };
