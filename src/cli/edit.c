/* Reading lines at a prompt: libedit on a terminal, getline elsewhere.
 *
 * On a terminal Ctrl-C is an ordinary key here: the terminal's interrupt character is off while a
 * line is edited, so no signal has to be caught in the middle of libedit. */
#include "cli/edit.h"

#include <errno.h>
#include <histedit.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HISTORY_SIZE 2000

static struct {
  EditLine *line; /* NULL: no terminal */
  History *history;
  const char *prompt;
  bool was_interrupted;
  char file[PATH_MAX]; /* of the history; "": none */
} editor;

static char *current_prompt(EditLine *line) {
  (void)line;
  return (char *)editor.prompt; /* libedit only reads it */
}

/* Bound to Ctrl-C: gives up the line. */
static unsigned char interrupt_line(EditLine *line, int key) {
  (void)line;
  (void)key;
  editor.was_interrupted = true;
  return CC_NEWLINE;
}

/* Makes the directories above the last component of `path`; false when one cannot be made. */
static bool make_parents(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    bool is_made = mkdir(path, 0700) == 0 || errno == EEXIST;
    *slash = '/';
    if (!is_made) return false;
  }
  return true;
}

/* A pipe or a device in the history's place would be waited for. */
static bool is_other_than_file(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

/* Fills editor.file by the XDG base directory rules. */
static void find_history_file(void) {
  const char *state = getenv("XDG_STATE_HOME");
  const char *home = getenv("HOME");
  int length = -1;
  if (state && state[0] == '/') {
    length = snprintf(editor.file, sizeof editor.file, "%s/roclua/history", state);
  } else if (home && home[0] == '/') {
    length = snprintf(editor.file, sizeof editor.file, "%s/.local/state/roclua/history", home);
  }
  if (length < 0 || (size_t)length >= sizeof editor.file || !make_parents(editor.file) ||
      is_other_than_file(editor.file)) {
    editor.file[0] = '\0';
  }
}

static void open_history(void) {
  HistEvent event;
  editor.history = history_init();
  if (!editor.history) return;
  history(editor.history, &event, H_SETSIZE, HISTORY_SIZE);
  history(editor.history, &event, H_SETUNIQUE, 1);
  el_set(editor.line, EL_HIST, history, editor.history);
  find_history_file();
  if (editor.file[0] != '\0') history(editor.history, &event, H_LOAD, editor.file);
}

void edit_open(void) {
  if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) return;
  if (!setlocale(LC_CTYPE, "") || MB_CUR_MAX == 1) { /* else libedit drops what is not ASCII */
    setlocale(LC_CTYPE, "C.UTF-8");
  }
  editor.line = el_init("roclua", stdin, stdout, stderr);
  if (!editor.line) return;
  el_set(editor.line, EL_PROMPT, current_prompt);
  el_set(editor.line, EL_EDITOR, "emacs");
  el_set(editor.line, EL_ADDFN, "roclua-interrupt", "give up the line", interrupt_line);
  el_set(editor.line, EL_SETTY, "-d", "-isig", NULL);
  el_set(editor.line, EL_BIND, "^C", "roclua-interrupt", NULL);
  el_set(editor.line, EL_BIND, "^R", "em-inc-search-prev", NULL);
  open_history();
  el_source(editor.line, NULL); /* the user's ~/.editrc */
}

/* `text` without the newline that ends it, or EDIT_EOF when there is no memory for the copy. */
static edit_result take_line(const char *text, size_t length, char **out_line) {
  if (length > 0 && text[length - 1] == '\n') length--;
  *out_line = strndup(text, length);
  return *out_line ? EDIT_LINE : EDIT_EOF;
}

static edit_result read_plainly(const char *prompt, char **out_line) {
  fputs(prompt, stdout);
  fflush(stdout);
  char *text = NULL;
  size_t capacity = 0;
  ssize_t length = getline(&text, &capacity, stdin);
  edit_result result = length < 0 ? EDIT_EOF : take_line(text, (size_t)length, out_line);
  free(text);
  return result;
}

edit_result edit_read(const char *prompt, char **out_line) {
  if (!editor.line) return read_plainly(prompt, out_line);
  editor.prompt = prompt;
  editor.was_interrupted = false;
  int length = 0;
  el_set(editor.line, EL_PREP_TERM,
         1); /* libedit shows the prompt first, and keys would echo twice */
  const char *text = el_gets(editor.line, &length);
  if (editor.was_interrupted) {
    puts("^C");
    return EDIT_INTERRUPTED;
  }
  return !text || length <= 0 ? EDIT_EOF : take_line(text, (size_t)length, out_line);
}

void edit_remember(const char *text) {
  HistEvent event;
  if (editor.history && text[strspn(text, " \t\n")] != '\0') {
    history(editor.history, &event, H_ENTER, text);
    if (editor.file[0] != '\0') { /* now, not at the end, which os.exit may skip */
      history(editor.history, &event, H_SAVE, editor.file);
    }
  }
}

void edit_close(void) {
  if (editor.history) {
    history_end(editor.history);
    editor.history = NULL;
  }
  if (editor.line) {
    el_end(editor.line);
    editor.line = NULL;
  }
}
