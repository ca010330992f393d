/* Reading lines at a prompt: with editing and history on a terminal, plainly elsewhere. */
#ifndef ROC_CLI_EDIT_H
#define ROC_CLI_EDIT_H

#include <stdbool.h>

typedef enum edit_result { EDIT_LINE, EDIT_EOF, EDIT_INTERRUPTED } edit_result;

/* Opens the editor on stdin and stdout and loads the history.  Without a terminal, or when the
 * editor cannot start, lines are read as they come. */
void edit_open(void);

/* Reads one line.  EDIT_LINE: *out_line is the text without its newline, to be freed by the caller.
 * EDIT_INTERRUPTED: Ctrl-C at the prompt. */
edit_result edit_read(const char *prompt, char **out_line);

/* Adds a chunk to the history and saves it in $XDG_STATE_HOME/roclua/history. */
void edit_remember(const char *text);

/* Gives the terminal back. */
void edit_close(void);

#endif
