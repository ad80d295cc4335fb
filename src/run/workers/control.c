#include "run/workers/control.h"

#include <stdatomic.h>
#include <sys/mman.h>

#include "measure/activity.h"

struct control {
	volatile sig_atomic_t stop;
	off_t log_mark;
	struct activity activity;
	_Atomic size_t in_flight;
	_Atomic bool groups_banned;
};

enum status control_open(struct control **out, struct error *err)
{
	void *memory = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	*out = memory == MAP_FAILED ? NULL : memory;
	return *out ? STATUS_OK : error_errno(err, "shared memory");
}

void control_close(struct control *control)
{
	if (control)
		munmap(control, sizeof(*control));
}

void control_stop(struct control *control)
{
	control->stop = 1;
}

const volatile sig_atomic_t *control_stop_flag(const struct control *control)
{
	return &control->stop;
}

void control_ban_groups(struct control *control, bool banned)
{
	atomic_store(&control->groups_banned, banned);
}

bool control_groups_banned(const struct control *control)
{
	return atomic_load(&control->groups_banned);
}

void control_begin(struct control *control, size_t cases, off_t log_end)
{
	activity_begin(&control->activity, "opening the device");
	control->log_mark = log_end;
	atomic_store(&control->in_flight, cases);
}

void control_settles(struct control *control)
{
	atomic_store(&control->in_flight, 1);
}

size_t control_in_flight(const struct control *control)
{
	return atomic_load(&control->in_flight);
}

void control_mark_log(struct control *control, off_t log_end)
{
	control->log_mark = log_end;
}

off_t control_log_mark(const struct control *control)
{
	return control->log_mark;
}

struct activity *control_activity(struct control *control)
{
	return &control->activity;
}
