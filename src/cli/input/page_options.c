#include "cli/input/page_options.h"

#include <stdio.h>

#include "report/card/card.h"

void page_options_layout(struct report_options *page, int layout)
{
	page->separate_css = page->card = layout == LAYOUT_DIRECTORY;
}

void page_options_note(const struct report_options *page)
{
	if (page->card && !card_available())
		fputs("gpuproof: no picture of the page for links: gpuproof was built without "
		      "cairo, or libcairo.so.2 is not on this machine\n",
		      stderr);
}
