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

/* Applies a layout to the options of a page. */
void page_options_layout(struct report_options *page, int layout);

/*
 * Rows for a command whose struct ARGUMENTS has the report_options PAGE and `int layout`; further
 * members of each row may follow.
 */
#define PAGE_OPTIONS(ARGUMENTS, PAGE, ...)                                                    \
	{ .name = "title",                                                                    \
	  TEXT_AT(ARGUMENTS, PAGE.title),                                                     \
	  .value = "TITLE",                                                                   \
	  .help = "title of the page",                                                        \
	  __VA_ARGS__ },                                                                      \
		{ .name = "layout",                                                           \
		  CHOICE_AT(ARGUMENTS, layout),                                               \
		  .choices = LAYOUT_WORDS,                                                    \
		  .help = "dir: also write report.css next to the page and link it, for "     \
			  "servers that block inline styles (Jenkins)",                       \
		  __VA_ARGS__ },                                                              \
		{ .name = "template-dir",                                                     \
		  TEXT_AT(ARGUMENTS, PAGE.template_dir),                                      \
		  .value = "DIR",                                                             \
		  .help = "directory with Mustache templates and a report.css that replace "  \
			  "built-in ones of the same name",                                   \
		  __VA_ARGS__ },                                                              \
	{                                                                                     \
		.name = "no-script", FLAG_AT(ARGUMENTS, PAGE.no_script),                      \
		.help = "omit the script that sorts, searches and copies tables", __VA_ARGS__ \
	}

#endif
