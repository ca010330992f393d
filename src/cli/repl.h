/* The interactive loop. */
#ifndef ROC_CLI_REPL_H
#define ROC_CLI_REPL_H

#include <lua.h>

/* Reads chunks from stdin, runs them and prints the values of expressions, until its end.  `roc` is
 * a global. */
void repl_run(lua_State *L);

#endif
