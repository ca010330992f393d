/* The configuration of a launch, read from Lua; the same for every kind of kernel. */
#ifndef ROC_BINDINGS_KERNEL_LAUNCH_CONFIG_H
#define ROC_BINDINGS_KERNEL_LAUNCH_CONFIG_H

#include "bindings/support/bind.h"
#include "base/ndrange.h"

/* Each raises for what is wrong, and leaves the stream, or nil for the default one, on the top of
 * the stack.  local[0] is 0 where the workgroup is not given. */

/* k[{groups, workgroup [, stream [, shared]]}]: the table at index 2. */
void roc_config_read_index(lua_State *L, roc_ndrange *range);
/* k:launch({grid = or groups =, workgroup =, stream =, shared =}, …): the table at `arg`. */
void roc_config_read_launch(lua_State *L, int arg, roc_ndrange *range);
/* k:forall(n [, m [, l]] [, {workgroup =, stream =, shared =}]): from index 2 on. */
void roc_config_read_forall(lua_State *L, roc_ndrange *range);

#endif
