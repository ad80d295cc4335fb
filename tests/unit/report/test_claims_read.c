/*
 * Files of claims: what is read of them, and what is said of a wrong one: its line, key and value,
 * and what is allowed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "config_suites.h"
#include "report/claims/claims.h"

#define GUIDE "[guide A]\ntitle = T\nabout = S\n"
#define POINTS \
	"[points]\nsmall = label:small, sizes:1KiB\nany_of = sizes:1KiB|2KiB\nodd = colour:red\n"
#define CLAIM "[claim A1]\ntext = t\nsource = s\nprediction = p\n"
#define MEASURE "[measure A1.1]\nwhat = w\n"

static enum status read_text(struct claim_group *group, const char *text, struct error *err)
{
	return claims_read(group, &test_schema, "f.ini", text, strlen(text), err);
}

static void expect_read(struct claim_group *group, const char *text)
{
	struct error err = ERROR_NONE;

	if (read_text(group, text, &err) != STATUS_OK)
		fail_msg("%s", err.message);
}

static void a_file_becomes_claims(void **state)
{
	struct claim_group g;
	const struct claim_measure *m;

	(void)state;
	expect_read(&g, GUIDE POINTS CLAIM
		    "devices = nvlink\n" MEASURE
		    "value = 1 - copy.time at small / copy.time\nmin = 5 %\nmax = 0.5\n"
		    "count_failed = yes\n"
		    "[measure A1.2]\nwhat = bytes\nvalue = copy.memory\nmax = 8 GB\noptional = "
		    "yes\n"
		    "[measure A1.3]\nwhat = shown\nvalue = copy.memory\nyes_no = yes\n"
		    "[measure A1.4]\nwhat = ratio\nvalue = copy.memory\nmin = 1.01\n"
		    "across = versions\n"
		    "[claim A2]\ntext = t\nsource = s\nprediction = p\nuntestable = why\n");
	assert_string_equal(g.id, "A");
	assert_string_equal(g.title, "T");
	assert_string_equal(g.guide, "S");
	assert_int_equal(g.count, 2);
	assert_int_equal(g.claims[0].on, CLAIM_ON_NVLINK);
	m = g.claims[0].measures;
	assert_true(m[2].yes_no && !m[1].yes_no);
	assert_string_equal(m[0].terms[0].metric, "copy.time");
	assert_string_equal(m[0].terms[0].where, "label:small, sizes:1KiB");
	assert_string_equal(m[0].terms[1].metric, "copy.time");
	assert_string_equal(m[0].terms[1].where, "");
	assert_null(m[0].terms[2].metric);
	assert_true(m[0].complement && m[0].even_failed && !m[0].where_possible);
	assert_float_equal(m[0].low, 0.05, 1e-12);
	assert_float_equal(m[0].high, 0.5, 0);
	assert_float_equal(m[1].high, 8e9, 0);
	assert_true(isinf(m[1].low) && m[1].where_possible);
	assert_true(claim_is_decisive(&m[1]));
	assert_false(claim_is_decisive(&m[2]));
	assert_int_equal(m[3].across, CLAIM_VERSIONS);
	assert_float_equal(m[3].low, 1.01, 0);
	assert_null(m[4].terms[0].metric);
	assert_string_equal(g.claims[1].untestable, "why");
	claims_read_group_release(&g);
}

static void former_names_of_metrics_are_read(void **state)
{
	static const char text[] =
		GUIDE CLAIM MEASURE "value = trainmem.refused_reserved\nmax = 1 B\n";
	struct error err = ERROR_NONE;
	struct claim_group g;

	(void)state;
	assert_int_equal(claims_read(&g, &schema_program, "f.ini", text, sizeof(text) - 1, &err),
			 STATUS_OK);
	assert_string_equal(g.claims[0].measures[0].terms[0].metric, "trainmem.refused_reserved");
	claims_read_group_release(&g);
}

/* Mistakes that a user may make. */
static void wrong_files_are_refused(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "", "f.ini:1: a claims file needs a [guide] and a [claim]" },
		{ GUIDE, "f.ini:1: a claims file needs a [guide] and a [claim]" },
		{ "title = T\n", "f.ini:1: 'title' is outside a section; " },
		{ "[guide A]\ntitle = T\n" CLAIM,
		  "f.ini:1: [guide A] needs the key about: subject of the guide" },
		{ "[guide A B]\n", "f.ini:1: [guide A B]: too many words; write one name" },
		{ "[guide]\n", "f.ini:1: [guide] lacks a name; write [guide NAME]" },
		{ "[claim A/1]\n", "f.ini:1: [claim A/1]: invalid name 'A/1'; use letters, digits, "
				   "'_', '-' and '.'" },
		{ "[points x]\n", "f.ini:1: [points x]: section [points] takes no name" },
		{ "[]\n", "f.ini:1: [] is not a section; sections: [guide NAME], [points], "
			  "[claim NAME], [measure NAME]" },
		{ GUIDE "[guide B]\ntitle = T\nabout = S\n",
		  "f.ini:4: second [guide]; a file contains the claims of one guide" },
		{ "[suite copy]\n", "f.ini:1: [suite copy] is not a section; sections: [guide "
				    "NAME], [points], [claim NAME], [measure NAME]" },
		{ "[claims A1]\n", "f.ini:1: [claims A1] is not a section; sections: [guide "
				   "NAME], [points], [claim NAME], [measure NAME]" },
		{ GUIDE "titel = T\n", "f.ini:4: [guide A] has no key 'titel' (did you mean "
				       "'title'?); keys: title, about" },
		{ GUIDE "title = U\n", "f.ini:4: [guide A] title is repeated; first in line 2" },
		{ "[guide A]\ntitle =\nabout = S\n", "f.ini:2: [guide A] title = : missing value" },
		{ GUIDE "[claim A1]\ntext = t\nsource = s\n",
		  "f.ini:4: [claim A1] needs the key prediction: value that formulas predict" },
		{ GUIDE CLAIM,
		  "f.ini:4: [claim A1] needs a [measure] with min or max, or the key untestable" },
		{ GUIDE CLAIM "untestable = why\n" MEASURE "value = copy.time\nmax = 1 s\n",
		  "f.ini:4: [claim A1] needs a [measure] with min or max, or the key untestable" },
		{ GUIDE CLAIM CLAIM, "f.ini:8: [claim A1] is repeated; first in line 4" },
		{ GUIDE CLAIM "devices = tpu\n", "f.ini:8: [claim A1] devices = tpu: 'tpu' is not "
						 "one of any, gpu, nvlink (did you "
						 "mean 'gpu'?)" },
		{ GUIDE CLAIM "[measure A2.1]\nwhat = w\nvalue = copy.time\n",
		  "f.ini:8: [measure A2.1] does not belong to a [claim] above; write CLAIM.NUMBER, "
		  "such "
		  "as A1.1" },
		{ GUIDE MEASURE "value = copy.time\n" CLAIM,
		  "f.ini:4: [measure A1.1] does not belong to a [claim] above; write CLAIM.NUMBER, "
		  "such "
		  "as A1.1" },
		{ GUIDE CLAIM MEASURE "value = copy.time\n" MEASURE,
		  "f.ini:11: [measure A1.1] is repeated; first in line 8" },
		{ GUIDE CLAIM MEASURE "min = 1\n", "f.ini:8: [measure A1.1] needs the key value: "
						   "METRIC at POINT / METRIC at POINT" },
		{ GUIDE CLAIM MEASURE "value = copy.tiem\n",
		  "f.ini:10: [measure A1.1] value = copy.tiem: unknown metric 'copy.tiem' (did you "
		  "mean 'copy.time'?); gpuproof list metrics shows all" },
		{ GUIDE CLAIM MEASURE "value = node.accused\n",
		  "f.ini:10: [measure A1.1] value = node.accused: the metric belongs to nodes, but "
		  "no case has one" },
		{ GUIDE CLAIM MEASURE "value = copy.time / \n",
		  "f.ini:10: [measure A1.1] value = copy.time /: unknown metric 'copy.time /' (did "
		  "you mean 'copy.time'?); gpuproof list metrics shows all" },
		{ GUIDE CLAIM MEASURE "value = copy.time / copy.time / copy.time / copy.time\n",
		  "f.ini:10: [measure A1.1] value = copy.time / copy.time / copy.time / copy.time: "
		  "a quotient has at most 3 terms" },
		{ GUIDE POINTS CLAIM MEASURE "value = copy.time at smal\n",
		  "f.ini:14: [measure A1.1] value = copy.time at smal: smal: [points] has no "
		  "'smal' "
		  "(did you mean 'small'?)" },
		{ GUIDE CLAIM MEASURE "value = copy.time at small\n",
		  "f.ini:10: [measure A1.1] value = copy.time at small: small: [points] has no "
		  "'small'" },
		{ GUIDE POINTS CLAIM MEASURE "value = copy.time at any_of\n",
		  "f.ini:14: [measure A1.1] value = copy.time at any_of: any_of: 'sizes' accepts "
		  "only one value here" },
		{ GUIDE POINTS CLAIM MEASURE "value = copy.time at odd\n",
		  "f.ini:14: [measure A1.1] value = copy.time at odd: odd: suite copy has no "
		  "parameter 'colour'; use one of sizes, directions, device, model, backend, "
		  "label, node" },
		{ GUIDE POINTS "small = label:x\n",
		  "f.ini:8: [points] small is repeated; first in line 5" },
		{ GUIDE CLAIM MEASURE "value = copy.time\nmin = 3\n",
		  "f.ini:11: [measure A1.1] min = 3: '3' lacks a unit; allowed units: ns, us, ms, "
		  "s, min, h" },
		{ GUIDE CLAIM MEASURE "value = copy.time / copy.time\nmax = 3 s\n",
		  "f.ini:11: [measure A1.1] max = 3 s: '3 s' is not a number" },
		{ GUIDE CLAIM MEASURE "value = copy.bandwidth\nmax = spec.memory_bandwidth\n",
		  "f.ini:11: [measure A1.1] max = spec.memory_bandwidth: a claim compares its "
		  "measures with numbers only" },
		{ GUIDE CLAIM MEASURE "value = copy.time\nmin = 3 s\nmax = 2 s\n",
		  "f.ini:11: [measure A1.1] min = 3 s: min is above max" },
		{ GUIDE CLAIM MEASURE "value = copy.time / copy.time\nmax = 3 s\nacross = models\n",
		  "f.ini:11: [measure A1.1] max = 3 s: '3 s' is not a number" },
		{ GUIDE CLAIM MEASURE "value = copy.time\nmax = 3\nacross = models\n",
		  "f.ini:10: [measure A1.1] value = copy.time: across = models needs two terms" },
		{ GUIDE CLAIM MEASURE "value = copy.time\nacross = nodes\n",
		  "f.ini:11: [measure A1.1] across = nodes: 'nodes' is not one of one, models, "
		  "versions, machines" },
		{ GUIDE CLAIM MEASURE "value = copy.time\noptional = perhaps\n",
		  "f.ini:11: [measure A1.1] optional = perhaps: " },
		{ GUIDE "claim A1\n", "f.ini:4: " },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = ERROR_NONE;
		struct claim_group g;

		assert_int_equal(read_text(&g, cases[i].text, &err), STATUS_USAGE);
		assert_int_equal(g.count, 0);
		if (strncmp(err.message, cases[i].message, strlen(cases[i].message)) != 0)
			fail_msg("%s\n%s\n%s", cases[i].text, err.message, cases[i].message);
	}
}

static void a_claim_has_room_for_its_measures_only(void **state)
{
	struct text text = TEXT_EMPTY;
	struct error err = ERROR_NONE;
	struct claim_group g;

	(void)state;
	text_add(&text, GUIDE CLAIM);
	for (int i = 0; i <= CLAIM_MEASURES; i++)
		text_addf(&text, "[measure A1.%d]\nwhat = w\nvalue = copy.kind\nmin = 1\n", i);
	assert_int_equal(read_text(&g, text.data, &err), STATUS_USAGE);
	assert_non_null(strstr(err.message, "a claim has at most 6 measures"));
	text_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_becomes_claims),
		cmocka_unit_test(former_names_of_metrics_are_read),
		cmocka_unit_test(wrong_files_are_refused),
		cmocka_unit_test(a_claim_has_room_for_its_measures_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
