#include "suites/parallel/predict/predict_reductions.h"

void reductions_add(struct reductions *r, double seconds)
{
	seconds += r->stream_wait;
	if (r->done == r->count)
		r->left = seconds;
	r->seconds[r->count++] = seconds;
	reductions_compute(r, r->event_record, 1);
}

static void finish_one(struct reductions *r)
{
	r->done++;
	r->left = r->done < r->count ? r->seconds[r->done] : 0;
}

double reductions_compute(struct reductions *r, double seconds, double speed)
{
	const double own = r->no_contention ? 1 : COMPUTE_DURING_REDUCTION;

	speed = r->no_contention ? 1 : speed;
	while (r->done < r->count) {
		double computed = seconds / own, reduced = r->left / speed;

		if (!(reduced < computed)) {
			r->left -= computed * speed;
			return r->now += computed;
		}
		r->now += reduced;
		seconds -= reduced * own;
		finish_one(r);
	}
	return r->now += seconds;
}

double reductions_wait(struct reductions *r, size_t i)
{
	double wait = r->done <= i ? r->stream_wait : 0;

	while (r->done <= i) {
		r->now += r->left;
		finish_one(r);
	}
	return reductions_compute(r, wait, 1);
}
