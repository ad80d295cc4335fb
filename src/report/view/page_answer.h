/*
 * The headline of a page that looks for something bad in many things: green only where all of them
 * were compared and nothing was found.
 */
#ifndef GPUPROOF_REPORT_VIEW_PAGE_ANSWER_H
#define GPUPROOF_REPORT_VIEW_PAGE_ANSWER_H

#include "report/template/tree.h"

/* Texts are borrowed. */
struct page_answer {
	size_t found, warned;   /* the first that is not 0 is the headline, in red or amber */
	size_t compared, total; /* things; some not compared: neither red nor green */
	const char *found_word, *warned_word;
	const char *good;    /* "No regression": alone in green, else "... in 18 of 41 figures" */
	const char *things;  /* "figures" */
	const char *nothing; /* nothing was compared */
};

/* Members "verdict_kind" (a class of report.css), "verdict_symbol" and "verdict_word". */
void page_answer_show(const struct page_answer *answer, struct tree *map);

#endif
