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

/* Makes `require "roc"` and its parts come from `files`, or from ROCLUA_LUA_DIR if that is set; of
 * no files (count 0), from package.path as it is now: a searcher right after package.preload's.
 * `open_core` is what `require "roc.core"` calls.  Does nothing the second time in a state.  Raises
 * on lack of memory. */
void roc_embed_install(lua_State *L, const roc_embedded *files, size_t count,
                       lua_CFunction open_core);

/* Pushes the globals of roclua's own Lua files: roc_push_library's, and a `require` for these
 * files. Raises on lack of memory. */
void roc_embed_push_globals(lua_State *L);

/* Pushes the table {[chunkname] = text} of what roclua_source was told, made on first use. */
void roc_embed_push_sources(lua_State *L);

#endif
