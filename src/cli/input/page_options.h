/* Options --title, --layout, --template-dir and --no-script of the commands that write a page. */
#ifndef GPUPROOF_CLI_INPUT_PAGE_OPTIONS_H
#define GPUPROOF_CLI_INPUT_PAGE_OPTIONS_H

#include "cli/options.h"
#include "report/page/report.h"

enum layout { LAYOUT_DEFAULT, LAYOUT_SINGLE, LAYOUT_DIRECTORY };
#define LAYOUT_WORDS                  \
	(const char *const[])         \
	{                             \
		"single", "dir", NULL \
	}

/*
 * Rows for a command whose struct ARGUMENTS has the report_options PAGE and `int layout`; further
 * members of each row may follow.
 */
#define PAGE_ROWS(ARGUMENTS, PAGE, ...)                                                        \
	TEXT_ROW(0, "title", "TITLE", ARGUMENTS, PAGE.title, __VA_ARGS__),                     \
		CHOICE_ROW("layout", LAYOUT_WORDS, ARGUMENTS, layout, __VA_ARGS__),            \
		TEXT_ROW(0, "template-dir", "DIR", ARGUMENTS, PAGE.template_dir, __VA_ARGS__), \
		FLAG_ROW(0, "no-script", ARGUMENTS, PAGE.no_script, __VA_ARGS__)

#endif
