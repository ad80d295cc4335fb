#include "cli/input/page_options.h"

void page_options_layout(struct report_options *page, int layout)
{
	page->separate_css = layout == LAYOUT_DIRECTORY;
}
