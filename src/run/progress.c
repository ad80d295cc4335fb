#include "run/progress.h"

#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "result/outcome.h"

#define DRAW_SECONDS 0.1
#define OUTLIER_TIMES 5

/* Asked anew each time: windows change. */
static int progress_columns(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* Writes the text, if there is any, and releases it. True: it was not empty. */
static bool progress_write(struct text *text)
{
	struct pollfd fd = { .fd = STDERR_FILENO, .events = POLLOUT };
	bool some = text->length > 0;

	/*
	 * A terminal stopped with Ctrl-S, or a reader that sleeps, must not hold up the
	 * measurement.
	 */
	if (some && poll(&fd, 1, 0) == 1 && (fd.revents & POLLOUT))
		file_write_all(STDERR_FILENO, text->data, text->length);
	text_release(text);
	return some;
}

void progress_begin(struct progress *progress, const struct plan *plan, const bool *done,
		    bool quiet)
{
	const char *term = getenv("TERM");

	*progress = (struct progress){ .quiet = quiet,
				       .total = plan->case_count,
				       .median = NAN,
				       .half_width = NAN,
				       .shown_left = NAN,
				       .line_at = clock_seconds() };
	progress->terminal =
		!quiet && isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
	for (size_t i = 0; i < plan->case_count; i++) {
		if (done[i])
			progress->number++;
		else
			progress->estimate_left += plan->cases[i].estimate_seconds;
	}
	progress->estimate_begun = progress->estimate_left;
}

/* Seconds left by the plan's estimates, corrected by how they fared so far. */
static double progress_seconds_left(const struct progress *p, double now)
{
	double spent = p->current ? now - p->current_began : 0;
	double left = p->estimate_left, factor = 1, prior = 0.2 * p->estimate_begun;

	/* The first few cases are weak evidence: the plan weighs as much as a fifth of the run. */
	if (prior > 0)
		factor = (p->seconds_settled + prior) / (p->estimate_settled + prior);
	left = left * factor - fmin(spent, p->current ? p->current->estimate_seconds * factor : 0);
	return fmax(left, 0);
}

double progress_left(struct progress *p, double now)
{
	double left = progress_seconds_left(p, now), passed = fmax(now - p->shown_at, 0), due;

	if (isfinite(p->shown_left)) {
		due = fmax(p->shown_left - passed, 0);
		left = due + (1 - exp(-passed / PROGRESS_DAMPING)) * (left - due);
	}
	p->shown_left = left;
	p->shown_at = now;
	return left;
}

static void progress_add_reading(struct text *out, double value, const char *unit,
				 double half_width)
{
	char shown[48];

	text_add(out, units_format(value, unit, shown, sizeof(shown)));
	if (isfinite(half_width))
		text_addf(out, half_width < 0.995 ? " ±%.2g %%" : " ±%.0f %%", 100 * half_width);
}

void progress_line(const struct progress *progress, double now, int columns, struct text *out)
{
	struct text line = TEXT_EMPTY;
	size_t at = 0;
	char eta[32];

	/* A narrow terminal cuts off the least important part. */
	text_addf(&line, "case %zu/%zu  ETA %s", progress->number + (progress->current ? 1 : 0),
		  progress->total,
		  units_about(isfinite(progress->shown_left) ? progress->shown_left
							     : progress_seconds_left(progress, now),
			      eta, sizeof(eta)));
	if (progress->current)
		text_addf(&line, "  %s", progress->current->id);
	if (isfinite(progress->median)) {
		text_add(&line, "  time ");
		progress_add_reading(&line, progress->median, "s", progress->half_width);
	} else if (progress->current && progress->part[0]) {
		text_addf(&line, "  %s", progress->part);
	}
	for (int i = 0; i < columns && at < line.length; i++)
		at += text_utf8_sequence(line.data + at, line.length - at);
	text_add_bytes(out, line.data, at);
	text_release(&line);
}

static void progress_tell_skips(struct progress *progress, bool all);

void progress_clear(const struct progress *progress, int columns, struct text *out)
{
	/* Terminals fold a line that has become too long; the cursor is at its end. */
	if (columns < progress->drawn_columns && progress->drawn_width > columns)
		text_addf(out, "\033[%dA", (progress->drawn_width - 1) / columns);
	text_add(out, columns == progress->drawn_columns ? "\r\033[K" : "\r\033[J");
}

/* Clears the line if there is one. */
static void progress_clear_line(struct progress *progress, struct text *out)
{
	if (progress->drawn)
		progress_clear(progress, progress_columns(STDERR_FILENO), out);
	progress->drawn = false;
}

static void progress_draw(struct progress *progress)
{
	struct text text = TEXT_EMPTY;
	double now = clock_seconds();
	pid_t group = tcgetpgrp(STDERR_FILENO);
	size_t line;

	/* A job in the background (Ctrl-Z, bg) must not draw over what the shell shows now. */
	if (!progress->terminal || now < progress->next_draw || (group > 0 && group != getpgrp()))
		return;
	progress->next_draw = now + DRAW_SECONDS;
	progress_clear_line(progress, &text);
	progress->drawn_columns = progress_columns(STDERR_FILENO);
	progress_left(progress, now);
	/* One column less: a full last column makes some terminals wrap. */
	line = text.length;
	progress_line(progress, now, progress->drawn_columns - 1, &text);
	progress->drawn_width = 0;
	for (; line < text.length; line++)
		progress->drawn_width += ((unsigned char)text.data[line] & 0xc0) != 0x80;
	progress_write(&text);
	progress->drawn = true;
}

void progress_started(struct progress *progress, const struct plan_case *c)
{
	progress->current = c;
	progress->current_began = clock_seconds();
	progress->median = progress->half_width = NAN;
	progress->part[0] = '\0';
	progress->samples = 0;
	progress_tell_skips(progress, false);
	progress_draw(progress);
}

void progress_pulse(struct progress *p, double now, struct text *out)
{
	char passed[32], left[32];

	if (p->quiet || p->terminal || !p->current || now - p->line_at < PROGRESS_SILENCE)
		return;
	p->line_at = now;
	text_addf(out, "[%zu/%zu] %s: %s, %s", p->number + 1, p->total, p->current->id,
		  p->part[0] ? p->part : "begins",
		  units_about(now - p->current_began, passed, sizeof(passed)));
	if (p->samples)
		text_addf(out, ", %zu sample%s", p->samples, text_plural(p->samples));
	text_addf(out, "; about %s left\n", units_about(progress_left(p, now), left, sizeof(left)));
}

void progress_tick(struct progress *progress, const char *part)
{
	struct text text = TEXT_EMPTY;

	memcpy(progress->part, part, sizeof(progress->part));
	progress->part[sizeof(progress->part) - 1] = '\0';
	progress_draw(progress);
	progress_pulse(progress, clock_seconds(), &text);
	progress_write(&text);
}

void progress_sampled(struct progress *progress, size_t samples, double median, double half_width)
{
	progress->samples = samples;
	progress->median = median;
	progress->half_width = half_width;
	progress_draw(progress);
}

/*
 * The metric to print for a case. An unsettled metric is never marked as the headline, but it was
 * measured, so it is preferred to metrics that were only counted, such as a size.
 */
static const struct metric_value *progress_headline(const struct case_result *result)
{
	for (size_t i = 0; i < result->metric_count; i++)
		if (result->metrics[i].headline)
			return &result->metrics[i];
	for (size_t i = 0; i < result->metric_count; i++)
		if (case_is_unsettled(result, &result->metrics[i]))
			return &result->metrics[i];
	return result->metric_count ? &result->metrics[0] : NULL;
}

void progress_plain(const struct progress *progress, const struct case_result *result,
		    struct text *out)
{
	const struct metric_value *m = progress_headline(result);
	const struct series *series =
		m && m->series && *m->series ? case_series(result, m->series) : NULL;

	text_addf(out, "[%zu/%zu] %s %s", progress->number, progress->total,
		  case_status_name(result->status), result->id);
	if (result->status != CASE_OK && result->reason && *result->reason)
		text_addf(out, ": %s", result->reason);
	else if (m) {
		const char *dot;

		text_add(out, ": ");
		/* "error " of matmul.error, whose number has no unit that would tell; else "". */
		dot = m->name ? strchr(m->name, '.') : NULL;
		if (dot && strcmp(m->unit, "1") == 0) {
			for (const char *p = dot + 1; *p; p++)
				text_add_char(out, *p == '_' ? ' ' : *p);
			text_add_char(out, ' ');
		}
		progress_add_reading(out, m->value, case_unit(result, m),
				     fmax(m->high - m->value, m->value - m->low) / fabs(m->value));
		text_add(out, case_is_unsettled(result, m)         ? ", not settled"
			      : series && series->statistics.noisy ? ", noisy"
								   : "");
	}
	text_add_char(out, '\n');
}

static void progress_note_skipped(struct progress *p, const struct case_result *result)
{
	char *reason = result_outcome_case_common_reason(result);

	for (size_t i = 0; i < p->skipped_count; i++)
		if (strcmp(p->skipped[i].reason, reason) == 0) {
			p->skipped[i].count++;
			free(reason);
			return;
		}
	ARRAY_GROW(p->skipped, p->skipped_count, p->skipped_capacity);
	p->skipped[p->skipped_count++] = (struct progress_skipped){ .reason = reason,
								    .id = xstrdup(result->id),
								    .count = 1 };
}

void progress_skips(struct progress *progress, bool all, struct text *out)
{
	for (size_t i = 0; i < progress->skipped_count; i++) {
		struct progress_skipped *s = &progress->skipped[i];

		if (s->count == 0 || (s->told && !all))
			continue;
		text_addf(out, "[%zu/%zu] SKIPPED ", progress->number, progress->total);
		if (s->told)
			text_addf(out, "%zu more: %s\n", s->count, s->reason);
		else if (s->count > 1)
			text_addf(out, "%zu cases, the first %s: %s\n", s->count, s->id, s->reason);
		else
			text_addf(out, "%s: %s\n", s->id, s->reason);
		s->told = true;
		s->count = 0;
	}
}

static void progress_tell_skips(struct progress *progress, bool all)
{
	struct text text = TEXT_EMPTY;

	progress_skips(progress, all, &text);
	if (progress_write(&text))
		progress->line_at = clock_seconds();
}

void progress_settled(struct progress *progress, const struct plan_case *c,
		      const struct case_result *result)
{
	struct text text = TEXT_EMPTY;
	bool bad = result->status == CASE_FAILED || result->status == CASE_ERROR,
	     in_lines = !progress->quiet && !progress->terminal;

	progress->number++;
	progress->estimate_left -= c->estimate_seconds;
	if (result->status == CASE_OK) {
		progress->estimate_settled += c->estimate_seconds;
		/*
		 * One slow case says little of the others: it counts as some times its estimate at
		 * most.
		 */
		progress->seconds_settled +=
			fmin(result->seconds, OUTLIER_TIMES * c->estimate_seconds + 1);
	}
	progress->current = NULL;
	progress->median = progress->half_width = NAN;
	if (result->status == CASE_SKIPPED && in_lines)
		progress_note_skipped(progress, result);
	else if (bad || in_lines) {
		progress_clear_line(progress, &text);
		progress_plain(progress, result, &text);
		progress_write(&text);
		progress->line_at = clock_seconds();
	}
}

void progress_note(struct progress *progress, const char *format, ...)
{
	struct text text = TEXT_EMPTY;
	char *note = NULL;
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&note, format, ap) < 0)
		note = NULL;
	va_end(ap);
	progress_clear_line(progress, &text);
	text_addf(&text, "gpuproof: %s\n", note ? note : format);
	progress_write(&text);
	free(note);
}

void progress_end(struct progress *progress)
{
	struct text text = TEXT_EMPTY;

	progress_clear_line(progress, &text);
	progress_write(&text);
	progress_tell_skips(progress, true);
	for (size_t i = 0; i < progress->skipped_count; i++) {
		free(progress->skipped[i].reason);
		free(progress->skipped[i].id);
	}
	free(progress->skipped);
	progress->skipped = NULL;
	progress->skipped_count = progress->skipped_capacity = 0;
}
