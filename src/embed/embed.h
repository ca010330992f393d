/* The Lua files built into the program, as cmake/embed.lua writes them: sorted by module name. */
#ifndef ROC_EMBED_EMBED_H
#define ROC_EMBED_EMBED_H

#include <lua.h>

typedef struct roc_embedded {
  const char *module;    /* "roc.sim" */
  const char *chunkname; /* "@roc/sim.lua" */
  const unsigned char *text;
  size_t nbytes;
} roc_embedded;

extern const roc_embedded roc_embedded_files[];
extern const size_t roc_embedded_count;

/* Adds a searcher for the built-in modules right behind package.preload's.  Raises on lack of
 * memory. */
void roc_embed_install(lua_State *L);

/* Pushes the table {[chunkname] = text} of what roclua_source was told, made on first use. */
void roc_embed_push_sources(lua_State *L);

#endif
