/*
 * A page in one picture, which chats and social media show for a link to it (Open Graph): title,
 * verdict, answer, and the best figures as shares of the data sheet. 1200 x 630 pixels, PNG.
 * Drawn by cairo, which may be absent when gpuproof is built and when it runs.
 */
#ifndef GPUPROOF_REPORT_CARD_CARD_H
#define GPUPROOF_REPORT_CARD_CARD_H

#include <stdbool.h>

#include "base/error.h"
#include "report/template/tree.h"

#define CARD_WIDTH 1200
#define CARD_HEIGHT 630

/* False where gpuproof was built without cairo, or its library is not on this machine. */
bool card_available(void);

/*
 * The answer of a page in a sentence: what it says of other GPUs, its first comparison, its
 * judgement, else its verdict; "" for none. Borrowed from `page`.
 */
const char *card_answer(const struct tree *page);

/* Writes the card of `page` to `path`, where card_available(). */
enum status card_write(const struct tree *page, const char *path, struct error *err);

#endif
