/* Reading lines at a prompt: libedit on a terminal, getline elsewhere.
 *
 * On a terminal Ctrl-C is an ordinary key here: the terminal's interrupt character is off while a
 * line is edited, so no signal has to be caught in the middle of libedit.  libedit asks for each key
 * through read_key, when the screen is as it wants it: there the line is painted (paint.h). What is
 * pasted comes between marks, which the terminal is asked for, and goes into the line as it is, with
 * its newlines and tabs. */
#define _XOPEN_SOURCE 700
#include "cli/edit.h"

#include <errno.h>
#include <histedit.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#include "cli/paint.h"

#define HISTORY_SIZE 2000
#define PASTE_BEGINS "\033[200~"
#define PASTE_ENDS "\033[201~"

static struct {
  EditLine *line; /* NULL: no terminal */
  History *history;
  const edit_hooks *hooks;
  const char *prompt;
  bool was_interrupted;
  bool is_pasting;
  bool takes_marks;    /* the terminal marks what is pasted */
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

/* ---- keys ------------------------------------------------------------------------------------ */

/* The line as text, which the caller frees, and the cursor's place in it; NULL: no memory. */
static char *copy_line(EditLine *line, size_t *out_cursor) {
  const LineInfo *info = el_line(line);
  *out_cursor = (size_t)(info->cursor - info->buffer);
  return strndup(info->buffer, (size_t)(info->lastchar - info->buffer));
}

static void paint(EditLine *line) {
  size_t cursor;
  char *text = copy_line(line, &cursor);
  const char *painted =
      text && text[0] != '\0' ? editor.hooks->paint(editor.hooks->ud, text) : NULL;
  if (painted) {
    paint_screen screen = {0};
    el_get(line, EL_GETTC, "co", &screen.columns);
    el_get(line, EL_GETTC, "li", &screen.rows);
    paint_line(editor.prompt, text, cursor, painted, screen);
  }
  free(text);
}

/* libedit's next key: 1; 0 at the end of input. */
static int read_key(EditLine *line, wchar_t *out_key) {
  mbstate_t state = {0};
  char byte;
  if (editor.hooks->paint && !editor.is_pasting) paint(line);
  for (;;) {
    ssize_t n = read(STDIN_FILENO, &byte, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return (int)n;
    size_t used = mbrtowc(out_key, &byte, 1, &state);
    if (used == (size_t)-2) continue; /* the character goes on */
    if (used != (size_t)-1) return 1;
    state = (mbstate_t){0}; /* a byte of no character is dropped */
  }
}

/* Bound to the mark before what is pasted: inserts all up to the mark after it. */
static unsigned char paste(EditLine *line, int key) {
  (void)key;
  size_t length = 0, capacity = 4096;
  char *text = malloc(capacity);
  char c;
  editor.is_pasting = true;
  while (text && el_getc(line, &c) == 1) {
    if (length + 2 > capacity) {
      char *larger = realloc(text, capacity *= 2);
      if (!larger) break;
      text = larger;
    }
    text[length++] = c == '\r' ? '\n' : c;
    text[length] = '\0';
    size_t end = strlen(PASTE_ENDS);
    if (length >= end && strcmp(text + length - end, PASTE_ENDS) == 0) {
      length -= end;
      break;
    }
  }
  editor.is_pasting = false;
  if (!text) return CC_ERROR;
  while (length > 0 && text[length - 1] == '\n') length--;
  text[length] = '\0';
  if (length > 0) el_insertstr(line, text);
  free(text);
  return CC_REFRESH;
}

/* Bound to Tab. */
static unsigned char complete(EditLine *line, int key) {
  (void)key;
  size_t cursor;
  char *text = copy_line(line, &cursor);
  const char *insert = "", *list = "";
  if (!text) return CC_ERROR;
  text[cursor] = '\0';
  editor.hooks->complete(editor.hooks->ud, text, &insert, &list);
  free(text);
  if (insert[0] != '\0' && el_insertstr(line, insert) != 0) return CC_ERROR;
  if (list[0] == '\0') return insert[0] != '\0' ? CC_REFRESH : CC_REFRESH_BEEP;
  printf("\n%s", list);
  return CC_REDISPLAY;
}

/* ---- history --------------------------------------------------------------------------------- */

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

/* ---- lines ----------------------------------------------------------------------------------- */

int edit_columns(void) {
  struct winsize size;
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static void bind_keys(EditLine *line) {
  el_set(line, EL_ADDFN, "roclua-interrupt", "give up the line", interrupt_line);
  el_set(line, EL_ADDFN, "roclua-complete", "complete a name", complete);
  el_set(line, EL_ADDFN, "roclua-paste", "insert what is pasted", paste);
  el_set(line, EL_SETTY, "-d", "-isig", NULL);
  el_set(line, EL_BIND, "^C", "roclua-interrupt", NULL);
  el_set(line, EL_BIND, "^I", "roclua-complete", NULL);
  el_set(line, EL_BIND, "^R", "em-inc-search-prev", NULL);
  el_set(line, EL_BIND, PASTE_BEGINS, "roclua-paste", NULL);
}

void edit_open(const edit_hooks *hooks) {
  const char *terminal = getenv("TERM");
  editor.hooks = hooks;
  if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) return;
  if (!setlocale(LC_CTYPE, "") || MB_CUR_MAX == 1) { /* else libedit drops what is not ASCII */
    setlocale(LC_CTYPE, "C.UTF-8");
  }
  editor.line = el_init("roclua", stdin, stdout, stderr);
  if (!editor.line) return;
  el_set(editor.line, EL_PROMPT, current_prompt);
  el_set(editor.line, EL_EDITOR, "emacs");
  el_set(editor.line, EL_GETCFN, read_key);
  bind_keys(editor.line);
  editor.takes_marks = terminal && strcmp(terminal, "dumb") != 0;
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

static void ask_for_marks(bool wants_marks) {
  if (!editor.takes_marks) return;
  fputs(wants_marks ? "\033[?2004h" : "\033[?2004l", stdout);
  fflush(stdout);
}

edit_result edit_read(const char *prompt, char **out_line) {
  if (!editor.line) return read_plainly(prompt, out_line);
  editor.prompt = prompt;
  editor.was_interrupted = false;
  int length = 0;
  el_set(editor.line, EL_PREP_TERM, 1); /* else the prompt is shown while keys still echo */
  ask_for_marks(true);
  const char *text = el_gets(editor.line, &length);
  ask_for_marks(false);
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
