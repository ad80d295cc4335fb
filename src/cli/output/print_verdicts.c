#include "cli/output/print_verdicts.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"

#define MOST_SHOWN 50
#define INDENT 13 /* after the verdict's name */

/* https://no-color.org: present and not empty. */
static bool coloured(void)
{
	const char *no_color = getenv("NO_COLOR");

	return isatty(STDOUT_FILENO) && !(no_color && *no_color);
}

static void print_name(enum verdict verdict)
{
	static const char *const colours[VERDICT_COUNT] = { "\033[32m", "\033[33m", "\033[31m",
							    "\033[33m", "",         "\033[31m" };
	const char *on = coloured() ? colours[verdict] : "";

	printf("%s%-12s%s ", on, verdict_name(verdict), *on ? "\033[0m" : "");
}

/* Width of the terminal; elsewhere lines are not folded. */
static size_t line_width(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO))
		return SIZE_MAX;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 2 * INDENT
		       ? size.ws_col
		       : 80;
}

/* Characters of the first `length` bytes: "µ" is one. */
static size_t characters(const char *text, size_t length)
{
	size_t n = 0;

	for (size_t i = 0; i < length; i++)
		n += ((unsigned char)text[i] & 0xc0) != 0x80;
	return n;
}

/* From column `at` on; what does not fit continues below, at `indent`. */
static void print_folded(size_t indent, size_t at, const char *text)
{
	size_t width = line_width();

	while (*text) {
		size_t length = strcspn(text, " "), wide = characters(text, length);

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

/* Takes over `text`. */
static void print_detail(char *text)
{
	printf("%*s", INDENT, "");
	print_folded(INDENT, INDENT, text);
	free(text);
}

static void print_check(const struct verdict_check *c)
{
	char *numbers = check_numbers(c), *head;

	print_name(c->verdict);
	/* An inconclusive check has no more to say. */
	if (c->verdict == VERDICT_SKIP)
		head = xasprintf("%s: %s%s%s", c->limit, c->case_id, *c->case_id ? ": " : "",
				 c->reason);
	else
		head = xasprintf("%s: %s%s%s", c->limit, *c->case_id ? c->case_id : c->metric,
				 *c->uuid ? " " : "", c->uuid);
	print_folded(INDENT, INDENT, head);
	if (c->verdict != VERDICT_SKIP) {
		if (*numbers)
			print_detail(xasprintf("%s %s", c->metric, numbers));
		if (*c->reason)
			print_detail(xstrdup(c->reason));
		if (c->cause != CAUSE_NONE)
			print_detail(xasprintf("cause: %s", cause_name(c->cause)));
		if (*c->bound_text || *c->place || *c->bound_origin)
			print_detail(xasprintf("limit: %s%s(%s%s%s)", c->bound_text,
					       *c->bound_text ? " " : "", c->place,
					       *c->place && *c->bound_origin ? "; " : "",
					       c->bound_origin));
	}
	free(head);
	free(numbers);
}

/* A limit without a case of its own, skipped for the reason of `other`. */
static bool is_alike(const struct verdict_check *c, const struct verdict_check *other)
{
	return c->verdict == VERDICT_SKIP && other->verdict == VERDICT_SKIP && !*c->case_id &&
	       !*other->case_id && strcmp(c->reason, other->reason) == 0;
}

/* "SKIP pcie, peer, memory: no case in this run matches this limit", with the first of them. */
static bool print_alike(const struct verdicts *v, size_t at)
{
	struct text head = TEXT_EMPTY;
	size_t count = 0;

	/* Most checks are like none: a fleet has 600,000. */
	if (!is_alike(&v->checks[at], &v->checks[at]))
		return false;
	for (size_t i = 0; i < v->count; i++) {
		if (!is_alike(&v->checks[i], &v->checks[at]))
			continue;
		if (i < at) { /* printed with that one */
			text_release(&head);
			return true;
		}
		text_addf(&head, "%s%s", count++ ? ", " : "", v->checks[i].limit);
	}
	if (count > 1) {
		text_addf(&head, ": %s", v->checks[at].reason);
		print_name(VERDICT_SKIP);
		print_folded(INDENT, INDENT, head.data);
	}
	text_release(&head);
	return count > 1;
}

static void print_all_of(const struct verdicts *v, enum verdict verdict, bool unlimited)
{
	size_t shown = 0;

	for (size_t i = 0; i < v->count; i++)
		if (v->checks[i].verdict == verdict && !print_alike(v, i) &&
		    (shown++ < MOST_SHOWN || unlimited))
			print_check(&v->checks[i]);
	if (shown > MOST_SHOWN && !unlimited)
		printf("and %zu more %s; --all shows them\n", shown - MOST_SHOWN,
		       verdict_name(verdict));
}

/* The first failed check at or after `from` that a single device causes; NULL: there is none. */
static const struct verdict_check *blaming(const struct verdicts *v, size_t from,
					   const char *device)
{
	for (size_t i = from; i < v->count; i++) {
		const struct verdict_check *c = &v->checks[i];

		if (c->verdict == VERDICT_FAIL && *c->devices && !strchr(c->devices, ',') &&
		    (!device || strcmp(c->devices, device) == 0))
			return c;
	}
	return NULL;
}

/* "fake:3 FAKE-3: WRONG RESULTS, fails pcie, products" */
static void print_device(const struct verdicts *v, const struct verdict_check *first)
{
	const char *separator = ": ", *last = "";
	const struct verdict_check *c;
	bool wrong = false, fails = false;

	printf("%s%s%s", first->devices, *first->uuid ? " " : "", first->uuid);
	for (c = first; c; c = blaming(v, (size_t)(c - v->checks) + 1, first->devices))
		wrong = wrong || c->wrong;
	if (wrong) {
		printf("%sWRONG RESULTS", separator);
		separator = ", ";
	}
	/* Checks are in the order of the limits. */
	for (c = first; c; c = blaming(v, (size_t)(c - v->checks) + 1, first->devices)) {
		if (strcmp(c->limit, last) == 0 || (wrong && strcmp(c->limit, "run") == 0))
			continue;
		printf("%s%s%s", separator, fails ? "" : "fails ", c->limit);
		separator = ", ";
		last = c->limit;
		fails = true;
	}
	printf("\n");
}

/* Which one is it? Each device that something is wrong with, in one line. */
static void print_devices(const struct verdicts *v)
{
	const struct verdict_check *c = blaming(v, 0, NULL);

	for (; c; c = blaming(v, (size_t)(c - v->checks) + 1, NULL))
		if (blaming(v, 0, c->devices) == c)
			print_device(v, c);
}

/* Once per cause of checks that are not accepted. */
static void print_actions(const struct verdicts *v)
{
	bool told[CAUSE_COUNT] = { [CAUSE_NONE] = true };

	for (size_t i = 0; i < v->count; i++) {
		enum cause cause = v->checks[i].cause;
		char *line;

		if (v->checks[i].accepted || told[cause])
			continue;
		told[cause] = true;
		line = xasprintf("what to do about %s: %s", cause_name(cause), cause_action(cause));
		print_folded(0, 0, line);
		free(line);
	}
}

/* True if any device was, or was promised to be, judged by it. */
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

/* Text of a cell: blank for what was neither promised nor judged. */
static const char *aspect_word(const struct aspect_judgement *k)
{
	if (!k)
		return "";
	if (k->judged)
		return verdict_name(k->verdict);
	return k->promised ? "NOT JUDGED" : "-";
}

/* A row per device, a column per aspect. */
static void print_aspects(const struct verdicts *v)
{
	size_t width = 10;

	if (!any_in_play(v))
		return;
	for (size_t i = 0; i < v->device_count; i++)
		if (strlen(v->devices[i].device) > width)
			width = strlen(v->devices[i].device);
	printf("  %-*s", (int)width, "");
	for (int k = ASPECT_NONE + 1; k < ASPECT_COUNT; k++)
		if (in_play(v, (enum aspect)k))
			printf(" %-12s", aspect_name((enum aspect)k));
	printf("\n");
	for (size_t i = 0; i < v->device_count; i++) {
		printf("  %-*s", (int)width, v->devices[i].device);
		for (int k = ASPECT_NONE + 1; k < ASPECT_COUNT; k++)
			if (in_play(v, (enum aspect)k))
				printf(" %-12s",
				       aspect_word(device_aspect(&v->devices[i], (enum aspect)k)));
		printf("\n");
	}
}

static const struct aspect_judgement *missing_at(const struct verdicts *v, size_t device,
						 enum aspect aspect)
{
	const struct aspect_judgement *a = device_aspect(&v->devices[device], aspect);

	return a && aspect_is_missing(a) ? a : NULL;
}

/* One line for all devices that lack the aspect for the same reason, at the first of them. */
static void print_missing_at(const struct verdicts *v, size_t device, enum aspect aspect)
{
	const struct aspect_judgement *a = missing_at(v, device, aspect), *other;

	for (size_t i = 0; i < device; i++) {
		other = missing_at(v, i, aspect);
		if (other && strcmp(other->reason, a->reason) == 0)
			return;
	}
	printf("not judged: %s of %s", aspect_name(aspect), v->devices[device].device);
	for (size_t i = device + 1; i < v->device_count; i++) {
		other = missing_at(v, i, aspect);
		if (other && strcmp(other->reason, a->reason) == 0)
			printf(", %s", v->devices[i].device);
	}
	printf(": %s\n", a->reason);
}

/* Why a promised aspect was not judged, and what to do about it. */
static void print_missing(const struct verdicts *v)
{
	bool any = !v->counts[VERDICT_PASS] && !v->counts[VERDICT_FAIL] &&
		   !v->counts[VERDICT_WARN] && !v->counts[VERDICT_INCONCLUSIVE];

	for (int a = ASPECT_NONE + 1; a < ASPECT_COUNT; a++)
		for (size_t i = 0; i < v->device_count; i++) {
			if (!missing_at(v, i, (enum aspect)a))
				continue;
			print_missing_at(v, i, (enum aspect)a);
			any = true;
		}
	if (any)
		printf("To get limits: gpuproof config write generic -o mine.ini, edit it, then\n"
		       "check RESULT --limits mine.ini; or of a good run of the same model:\n"
		       "min = 0.97 * baseline, and --baseline RESULT. More: gpuproof help "
		       "limits\n");
}

/* The verdict, in bold and colour on a terminal. */
static void print_sentence(const struct verdicts *v)
{
	const char *on = !coloured()                              ? ""
			 : verdicts_accepted(v)                   ? "\033[1;32m"
			 : v->wrong || v->overall == VERDICT_FAIL ? "\033[1;31m"
								  : "\033[1;33m";

	fputs(on, stdout);
	print_folded(0, 0, v->sentence);
	fputs(*on ? "\033[0m" : "", stdout);
}

void print_verdicts(const struct verdicts *v, bool all)
{
	static const enum verdict order[] = { VERDICT_FAIL, VERDICT_ERROR, VERDICT_INCONCLUSIVE,
					      VERDICT_WARN, VERDICT_SKIP };

	if (all)
		print_all_of(v, VERDICT_PASS, true);
	for (size_t i = sizeof(order) / sizeof(order[0]); i-- > 0;)
		print_all_of(v, order[i], all);
	printf("limits: %s; checks:", v->limits ? v->limits : "");
	for (int i = 0; i < VERDICT_COUNT; i++)
		if (v->counts[i])
			printf(" %zu %s", v->counts[i], verdict_name((enum verdict)i));
	printf("%s\n", v->count ? "" : " none");
	print_devices(v);
	print_aspects(v);
	print_missing(v);
	print_actions(v);
	print_sentence(v);
}
