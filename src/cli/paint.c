/* Painting a line that libedit shows; see paint.h. */
#define _XOPEN_SOURCE 700
#include "cli/paint.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

enum { TAB = 8, MAX_BYTES = 1 << 16 };

/* A place on the screen, from the line's first row and column on, as libedit counts. */
typedef struct place {
  int row, column;
} place;

static void put(char *out, size_t *length, const char *bytes, size_t n) {
  if (out) memcpy(out + *length, bytes, n);
  *length += n;
}

/* To the next row, without a newline, which would scroll. */
static void put_next_row(char *out, size_t *length) {
  put(out, length, "\r\033[B", 4);
}

/* Advances over one character of `columns` columns. A wide one that has no room begins a row. */
static void step(place *at, int columns, paint_screen screen, char *out, size_t *length) {
  if (at->column + columns > screen.columns) {
    at->row++;
    at->column = 0;
    put_next_row(out, length);
  }
  at->column += columns;
}

/* libedit's cursor never stays after the last column. */
static void wrap(place *at, paint_screen screen, char *out, size_t *length) {
  if (at->column < screen.columns) return;
  at->row++;
  at->column = 0;
  put_next_row(out, length);
}

/* Lays out `text` from *at on; with `out`, also writes there what shows it, at *length.  False: it
 * cannot be laid out. */
static bool lay_out(const char *text, size_t nbytes, paint_screen screen, place *at, char *out,
                    size_t *length) {
  mbstate_t state = {0};
  for (size_t i = 0; i < nbytes;) {
    if (text[i] == '\033') {
      size_t n = strcspn(text + i, "m") + 1;
      put(out, length, text + i, n);
      i += n;
      continue;
    }
    wchar_t c;
    size_t n = mbrtowc(&c, text + i, nbytes - i, &state);
    if (n == 0 || n > nbytes - i) return false; /* NUL, or no character */
    if (c == L'\n') {
      at->row++;
      at->column = 0;
      put_next_row(out, length);
    } else if (c == L'\t') {
      do {
        step(at, 1, screen, out, length);
        put(out, length, " ", 1);
      } while (at->column % TAB != 0);
      wrap(at, screen, out, length);
    } else {
      int columns = wcwidth(c);
      if (columns < 1) return false;
      step(at, columns, screen, out, length);
      put(out, length, text + i, n);
      wrap(at, screen, out, length);
    }
    i += n;
  }
  return true;
}

void paint_line(const char *prompt, const char *text, size_t cursor, const char *painted,
                paint_screen screen) {
  static char bytes[MAX_BYTES];
  place start = {0}, at, end;
  size_t length = 0;
  if (strchr(prompt, '\033') || strlen(painted) * 5 > MAX_BYTES / 2) return;
  if (!lay_out(prompt, strlen(prompt), screen, &start, NULL, &length)) return;
  at = end = start;
  if (!lay_out(text, cursor, screen, &at, NULL, &length)) return;
  if (!lay_out(text, strlen(text), screen, &end, NULL, &length)) return;
  if (end.row >= screen.rows) return;

  length = (size_t)snprintf(bytes, sizeof bytes, "\0337\r");
  if (at.row > start.row) {
    length += (size_t)snprintf(bytes + length, 16, "\033[%dA", at.row - start.row);
  }
  if (start.column > 0) {
    length += (size_t)snprintf(bytes + length, 16, "\033[%dC", start.column);
  }
  lay_out(painted, strlen(painted), screen, &start, bytes, &length);
  put(bytes, &length, "\0338", 2);
  fwrite(bytes, 1, length, stdout);
  fflush(stdout);
}
