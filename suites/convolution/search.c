#include "suites/convolution/search.h"

#include <math.h>

#define TURNS 5

/* One algorithm: launches in a turn (0: refused), and seconds of a launch. */
struct candidate {
	unsigned launches;
	double seconds;
};

struct search {
	struct stream *stream;
	struct event *begin, *end;
	enum status (*launch)(void *state, enum convolution_algorithm algorithm, struct error *err);
	void *state;
};

/* Seconds of a launch, the mean of `launches`. */
static enum status time_turn(const struct search *s, enum convolution_algorithm algorithm,
			     unsigned launches, double *seconds, struct error *err)
{
	if (backend_event_record(s->begin, s->stream, err) != STATUS_OK)
		return err->status;
	for (unsigned i = 0; i < launches; i++)
		if (s->launch(s->state, algorithm, err) != STATUS_OK)
			return err->status;
	if (backend_event_record(s->end, s->stream, err) != STATUS_OK ||
	    backend_stream_synchronize(s->stream, err) != STATUS_OK ||
	    backend_event_elapsed(s->begin, s->end, seconds, err) != STATUS_OK)
		return err->status;
	*seconds /= launches;
	return STATUS_OK;
}

/* Two launches, the first of which loads the kernel, say how many fill a turn of `seconds`. */
static enum status try_candidate(const struct search *s, enum convolution_algorithm algorithm,
				 double seconds, struct candidate *c, struct error *err)
{
	struct error refusal = ERROR_NONE;

	*c = (struct candidate){ .seconds = INFINITY };
	if (time_turn(s, algorithm, 1, &c->seconds, &refusal) == STATUS_OK)
		time_turn(s, algorithm, 1, &c->seconds, &refusal);
	if (refusal.status == STATUS_OK)
		c->launches = (unsigned)fmin(fmax(seconds / fmax(c->seconds, 1e-9), 1), 1e4);
	else if (refusal.status != STATUS_UNSUPPORTED || algorithm == CONVOLUTION_CHOSEN)
		*err = refusal;
	return err->status;
}

static enum status search_all(const struct search *s, double seconds,
			      struct convolution_search *found, struct error *err)
{
	struct candidate candidates[CONVOLUTION_ALGORITHMS];

	for (int a = 0; a < CONVOLUTION_ALGORITHMS; a++) {
		if (try_candidate(s, (enum convolution_algorithm)a,
				  seconds / (TURNS * CONVOLUTION_ALGORITHMS), &candidates[a],
				  err) != STATUS_OK)
			return err->status;
		if (a != CONVOLUTION_CHOSEN && candidates[a].launches > 0)
			found->tried++;
	}
	for (int turn = 0; turn < TURNS; turn++)
		for (int a = 0; a < CONVOLUTION_ALGORITHMS; a++) {
			struct candidate *c = &candidates[a];
			double once;

			if (c->launches == 0)
				continue;
			if (time_turn(s, (enum convolution_algorithm)a, c->launches, &once, err) !=
			    STATUS_OK)
				return err->status;
			c->seconds = turn == 0 ? once : fmin(c->seconds, once);
		}
	found->chosen_seconds = found->seconds = candidates[CONVOLUTION_CHOSEN].seconds;
	for (int a = 0; a < CONVOLUTION_ALGORITHMS; a++)
		if (candidates[a].launches > 0 && candidates[a].seconds < found->seconds) {
			found->seconds = candidates[a].seconds;
			found->fastest = (enum convolution_algorithm)a;
		}
	return STATUS_OK;
}

enum status convolution_search(struct stream *stream, double seconds,
			       enum status (*launch)(void *state,
						     enum convolution_algorithm algorithm,
						     struct error *err),
			       void *state, struct convolution_search *found, struct error *err)
{
	struct search s = { .stream = stream, .launch = launch, .state = state };

	*found = (struct convolution_search){ .fastest = CONVOLUTION_CHOSEN };
	if (backend_event_create(stream->device, &s.begin, err) == STATUS_OK &&
	    backend_event_create(stream->device, &s.end, err) == STATUS_OK)
		search_all(&s, seconds, found, err);
	backend_event_destroy(s.begin);
	backend_event_destroy(s.end);
	return err->status;
}
