#include "device/images.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define COMPILED "compiled by the driver from PTX code for "

struct image {
	int capability;
	bool machine, intermediate;
};

/*
 * Reads the next image of the list `*at`; false at the end. Skips code for one architecture (90a),
 * because no other can run it.
 */
static bool device_images_next(const char **at, struct image *out)
{
	for (;;) {
		size_t length;
		char *end;

		*at += strspn(*at, " ");
		length = strcspn(*at, " ");
		if (length == 0)
			return false;
		out->capability = (int)strtol(*at, &end, 10);
		out->machine = strncmp(end, "-virtual", 8) != 0;
		out->intermediate = strncmp(end, "-real", 5) != 0;
		*at += length;
		if (end == *at || *end == '-')
			return true;
	}
}

enum status device_images_for(const char *images, int capability, bool compiles, char *how,
			      size_t size, struct error *err)
{
	const char *at = images;
	int machine = 0, intermediate = 0;
	struct text list = TEXT_EMPTY;
	struct image image;

	while (device_images_next(&at, &image)) {
		if (image.capability > capability)
			continue;
		if (image.machine && image.capability / 10 == capability / 10 &&
		    image.capability > machine)
			machine = image.capability;
		if (image.intermediate && image.capability > intermediate)
			intermediate = image.capability;
	}
	if (machine)
		snprintf(how, size, "machine code for %d.%d", machine / 10, machine % 10);
	else if (intermediate && compiles)
		snprintf(how, size, COMPILED "%d.%d", intermediate / 10, intermediate % 10);
	if (machine || (intermediate && compiles))
		return STATUS_OK;
	if (intermediate)
		return error_set(err, STATUS_UNSUPPORTED,
				 "no machine code for compute capability %d.%d; the driver is "
				 "older "
				 "than the CUDA toolkit of this module, so it cannot compile the "
				 "PTX code for %d.%d",
				 capability / 10, capability % 10, intermediate / 10,
				 intermediate % 10);
	while (device_images_next(&images, &image))
		text_addf(&list, "%s%d.%d%s", list.length ? ", " : "", image.capability / 10,
			  image.capability % 10, image.machine ? "" : " and newer");
	error_set(err, STATUS_UNSUPPORTED, "no code for compute capability %d.%d, only for %s",
		  capability / 10, capability % 10, list.data ? list.data : "none");
	text_release(&list);
	return STATUS_UNSUPPORTED;
}

bool device_images_compiled(const char *how)
{
	return text_starts_with(how, COMPILED);
}
