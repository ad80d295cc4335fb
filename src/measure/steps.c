#include "measure/steps.h"

#include "base/clock.h"
#include "device/limits.h"

enum status steps_take(const struct steps_work *work, void *state, struct steps_taken *out,
		       struct error *err)
{
	int64_t device = work->device_bytes(state),
		resident = (int64_t)device_limits_memory_resident();

	for (size_t i = 0; i < STEPS_MOST && work->steps[i]; i++) {
		double start = clock_seconds();
		enum status status = work->steps[i](state, err);
		int64_t now;

		if (status != STATUS_OK)
			return status;
		out->steps[i].seconds = clock_seconds() - start;
		now = work->device_bytes(state);
		out->steps[i].device_bytes = now >= 0 && device >= 0 ? now - device : -1;
		device = now;
		now = (int64_t)device_limits_memory_resident();
		out->steps[i].resident_bytes = now - resident;
		resident = now;
		out->done = i + 1;
	}
	return STATUS_OK;
}
