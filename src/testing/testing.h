/* The hooks of the specs: planted failures, counts, and readers fed with any bytes, as the field
 * `testing` of roc.core.  What links this folder has them: roclua-spec, which is roclua otherwise,
 * and the C tests. */
#ifndef ROC_TESTING_TESTING_H
#define ROC_TESTING_TESTING_H

#include <lua.h>

#include "base/status.h"

/* As cli/libraries.h says, with the hooks. */
void roc_open_libraries(lua_State *L);

/* Adds the functions about code objects and their cache to the table on the top of the stack. */
void roc_testing_add_code(lua_State *L);

/* Likewise those about AMD GPUs. */
void roc_testing_add_amdgpu(lua_State *L);

/* Adds the front end's stages, or the IR's, to the table on the top of the stack. */
void roc_testing_add_stages(lua_State *L);
void roc_testing_add_ir(lua_State *L);

/* Pushes nil, the message and the name of the status: what a function returns that failed. */
int roc_testing_push_failure(lua_State *L, const roc_error *err);

/* Adds the functions about the defects of LLVM to the table on the top of the stack, and turns off
 * what the environment says. */
void roc_testing_add_quirks(lua_State *L);

#endif
