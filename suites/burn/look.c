/* Soak: searches for wrong words, and injects them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/stats.h"
#include "kernels/generator.h"
#include "result/statistics.h"
#include "suites/burn/burn.h"

#define PULSE_SECONDS 1.0
#define INJECT_SEED UINT64_C(0x706c616e74)

bool burn_look_go_on(const struct burn *b)
{
	return b->tally.check_errors < BURN_CHECK_ERRORS &&
	       (clock_seconds() < b->deadline || burn_look_inject_due(b));
}

enum status burn_look_interrupted(const struct burn *b, struct error *err)
{
	const volatile sig_atomic_t *stop = b->run->sampler.stop;

	return stop && *stop ? error_set(err, STATUS_INTERRUPTED,
					 "interrupted after %" PRIu64 " rounds", b->tally.rounds)
			     : STATUS_OK;
}

void burn_look_hand_over(struct burn *b, bool with_links)
{
	struct error ignored = ERROR_NONE;
	struct telemetry now;
	int64_t errors;

	if (backend_telemetry(b->device, &now, &ignored) != STATUS_OK)
		return;
	if (with_links && backend_link_errors(b->device, &errors, &ignored) == STATUS_OK)
		now.nvlink_errors = errors;
	b->celsius = now.temperature_celsius;
	telemetry_watch_hand_over(b->recorder, &now);
}

void burn_look_pulse(struct burn *b)
{
	const struct sampler *sampler = &b->run->sampler;

	if (clock_seconds() < b->next_pulse)
		return;
	b->next_pulse = clock_seconds() + PULSE_SECONDS;
	burn_look_hand_over(b, false);
	if (sampler->progress)
		sampler->progress(sampler->progress_context, (size_t)b->tally.rounds,
				  median_of(b->series->samples, b->series->count), (double)NAN);
}

enum status burn_look_record_open(struct burn_record *record, struct device *device,
				  struct error *err)
{
	*record = (struct burn_record){ .stream = NULL };
	if (backend_stream_create(device, false, &record->stream, err) != STATUS_OK) {
		record->stream = NULL;
		return err->status;
	}
	if (buffer_alloc(&record->buffer, device, ALLOCATOR_DEVICE, sizeof(struct wrong_words),
			 err) != STATUS_OK)
		burn_look_record_close(record);
	return err->status;
}

void burn_look_record_close(struct burn_record *record)
{
	if (record->stream)
		backend_stream_synchronize(record->stream, NULL);
	buffer_free(&record->buffer);
	backend_stream_destroy(record->stream);
	record->stream = NULL;
}

enum status burn_look_begin(const struct burn_record *record, struct error *err)
{
	return backend_memory_set(record->stream, record->buffer.memory, 0,
				  sizeof(struct wrong_words), err);
}

/* A reading leaves the GPU idle for 4 ms. */
#define ENERGY_READING_SECONDS 2.0

/* The first batch starts the window, which excludes set-up. */
static void look_count_energy(struct burn *b, double seconds, double count, double work)
{
	double now = clock_seconds();

	if (!b->energy.meter) {
		b->energy.meter = energy_meter_begin(&b->device, 1);
		b->energy.next_reading = now + ENERGY_READING_SECONDS;
		return;
	}
	b->energy.pending.work += work;
	b->energy.pending.seconds += seconds;
	b->energy.pending.count += count;
	if (now < b->energy.next_reading)
		return;
	energy_meter_read(b->energy.meter);
	b->energy.work += b->energy.pending.work;
	b->energy.seconds += b->energy.pending.seconds;
	b->energy.count += b->energy.pending.count;
	memset(&b->energy.pending, 0, sizeof(b->energy.pending));
	b->energy.next_reading = clock_seconds() + ENERGY_READING_SECONDS;
}

void burn_look_timed(struct burn *b, double seconds, double count, double work)
{
	struct series *series = b->series;

	ARRAY_GROW(series->samples, series->count, series->capacity);
	series->samples[series->count++] = seconds / count;
	b->tally.work += work;
	b->tally.seconds += seconds;
	look_count_energy(b, seconds, count, work);
}

void burn_look_note_wrong(struct burn *b, uint64_t words, const char *text)
{
	b->tally.wrong += words;
	if (!b->tally.first[0])
		snprintf(b->tally.first, sizeof(b->tally.first), "%s", text);
}

void burn_look_note_event(struct burn *b, const struct watch_event *event, const char *work,
			  uint64_t expected, uint64_t got)
{
	struct watch_event *kept = &b->events[b->event_count];
	char bits[24];

	if (b->event_count == BURN_EVENTS_MOST)
		return;
	*kept = *event;
	kept->work = xstrdup(work);
	snprintf(bits, sizeof(bits), "%#" PRIx64, expected);
	kept->expected = xstrdup(bits);
	snprintf(bits, sizeof(bits), "%#" PRIx64, got);
	kept->got = xstrdup(bits);
	b->event_count++;
}

void burn_look_forget_events(struct burn *b)
{
	while (b->event_count) {
		struct watch_event *event = &b->events[--b->event_count];

		free(event->work);
		free(event->expected);
		free(event->got);
	}
}

void burn_look_note_repeats(struct burn *b, uint64_t again)
{
	size_t length = strlen(b->tally.first);

	for (size_t i = 0; i < b->event_count; i++) {
		b->events[i].repeats = BURN_REPEATS;
		b->events[i].again = again;
	}
	snprintf(b->tally.first + length, sizeof(b->tally.first) - length,
		 "; the error occurred again in %" PRIu64 " of %d repeats", again, BURN_REPEATS);
}

void burn_look_note_check_error(struct burn *b, const char *text)
{
	if (!b->tally.check_errors++)
		snprintf(b->tally.check_text, sizeof(b->tally.check_text), "%s", text);
}

static void look_keep_events(struct burn *b, const struct burn_place *place,
			     const struct wrong_words *found, uint64_t count)
{
	/* Half of the space is for the name of a multiprocessor. */
	for (uint64_t i = 0; i < count && b->event_count < BURN_EVENTS_MOST / 2; i++) {
		const struct wrong_word *w = &found->words[i];
		struct watch_event event = { .row = (double)NAN,
					     .column = (double)NAN,
					     .offset = (double)w->offset,
					     .multiprocessor = (double)NAN,
					     .quarter = (double)NAN,
					     .replicas = place->replicas };

		if (place->rows) {
			event.row = (double)(w->offset / place->element_bytes % place->rows);
			event.column = (double)(w->offset / place->element_bytes / place->rows);
		}
		burn_look_note_event(b, &event, place->what, w->expected, w->got);
	}
}

static void look_describe_wrong_word(const struct burn_place *place,
				     const struct wrong_words *found, const struct wrong_word *word,
				     char *out, size_t size)
{
	int digits = place->rows ? 2 * (int)place->element_bytes : 16;
	char where[64] = "";

	if (place->rows)
		snprintf(where, sizeof(where), ", row %" PRIu64 ", column %" PRIu64,
			 word->offset / place->element_bytes % place->rows,
			 word->offset / place->element_bytes / place->rows);
	snprintf(out, size,
		 "%s%s, byte %" PRIu64 " of %" PRIu64 " (address %#" PRIx64
		 "): expected 0x%0*" PRIx64 ", read 0x%0*" PRIx64 ", wrong bits 0x%0*" PRIx64
		 " (%" PRIu64 " word%s)",
		 place->what, where, word->offset, place->bytes, word->address, digits,
		 word->expected, digits, word->got, digits, word->expected ^ word->got,
		 found->count, found->count == 1 ? "" : "s");
}

/*
 * Checks that all injected words were found at their addresses. An injected bit must be the only
 * wrong bit of its word, which may be half of the 8 bytes.
 */
static enum status look_claim_injected(struct burn *b, const struct wrong_words *found,
				       struct error *err)
{
	uint64_t count = found->recorded < WRONG_WORDS ? found->recorded : WRONG_WORDS;

	if (!b->injected.is)
		return STATUS_OK;
	b->injected.is = false;
	for (uint64_t i = 0; i < count; i++) {
		const struct wrong_word *w = &found->words[i];

		uint64_t wrong = (w->expected ^ w->got) << 8 * (w->offset % 8);

		if (w->offset >= b->injected.offset &&
		    w->offset - b->injected.offset < b->injected.bytes &&
		    (!b->injected.bits || wrong == b->injected.bits) &&
		    found->count >= b->injected.bytes / 8) {
			b->tally.injected_found++;
			return STATUS_OK;
		}
	}
	return error_set(err, STATUS_INTERNAL,
			 "the fault injected at byte %" PRIu64
			 " was not found; the check found %" PRIu64 " wrong words in total",
			 b->injected.offset, found->count);
}

enum status burn_look_end(struct burn *b, const struct burn_record *record,
			  const struct burn_place *place, struct error *err)
{
	struct wrong_words found = { 0 };
	char text[sizeof(b->tally.first)];

	if (backend_copy(record->stream, &found, record->buffer.memory, sizeof(found), err) !=
		    STATUS_OK ||
	    backend_stream_synchronize(record->stream, err) != STATUS_OK)
		return err->status;
	if (place->compared && found.compared != place->compared) {
		snprintf(text, sizeof(text),
			 "%.80s: the check compared %" PRIu64 " of %" PRIu64 " words", place->what,
			 found.compared, place->compared);
		burn_look_note_check_error(b, text);
	}
	if (found.count) {
		uint64_t count = found.recorded < WRONG_WORDS ? found.recorded : WRONG_WORDS;
		const struct wrong_word *first = &found.words[0];

		/* The words are recorded in no order: report the lowest address. */
		for (uint64_t i = 1; i < count; i++)
			if (found.words[i].offset < first->offset)
				first = &found.words[i];
		look_describe_wrong_word(place, &found, first, text, sizeof(text));
		burn_look_note_wrong(b, found.count, text);
		look_keep_events(b, place, &found, count);
		b->tally.flipped |= found.flipped;
	}
	return look_claim_injected(b, &found, err);
}

bool burn_look_inject_due(const struct burn *b)
{
	return b->tally.injected < b->to_inject;
}

uint64_t burn_look_inject_word(const struct burn *b, uint64_t words)
{
	/* Start with the ends: a faulty check is most likely to miss the last word. */
	if (b->tally.injected < 2)
		return b->tally.injected ? words - 1 : 0;
	return generator_bits(b->seed ^ INJECT_SEED, 2 * b->tally.injected) % words;
}

void burn_look_note_injected(struct burn *b, uint64_t offset, uint64_t bytes, uint64_t bits)
{
	b->injected.is = true;
	b->injected.offset = offset;
	b->injected.bytes = bytes;
	b->injected.bits = bits;
	b->tally.injected++;
}

enum status burn_look_inject(struct burn *b, struct stream *stream, void *address, uint64_t offset,
			     struct error *err)
{
	unsigned bit =
		(unsigned)(generator_bits(b->seed ^ INJECT_SEED, 2 * b->tally.injected + 1) % 64);
	uint64_t word;

	if (backend_copy(stream, &word, address, sizeof(word), err) != STATUS_OK ||
	    backend_stream_synchronize(stream, err) != STATUS_OK)
		return err->status;
	word ^= UINT64_C(1) << bit;
	if (backend_copy(stream, address, &word, sizeof(word), err) != STATUS_OK ||
	    backend_stream_synchronize(stream, err) != STATUS_OK)
		return err->status;
	burn_look_note_injected(b, offset, sizeof(word), UINT64_C(1) << bit);
	return STATUS_OK;
}
