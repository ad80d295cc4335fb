#include "suites/parallel/modes/zero.h"

ZERO_MODE(2, "data parallel, the optimizer's state and the gradients divided among the ranks");
