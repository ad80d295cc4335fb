/*
 * Help is folded to the terminal: explanations hang where they began, paragraphs are filled, what
 * fits stays as it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cli/fold.h"

#define WIDTH 79

static void assert_folded(const char *text, size_t width, const char *expected)
{
	struct text out = TEXT_EMPTY;

	fold_text(&out, text, width);
	assert_string_equal(out.data ? out.data : "", expected);
	text_release(&out);
}

static void what_fits_stays_as_it_is(void **state)
{
	static const char text[] = "usage: gpuproof run CONFIG\n       gpuproof run --resume "
				   "DIR\n\nShort.\nTwo lines.\n\n"
				   "  -q, --quiet   less\n";

	(void)state;
	assert_folded(text, WIDTH, text);
	assert_folded("", WIDTH, "");
	assert_folded("no end", WIDTH, "no end");
}

static void explanations_hang(void **state)
{
	(void)state;
	assert_folded("\n  -o, --output FILE   where all of it goes, and more\n", 40,
		      "\n  -o, --output FILE   where all of it\n                      goes, and "
		      "more\n");
	/* Its second line says where; the words of both are filled anew. */
	assert_folded("\n  --set SECTION.KEY=VALUE   overrides what the config says of a single "
		      "key, and can be repeated\n"
		      "             as often as needed\n",
		      60,
		      "\n  --set SECTION.KEY=VALUE   overrides what the config says\n"
		      "             of a single key, and can be repeated as often\n"
		      "             as needed\n");
	/* Too far to the right to hang there. */
	assert_folded("usage: gpuproof report RESULT... [OPTIONS]       RESULT: a result.json or a "
		      "directory\n",
		      60,
		      "usage: gpuproof report RESULT... [OPTIONS]       RESULT: a\n    result.json "
		      "or a directory\n");
}

/* Forms are never joined; a paragraph is, where its lines were full and one is too long. */
static void paragraphs_are_filled(void **state)
{
	static const char long_line[] = "The first line of this paragraph is as long as the lines "
					"of a wide terminal may be, and so\n"
					"is followed by another.\nA line of its own.\n";

	(void)state;
	assert_folded(long_line, 79,
		      "The first line of this paragraph is as long as the lines of a wide terminal "
		      "may\n"
		      "be, and so\nis followed by another.\nA line of its own.\n");
	assert_folded("\nThe first line of this paragraph is as long as the lines of a wide "
		      "terminal may be, and so\n"
		      "is followed by another.\nA line of its own.\n",
		      79,
		      "\nThe first line of this paragraph is as long as the lines of a wide "
		      "terminal may\n"
		      "be, and so is followed by another.\nA line of its own.\n");
	/* A word that fits nowhere is not cut. */
	assert_folded("\nab abcdefghijklmnop cd\n", 10, "\nab\nabcdefghijklmnop\ncd\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fits_stays_as_it_is),
		cmocka_unit_test(explanations_hang),
		cmocka_unit_test(paragraphs_are_filled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
