#include "suites/parallel/modes/zero.h"

ZERO_MODE(1, "data parallel, the optimizer's state divided among the ranks");
