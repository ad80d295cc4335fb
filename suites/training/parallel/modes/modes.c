/* The table of modes, in the order in which the report shows them. */
#include "suites/training/parallel/modes/modes.h"

#include <string.h>

#define MODES(X)       \
	X(single)      \
	X(ddp)         \
	X(layer_split) \
	X(gpipe)       \
	X(1f1b)        \
	X(1f1b_eager)  \
	X(tensor)      \
	X(tensor_sequence) X(zero1) X(zero2) X(zero3) X(dp_naive) X(hybrid)

#define X(name) extern const struct mode mode_##name;
MODES(X)
#undef X

const struct mode *const modes[] = {
#define X(name) &mode_##name,
	MODES(X)
#undef X
		NULL,
};

const char *const mode_names[] = {
#define X(name) #name,
	MODES(X)
#undef X
		NULL,
};

const struct mode *mode_find(const char *name)
{
	for (const struct mode *const *m = modes; *m; m++)
		if (strcmp((*m)->name, name) == 0)
			return *m;
	return NULL;
}
