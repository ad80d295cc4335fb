/* Splits a Mustache template into its tags with their lines, for checks before mstch gets it. */
#ifndef GPUPROOF_REPORT_TEMPLATE_TEMPLATE_TAGS_H
#define GPUPROOF_REPORT_TEMPLATE_TEMPLATE_TAGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct template_tag {
	/*
	 * '#', '^', '/', '>', '!', '{', '&', or 0: a variable; a change of delimiters is taken in
	 * itself
	 */
	char kind;
	const char *name; /* within the template, without blanks around it */
	size_t length, line;
};

struct template_tags {
	const char *template_name; /* for messages */
	const char *at;
	size_t line;
	char open[16], close[16]; /* the delimiters from here on */
};

/* `text` ends with a zero and outlives the tags. */
void template_tags_begin(struct template_tags *tags, const char *template_name, const char *text);

/*
 * Reads the next tag. False at the end, or with `err` set if a tag is unterminated or sets empty
 * delimiters.
 */
bool template_tags_next(struct template_tags *tags, struct template_tag *tag, struct error *err);

#endif
