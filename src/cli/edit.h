/* Reading lines at a prompt: with editing and history on a terminal, plainly elsewhere. */
#ifndef ROC_CLI_EDIT_H
#define ROC_CLI_EDIT_H

#include <stdbool.h>

typedef enum edit_result { EDIT_LINE, EDIT_EOF, EDIT_INTERRUPTED } edit_result;

/* What the editor asks of its user, on the thread that reads a line.  Results are valid until the
 * next call. */
typedef struct edit_hooks {
  void *ud;
  /* The text with SGR sequences added; NULL: as it is.  The hook is NULL where no colours are
   * wanted. */
  const char *(*paint)(void *ud, const char *text);
  /* For Tab, with the cursor at the end of `before`: what to insert there, and, where there are
   * several ways to go on, their list, lines to be shown; both may be "". */
  void (*complete)(void *ud, const char *before, const char **out_insert, const char **out_list);
} edit_hooks;

/* Opens the editor on stdin and stdout and loads the history.  Without a terminal, or when the
 * editor cannot start, lines are read as they come.  `hooks` stay until edit_close. */
void edit_open(const edit_hooks *hooks);

/* Columns of the terminal; 0: stdout is none. */
int edit_columns(void);

/* Reads one line.  EDIT_LINE: *out_line is the text without its newline, to be freed by the caller.
 * EDIT_INTERRUPTED: Ctrl-C at the prompt. */
edit_result edit_read(const char *prompt, char **out_line);

/* Adds a chunk to the history and saves it in $XDG_STATE_HOME/roclua/history. */
void edit_remember(const char *text);

/* Gives the terminal back. */
void edit_close(void);

#endif
