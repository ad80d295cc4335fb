#include "report/card/card.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef GPUPROOF_CAIRO
#include <cairo.h>
#include <dlfcn.h>
#endif

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

/* NULL where the list is absent or empty. */
static const struct tree *first_of(const struct tree *map, const char *name)
{
	const struct tree *list = map ? tree_member(map, name) : NULL;

	return list && list->kind == TREE_LIST && list->count ? list->children[0] : NULL;
}

const char *card_answer(const struct tree *page)
{
	const char *const answers[] = { tree_member_text(page, "lead"),
					tree_member_text(first_of(page, "changes"), "sentence"),
					tree_member_text(page, "judgement"),
					tree_member_text(page, "verdict") };

	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++)
		if (*answers[i])
			return answers[i];
	return "";
}

#ifdef GPUPROOF_CAIRO
/*
 * cairo is opened when the first card is drawn: few commands need it, and it brings fonts and X11's
 * libraries with it, which a GPU node need not have.
 */
#define LIBRARY "libcairo.so.2"
#define CALLS(X)                       \
	X(create)                      \
	X(debug_reset_static_data)     \
	X(destroy)                     \
	X(fill)                        \
	X(image_surface_create)        \
	X(move_to)                     \
	X(paint)                       \
	X(rectangle)                   \
	X(select_font_face)            \
	X(set_font_size)               \
	X(set_source_rgb)              \
	X(show_text)                   \
	X(status)                      \
	X(status_to_string)            \
	X(surface_destroy)             \
	X(surface_write_to_png_stream) \
	X(text_extents)

static struct {
#define POINTER(name) __typeof__(&cairo_##name) name;
	CALLS(POINTER)
} call;

#define MARGIN 56.0
#define RIGHT (CARD_WIDTH - MARGIN)
#define FOOT (CARD_HEIGHT - 44.0)
#define ROW 40.0
#define MOST_ROWS 6
#define BAR 700.0 /* left edge of bars */

struct pen {
	cairo_t *cairo;
	double y; /* the next line's baseline is below */
};

static void set_colour(cairo_t *cairo, unsigned rgb)
{
	call.set_source_rgb(cairo, (rgb >> 16 & 255) / 255.0, (rgb >> 8 & 255) / 255.0,
			    (rgb & 255) / 255.0);
}

/* The light colours of report.css. */
static unsigned colour_of(const char *kind)
{
	static const struct {
		const char *kind;
		unsigned rgb;
	} colours[] = { { "ok", 0x00704f },
			{ "failed", 0xb3261e },
			{ "error", 0xb35900 },
			{ "noisy", 0x7d6200 } };

	for (size_t i = 0; i < sizeof(colours) / sizeof(*colours); i++)
		if (strcmp(colours[i].kind, kind) == 0)
			return colours[i].rgb;
	return 0x595959;
}

static void set_font(cairo_t *cairo, double size, bool bold)
{
	call.select_font_face(cairo, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
			      bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
	call.set_font_size(cairo, size);
}

static double width_of(cairo_t *cairo, const char *text)
{
	cairo_text_extents_t extents;

	call.text_extents(cairo, text, &extents);
	return extents.x_advance;
}

static void show_at(cairo_t *cairo, double x, double y, const char *text)
{
	call.move_to(cairo, x, y);
	call.show_text(cairo, text);
}

/* Cuts `text` at a character until it is at most `width` wide, with an ellipsis. */
static void fit(cairo_t *cairo, struct text *text, double width)
{
	if (!text->length || width_of(cairo, text->data) <= width)
		return;
	do {
		while ((text->data[--text->length] & 0xc0) == 0x80 && text->length)
			;
		text->data[text->length] = '\0';
		text_add(text, "…");
		if (width_of(cairo, text->data) <= width)
			return;
		text->length -= strlen("…");
		text->data[text->length] = '\0';
	} while (text->length);
}

/* At most `most` lines of whole words; what does not fit ends in an ellipsis. */
static void paragraph(struct pen *pen, const char *text, double size, bool bold, size_t most)
{
	struct text line = TEXT_EMPTY;
	char *copy = text_harmless(text), *words = copy;

	set_font(pen->cairo, size, bold);
	for (size_t n = 1; *words && n <= most; n++) {
		line.length = 0;
		while (*words) {
			size_t before = line.length, word = strcspn(words, " ");

			text_addf(&line, "%s%.*s", before ? " " : "", (int)word, words);
			if (n < most && before &&
			    width_of(pen->cairo, line.data) > RIGHT - MARGIN) {
				line.data[line.length = before] = '\0';
				break;
			}
			words += word;
			words += strspn(words, " ");
		}
		fit(pen->cairo, &line, RIGHT - MARGIN);
		pen->y += size * 1.3;
		show_at(pen->cairo, MARGIN, pen->y, line.data ? line.data : "");
	}
	text_release(&line);
	free(copy);
}

/* As much of `words` as is `width` wide, at the left or at the right edge. */
static void show_fitting(const struct pen *pen, const char *words, double width, bool right)
{
	char *safe = text_harmless(words);
	struct text text = TEXT_EMPTY;

	text_add(&text, safe);
	fit(pen->cairo, &text, width);
	show_at(pen->cairo, right ? RIGHT - width_of(pen->cairo, text.data) : MARGIN, pen->y,
		text.data);
	text_release(&text);
	free(safe);
}

/* "STREAM triad   4.39 TB/s [=====    ] 91 %": the frame is the data sheet. */
static void draw_share(struct pen *pen, const struct tree *bar)
{
	const double whole = 340;
	const char *value = tree_member_text(bar, "value");
	double width = width_of(pen->cairo, value);
	double share = strtod(tree_member_text(bar, "share"), NULL);
	char percent[16];

	pen->y += ROW;
	set_colour(pen->cairo, 0x1a1a1a);
	show_fitting(pen, tree_member_text(bar, "name"), BAR - MARGIN - 40 - width, false);
	show_at(pen->cairo, BAR - 20 - width, pen->y, value);
	set_colour(pen->cairo, 0xe6e6e6);
	call.rectangle(pen->cairo, BAR, pen->y - 22, whole, 26);
	call.fill(pen->cairo);
	set_colour(pen->cairo, 0x0072b2);
	call.rectangle(pen->cairo, BAR, pen->y - 22, whole * fmin(fmax(share, 0), 1), 26);
	call.fill(pen->cairo);
	set_colour(pen->cairo, 0x1a1a1a);
	snprintf(percent, sizeof(percent), "%.0f %%", 100 * share);
	show_fitting(pen, percent, 100, true);
}

static void draw_change(struct pen *pen, const struct tree *row)
{
	struct text value = TEXT_EMPTY;

	text_addf(&value, "%s → %s, %s %s", tree_member_text(row, "a"), tree_member_text(row, "b"),
		  tree_member_text(row, "ratio"), tree_member_text(row, "word"));
	pen->y += ROW;
	set_colour(pen->cairo, 0x1a1a1a);
	show_fitting(pen, tree_member_text(row, "case"), 520, false);
	set_colour(pen->cairo, colour_of(tree_member_text(row, "kind")));
	show_fitting(pen, value.data, RIGHT - 600, true);
	text_release(&value);
}

static void draw_rows(struct pen *pen, const struct tree *page)
{
	const struct tree *shares = tree_member(page, "card_shares");
	const struct tree *compared = first_of(page, "changes");
	const struct tree *changed = compared ? tree_member(compared, "changed") : NULL;
	const struct tree *rows = changed ? changed : shares;
	size_t count = rows && rows->kind == TREE_LIST ? rows->count : 0;
	size_t most = count < MOST_ROWS ? count : MOST_ROWS;

	pen->y += 14;
	if (rows == shares && count) {
		set_colour(pen->cairo, 0x595959);
		set_font(pen->cairo, 20, false);
		show_at(pen->cairo, BAR, pen->y + 20, "best figures, share of the data sheet");
		pen->y += 18;
	}
	set_font(pen->cairo, 26, false);
	for (size_t i = 0; i < most && pen->y + ROW < FOOT - 40; i++) {
		/* All kinds of figures, not those of the first suite. */
		const struct tree *row = rows->children[rows == shares ? i * count / most : i];

		if (rows == shares)
			draw_share(pen, row);
		else if (strcmp(tree_member_text(row, "kind"), "skipped") != 0)
			draw_change(pen, row);
	}
}

static void draw(cairo_t *cairo, const struct tree *page)
{
	const struct tree *compared = first_of(page, "changes"), *run = first_of(page, "runs");
	const char *kind = compared ? tree_member_text(compared, "outcome_kind")
				    : tree_member_text(page, "verdict_kind");
	const char *word = compared ? tree_member_text(compared, "outcome_word")
				    : tree_member_text(page, "verdict_word");
	struct pen pen = { .cairo = cairo, .y = 36 };
	struct text origin = TEXT_EMPTY;

	set_colour(cairo, 0xffffff);
	call.paint(cairo);
	set_colour(cairo, colour_of(kind));
	call.rectangle(cairo, 0, 0, 20, CARD_HEIGHT);
	call.fill(cairo);
	set_colour(cairo, 0x1a1a1a);
	paragraph(&pen, tree_member_text(page, "title"), 46, true, 2);
	set_colour(cairo, colour_of(kind));
	paragraph(&pen, word, 38, true, 1);
	set_colour(cairo, 0x1a1a1a);
	pen.y += 8;
	paragraph(&pen, card_answer(page), 28, false, *tree_member_text(page, "lead") ? 6 : 3);
	draw_rows(&pen, page);
	set_colour(cairo, 0x595959);
	text_addf(&origin, "gpuproof %s%s%s%s%s", tree_member_text(run, "version"),
		  *tree_member_text(run, "started") ? " · " : "", tree_member_text(run, "started"),
		  *tree_member_text(run, "run_id") ? " · run " : "",
		  tree_member_text(run, "run_id"));
	pen.y = FOOT - 22 * 1.3;
	paragraph(&pen, origin.data, 22, false, 1);
	text_release(&origin);
}

static cairo_status_t collect(void *png, const unsigned char *data, unsigned length)
{
	text_add_bytes(png, (const char *)data, length);
	return CAIRO_STATUS_SUCCESS;
}

static void (*fonts_release)(void);

/* Releases the fonts that cairo and fontconfig keep for the next drawing. */
static void release_caches(void)
{
	call.debug_reset_static_data();
	if (fonts_release)
		fonts_release();
}

static bool load(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return false;
#define LOAD(name)                                                                \
	if (!(call.name = (__typeof__(call.name))dlsym(library, "cairo_" #name))) \
		return false;
	CALLS(LOAD)
	fonts_release = (__typeof__(fonts_release))dlsym(library, "FcFini"); /* of its dependency */
	atexit(release_caches);
	return true;
}

bool card_available(void)
{
	static enum { UNKNOWN, ABSENT, PRESENT } state;

	if (state == UNKNOWN)
		state = load() ? PRESENT : ABSENT;
	return state == PRESENT;
}

enum status card_write(const struct tree *page, const char *path, struct error *err)
{
	cairo_surface_t *surface =
		call.image_surface_create(CAIRO_FORMAT_RGB24, CARD_WIDTH, CARD_HEIGHT);
	cairo_t *cairo = call.create(surface);
	struct text png = TEXT_EMPTY;
	cairo_status_t status;

	draw(cairo, page);
	status = call.status(cairo);
	if (status == CAIRO_STATUS_SUCCESS)
		status = call.surface_write_to_png_stream(surface, collect, &png);
	if (status == CAIRO_STATUS_SUCCESS)
		file_write(path, png.data, png.length, err);
	else
		error_set(err, STATUS_INTERNAL, "%s: cairo: %s", path,
			  call.status_to_string(status));
	call.destroy(cairo);
	call.surface_destroy(surface);
	text_release(&png);
	return err->status;
}
#else
bool card_available(void)
{
	return false;
}

enum status card_write(const struct tree *page, const char *path, struct error *err)
{
	(void)page;
	return error_set(err, STATUS_UNSUPPORTED,
			 "%s: no card image: this gpuproof was built without cairo", path);
}
#endif
