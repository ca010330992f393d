/* Painting a line that libedit shows: the same characters again, in colours.
 *
 * libedit knows nothing of colours, and keeps a copy of the screen to change as little of it as it
 * can.  Since each character is written where it already is, that copy stays right. */
#ifndef ROC_CLI_PAINT_H
#define ROC_CLI_PAINT_H

#include <stddef.h>

typedef struct paint_screen {
  int columns, rows;
} paint_screen;

/* Writes `painted`, which is `text` with SGR sequences (ESC [ … m) added, over the line that begins
 * with `prompt` on stdout.  The terminal's cursor is at byte `cursor` of `text`, and stays there.
 * Nothing is written where the place of a character is not known: control characters but newlines
 * and tabs, bytes that are no character of the locale, more lines than the screen has. */
void paint_line(const char *prompt, const char *text, size_t cursor, const char *painted,
                paint_screen screen);

#endif
