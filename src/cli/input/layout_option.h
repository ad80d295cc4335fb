/* --layout of the commands that write a page. */
#ifndef GPUPROOF_CLI_INPUT_LAYOUT_OPTION_H
#define GPUPROOF_CLI_INPUT_LAYOUT_OPTION_H

#include <stdbool.h>

#include "base/error.h"

/* `value`: single or dir, whose style sheet is a file of its own. */
enum status layout_take_option(const char *value, bool *separate_css, struct error *err);

#endif
