/*
 * Orders to the fake backend: $GPUPROOF_FAKE, words separated by spaces.
 *
 *      devices=2          how many there are (1)
 *      capability=3.7     compute capability whose abilities it has (none: those of the host
 *                         backend)
 *      memory=64MiB       of each device (1GiB); what does not fit is refused. It is then the
 *                         device's own, as a GPU's
 *      watts=300          it has an energy counter that shows this power (none)
 *      busy_watts=400     the power from an operation to the wait for it (as without work)
 *      power=100%         it reports its power, times this; counter=off: and has no counter
 *      blind=2ms          the counter does not see work that begins after a rest so long
 *      noise=1%           of the scripted clock: readings are uniform within +-1 % (0)
 *      between=2%:7       of the scripted clock: readings of repetition n ($GPUPROOF_LAUNCH) are
 *                         longer by exp(2 % z), z the n-th normal number of seed 7 (0)
 *      two=30%:0.3:7      the same in two states: 30 % longer in 0.3 of the repetitions, by the
 *                         n-th uniform number of seed 7 (0)
 *      slow=3:5%          device 3 takes 5 % longer for everything (none)
 *      wrong=5            device 5 calculates products whose first bytes are wrong (none)
 *      clock=host         time is that of the host backend, not scripted (clock=scripted)
 *      error@37           the 37th call of this process fails with a device error, and every later
 *                         one: a sticky error
 *      fail@37            that call alone fails
 *      segfault@copy      the first copy crashes; abort@..., exit@... (code 3), hang@...
 *      segfault@copy:5    the 5th one
 *      hold@copy:5        the 5th one waits until=FILE is there: a test that hits a run in the
 *                         middle of a case needs no case that takes long
 *      vbios=TEXT         version of the firmware (none)
 *      rows=FILE          the last device has as many remapped rows as FILE says, one more each
 *                         time it is asked
 *      reset=2            the driver asks for a reset of device 2 (none)
 *      once=FILE          misbehave only while FILE does not exist; it is made then
 *      calls=FILE         counts the calls of all processes together, in FILE (struct
 *                         script_calls): the 37th is that of the whole run, and misbehaves once
 *
 * Operations have the names of backend.h; `open` is the backend's own.
 */
#ifndef GPUPROOF_TESTS_FAKE_SCRIPT_H
#define GPUPROOF_TESTS_FAKE_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Content of the file of calls=FILE, which must be there, of this size and zero. */
struct script_calls {
	uint64_t count;
	/*
	 * The operation that misbehaved; "" while none has. "unheeded:" before it: the caller took
	 * no error, cleaning up.
	 */
	char failed_call[48];
};

struct script {
	int devices;
	bool host_clock;
	int capability; /* 37 for 3.7; 0: none */
	uint64_t memory_bytes;
	bool own_memory;
	double noise;
	double level; /* of this repetition: between= and two= */
	double watts; /* 0: no energy counter */
	double busy_watts;
	double power; /* reading of power / power; 0: none */
	double blind; /* s */
	bool no_counter;
	int slow, wrong, reset; /* devices; -1: none */
	char vbios[32];
	double slowness; /* 0.05: 5 % longer */
};

/* Reads $GPUPROOF_FAKE. */
enum status script_read(struct script *script, struct error *err);

/* The script that script_read() read last. */
const struct script *script_now(void);

/* A number that rows=FILE gives, and counts on; -1: it gives none. */
int script_rows(void);

/* Counts a call of `operation` and misbehaves when its turn has come. */
enum status script_call(const char *operation, struct error *err);

#endif
