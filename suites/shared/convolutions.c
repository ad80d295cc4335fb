#include "suites/shared/convolutions.h"

#include <math.h>

#include "device/autotune.h"

/* Depthwise engines of cuDNN sum in FP16 although their notes do not say so. */
bool convolution_prefers_library(const struct convolution_shape *shape,
				 const struct device_info *info)
{
	return !shape->depthwise && (info->capabilities & DEVICE_HAS_CONVOLUTIONS);
}

const char *const convolution_pass_names[] = { "forward", "data_gradient", "weight_gradient",
					       NULL };

void **convolution_result(struct convolution_work *w)
{
	return w->pass == PASS_FORWARD ? &w->tensors.y
	       : w->pass == PASS_DATA  ? &w->tensors.x
				       : &w->tensors.w;
}

uint64_t convolution_result_elements(const struct convolution_shape *s, enum convolution_pass pass)
{
	switch (pass) {
	case PASS_FORWARD:
		return kernel_convolution_out_pixels(s) * s->filters;
	case PASS_DATA:
		return (uint64_t)s->batch * s->height * s->width * s->channels;
	default:
		return kernel_convolution_weights(s);
	}
}

double convolution_tolerance(enum precision precision)
{
	return precision == PRECISION_FP32 ? 2e-5 : precision == PRECISION_BF16 ? 2e-2 : 2e-3;
}

uint64_t convolution_workspace_of_all(const struct convolution_engines *engines)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < engines->count; i++)
		if (engines->engines[i].workspace_bytes > most)
			most = engines->engines[i].workspace_bytes;
	return most;
}

enum status convolution_enqueue(const struct convolution_work *w, struct error *err)
{
	const struct convolution_tensors *t = &w->tensors;
	struct convolution_forward_arguments forward = { w->shape, t->x, t->w, t->y };
	struct convolution_data_gradient_arguments data = { w->shape, t->y, t->w, t->x };
	struct convolution_weight_gradient_arguments weights = {
		w->shape, t->x, t->y, t->w, t->workspace, w->pass == PASS_WEIGHTS_ADD
	};

	if (w->engines)
		return backend_convolution_run(w->engines, w->engine, t, err);
	switch (w->pass) {
	case PASS_FORWARD:
		return backend_launch(w->stream, "convolution_forward", &forward, err);
	case PASS_DATA:
		return backend_launch(w->stream, "convolution_data_gradient", &data, err);
	default:
		return backend_launch(w->stream, "convolution_weight_gradient", &weights, err);
	}
}

_Static_assert(CONVOLUTION_CANDIDATES > CONVOLUTION_ENGINES &&
		       CONVOLUTION_CANDIDATES >= CONVOLUTION_ALGORITHMS,
	       "a place for each engine and the built-in kernels, or for each algorithm");

struct algorithm_search {
	struct stream *stream;
	struct event *begin, *end;
	convolution_launch_fn *launch;
	void *state;
	unsigned usable[CONVOLUTION_CANDIDATES];
	size_t count; /* of usable ones */
};

/* Seconds per launch, mean over `launches`. */
static enum status convolution_search_time_launches(const struct algorithm_search *s,
						    unsigned candidate, unsigned launches,
						    double *seconds, struct error *err)
{
	if (backend_event_record(s->begin, s->stream, err) != STATUS_OK)
		return err->status;
	for (unsigned i = 0; i < launches; i++)
		if (s->launch(s->state, candidate, err) != STATUS_OK)
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
	double launches;

	candidate = s->usable[candidate];
	if (convolution_search_time_launches(s, (unsigned)candidate, 1, each, err) != STATUS_OK)
		return err->status;
	launches = fmin(seconds / fmax(*each, 1e-9), 1e4);
	return launches < 2 ? STATUS_OK
			    : convolution_search_time_launches(s, (unsigned)candidate,
							       (unsigned)launches, each, err);
}

/*
 * Launches each candidate once, which loads its kernel outside of autotune()'s time; those that
 * refuse are not tried again. Without time for a comparison, the first usable one is enough.
 */
static enum status convolution_search_find_usable(struct algorithm_search *s, unsigned candidates,
						  bool first, struct error *err)
{
	struct error refusal = ERROR_NONE;

	for (unsigned c = 0; c < candidates && !(first && s->count > 0); c++) {
		struct error latest = ERROR_NONE;
		double loading;

		if (convolution_search_time_launches(s, c, 1, &loading, &latest) == STATUS_OK)
			s->usable[s->count++] = c;
		else if (latest.status == STATUS_UNSUPPORTED)
			refusal = latest;
		else
			return error_set(err, latest.status, "%s", latest.message);
	}
	return s->count > 0 ? STATUS_OK : error_set(err, refusal.status, "%s", refusal.message);
}

enum status convolution_search(struct stream *stream, double seconds, unsigned candidates,
			       convolution_launch_fn *launch, void *state,
			       struct convolution_search *found, struct error *err)
{
	struct algorithm_search s = { .stream = stream, .launch = launch, .state = state };
	struct autotune_rules rules = { .seconds = seconds };
	struct autotune_result result;

	if (backend_event_create(stream->device, &s.begin, err) == STATUS_OK &&
	    backend_event_create(stream->device, &s.end, err) == STATUS_OK &&
	    convolution_search_find_usable(&s, candidates, seconds == 0, err) == STATUS_OK)
		*found = (struct convolution_search){ .usable = (unsigned)s.count,
						      .first = s.usable[0],
						      .fastest = s.usable[0] };
	if (err->status == STATUS_OK && seconds > 0 && s.count > 1 &&
	    autotune(s.count, &rules, convolution_time_candidate, &s, &result, err) == STATUS_OK) {
		found->fastest = s.usable[result.best];
		found->first_seconds = result.first_seconds;
		found->seconds = result.seconds;
	}
	backend_event_destroy(s.begin);
	backend_event_destroy(s.end);
	return err->status;
}
