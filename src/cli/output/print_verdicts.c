#include "cli/output/print_verdicts.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/output/print_checks.h"

#define MOST_SHOWN 50
#define INDENT 13 /* after the name of the verdict */

/* https://no-color.org: set and not empty. */
static bool verdicts_coloured(void)
{
	const char *no_color = getenv("NO_COLOR");

	return isatty(STDOUT_FILENO) && !(no_color && *no_color);
}

static void print_name(enum verdict verdict)
{
	static const char *const colours[VERDICT_COUNT] = { "\033[32m", "\033[33m", "\033[31m",
							    "\033[33m", "",         "\033[31m" };
	const char *on = verdicts_coloured() ? colours[verdict] : "";

	printf("%s%-12s%s ", on, verdict_name(verdict), *on ? "\033[0m" : "");
}

/* Width of the terminal; other outputs are not folded. */
static size_t print_verdicts_line_width(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO))
		return SIZE_MAX;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 2 * INDENT
		       ? size.ws_col
		       : 80;
}

/* Characters in the first `length` bytes: "µ" counts as one. */
static size_t verdicts_count_characters(const char *text, size_t length)
{
	size_t n = 0;

	for (size_t i = 0; i < length; i++)
		n += ((unsigned char)text[i] & 0xc0) != 0x80;
	return n;
}

/* Starts at column `at`; continues on further lines at `indent`. */
static void verdicts_print_folded(size_t indent, size_t at, const char *text)
{
	size_t width = print_verdicts_line_width();

	while (*text) {
		size_t length = strcspn(text, " "), wide = verdicts_count_characters(text, length);

		if (at > indent && at + wide > width) {
			printf("\n%*s", (int)indent, "");
			at = indent;
		}
		fwrite(text, 1, length, stdout);
		at += wide;
		text += length;
		while (*text == ' ') {
			if (at + 1 < width)
				putchar(' ');
			at++;
			text++;
		}
	}
	putchar('\n');
}

/* Takes ownership of `text`. */
static void print_detail(char *text)
{
	printf("%*s", INDENT, "");
	verdicts_print_folded(INDENT, INDENT, text);
	free(text);
}

static bool was_printed(const struct verdicts *v, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(v->reasons[k].remedy, v->reasons[i].remedy) == 0)
			return true;
	return false;
}

/* True if the aspect was judged or promised on any device. */
static bool in_play(const struct verdicts *v, enum aspect aspect)
{
	for (size_t i = 0; i < v->device_count; i++) {
		const struct aspect_judgement *k = device_aspect(&v->devices[i], aspect);

		if (k && (k->promised || k->judged))
			return true;
	}
	return false;
}

static bool any_in_play(const struct verdicts *v)
{
	for (int k = ASPECT_NONE + 1; k < ASPECT_COUNT; k++)
		if (in_play(v, (enum aspect)k))
			return true;
	return false;
}

/* Text of a cell: blank if neither promised nor judged. */
static const char *print_verdicts_aspect_word(const struct aspect_judgement *k)
{
	if (!k)
		return "";
	if (k->judged)
		return verdict_name(k->verdict);
	return k->promised ? "NOT JUDGED" : "-";
}

static void print_device_aspects(const struct verdicts *v, const struct device_judgement *d,
				 size_t width)
{
	/* "cuda:0", or "n7.json cuda:0" with several machines. */
	char *title = xasprintf("%s%s%s", d->machine, *d->machine ? " " : "", d->device);

	printf("  %-*s", (int)width, title);
	free(title);
	for (int k = ASPECT_NONE + 1; k < ASPECT_COUNT; k++)
		if (in_play(v, (enum aspect)k))
			printf(" %-12s",
			       print_verdicts_aspect_word(device_aspect(d, (enum aspect)k)));
	printf("\n");
}

/* One row per device, one column per aspect. */
static void print_aspects(const struct verdicts *v)
{
	size_t width = 10;

	if (!any_in_play(v))
		return;
	for (size_t i = 0; i < v->device_count; i++) {
		size_t own = strlen(v->devices[i].device) + strlen(v->devices[i].machine) + 1;

		width = own > width ? own : width;
	}
	printf("  %-*s", (int)width, "");
	for (int k = ASPECT_NONE + 1; k < ASPECT_COUNT; k++)
		if (in_play(v, (enum aspect)k))
			printf(" %-12s", aspect_name((enum aspect)k));
	printf("\n");
	for (size_t i = 0; i < v->device_count; i++)
		print_device_aspects(v, &v->devices[i], width);
}

void print_verdicts(const struct verdicts *v, bool all)
{
	size_t shown = v->reason_count > MOST_SHOWN && !all ? MOST_SHOWN : v->reason_count;
	const char *on;

	for (size_t i = 0; i < shown; i++) {
		const struct verdict_reason *r = &v->reasons[i];
		const char *cause = cause_name(r->cause);

		/* Prints each remedy once, with the first reason that it applies to. */
		print_name(r->verdict);
		verdicts_print_folded(INDENT, INDENT, r->text);
		if (*r->remedy && !was_printed(v, i))
			print_detail(xstrdup(r->remedy));
		if (r->checks > 1)
			print_detail(xasprintf("cause: %s; %zu checks", cause, r->checks));
		else if (*cause)
			print_detail(xasprintf("cause: %s", cause));
	}
	if (shown < v->reason_count)
		printf("and %zu more reasons; --all prints them\n", v->reason_count - shown);
	print_checks(v, all);
	printf("limits: %s; checks:", v->limits ? v->limits : "");
	for (int i = 0; i < VERDICT_COUNT; i++)
		if (v->counts[i])
			printf(" %zu %s", v->counts[i], verdict_name((enum verdict)i));
	printf("%s\n", v->count ? "\n[in brackets]: one-sided 95 % bounds" : " none");
	print_aspects(v);
	/* The verdict, in bold and colour on a terminal. */
	on = !verdicts_coloured()                     ? ""
	     : verdicts_accepted(v)                   ? "\033[1;32m"
	     : v->wrong || v->overall == VERDICT_FAIL ? "\033[1;31m"
						      : "\033[1;33m";
	fputs(on, stdout);
	verdicts_print_folded(0, 0, v->sentence);
	fputs(*on ? "\033[0m" : "", stdout);
}
