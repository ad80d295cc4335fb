#include "suites/convolution/search.h"

#include <math.h>

#include "device/autotune.h"

struct algorithm_search {
	struct stream *stream;
	struct event *begin, *end;
	enum status (*launch)(void *state, enum convolution_algorithm algorithm, struct error *err);
	void *state;
	enum convolution_algorithm algorithms[CONVOLUTION_ALGORITHMS]; /* those that can be used */
	size_t count;
};

/* Seconds per launch, mean over `launches`. */
static enum status convolution_search_time_launches(const struct algorithm_search *s,
						    enum convolution_algorithm algorithm,
						    unsigned launches, double *seconds,
						    struct error *err)
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

static enum status convolution_time_candidate(void *context, size_t candidate, double seconds,
					      double *each, struct error *err)
{
	const struct algorithm_search *s = context;
	enum convolution_algorithm algorithm = s->algorithms[candidate];
	double launches;

	if (convolution_search_time_launches(s, algorithm, 1, each, err) != STATUS_OK)
		return err->status;
	launches = fmin(seconds / fmax(*each, 1e-9), 1e4);
	return launches < 2 ? STATUS_OK
			    : convolution_search_time_launches(s, algorithm, (unsigned)launches,
							       each, err);
}

/*
 * Launches each algorithm once, which loads its kernel outside of autotune()'s time; those that
 * refuse are not tried again.
 */
static enum status convolution_search_find_usable(struct algorithm_search *s, struct error *err)
{
	for (int a = 0; a < CONVOLUTION_ALGORITHMS; a++) {
		struct error refusal = ERROR_NONE;
		double loading;
		enum status status =
			convolution_search_time_launches(s, (enum convolution_algorithm)a, 1,
							 &loading, &refusal);

		if (status == STATUS_OK)
			s->algorithms[s->count++] = (enum convolution_algorithm)a;
		else if (status != STATUS_UNSUPPORTED || a == CONVOLUTION_CHOSEN)
			return error_set(err, status, "%s", refusal.message);
	}
	return STATUS_OK;
}

static enum status convolution_find_fastest(struct algorithm_search *s, double seconds,
					    struct convolution_search *found, struct error *err)
{
	struct autotune_rules rules = { .seconds = seconds };
	struct autotune_result result;

	if (convolution_search_find_usable(s, err) != STATUS_OK ||
	    autotune(s->count, &rules, convolution_time_candidate, s, &result, err) != STATUS_OK)
		return err->status;
	*found = (struct convolution_search){ .tried = (unsigned)s->count - 1,
					      .fastest = s->algorithms[result.best],
					      .chosen_seconds = result.first_seconds,
					      .seconds = result.seconds };
	return STATUS_OK;
}

enum status convolution_search(struct stream *stream, double seconds,
			       enum status (*launch)(void *state,
						     enum convolution_algorithm algorithm,
						     struct error *err),
			       void *state, struct convolution_search *found, struct error *err)
{
	struct algorithm_search s = { .stream = stream, .launch = launch, .state = state };

	*found = (struct convolution_search){ .fastest = CONVOLUTION_CHOSEN };
	if (backend_event_create(stream->device, &s.begin, err) == STATUS_OK &&
	    backend_event_create(stream->device, &s.end, err) == STATUS_OK)
		convolution_find_fastest(&s, seconds, found, err);
	backend_event_destroy(s.begin);
	backend_event_destroy(s.end);
	return err->status;
}
