/* Compiled as C11 and as C++: includes nothing before roclua.h, and takes the address of all that
 * it declares. */
#include <roclua.h>

struct lua_State;

typedef void (*any_function)(void);

static const any_function functions[] = {
    (any_function)roclua_version,
    (any_function)roclua_error,
    (any_function)roclua_components,
    (any_function)roclua_set_library_dir,
    (any_function)luaopen_roc_core,
    (any_function)roclua_openlibs,
    (any_function)roclua_source,
    (any_function)roclua_interrupt,
    (any_function)roclua_take_interrupt,
    (any_function)roclua_ignore_environment,
    (any_function)roclua_pending,
    (any_function)roclua_close,
    (any_function)roclua_shutdown,
    (any_function)roclua_stream_create,
    (any_function)roclua_stream_get,
    (any_function)roclua_stream_adopt,
    (any_function)roclua_stream_synchronize,
    (any_function)roclua_stream_release,
    (any_function)roclua_set_print,
    (any_function)roclua_kernel_get,
    (any_function)roclua_kernel_load,
    (any_function)roclua_kernel_read,
    (any_function)roclua_kernel_retain,
    (any_function)roclua_kernel_release,
    (any_function)roclua_kernel_name,
    (any_function)roclua_kernel_nargs,
    (any_function)roclua_kernel_set,
    (any_function)roclua_kernel_launch,
    (any_function)roclua_kernel_prepare,
    (any_function)roclua_array_create,
    (any_function)roclua_array_wrap,
    (any_function)roclua_array_push,
    (any_function)roclua_array_get,
    (any_function)roclua_array_retain,
    (any_function)roclua_array_release,
    (any_function)roclua_array_describe,
    (any_function)roclua_array_map,
    (any_function)roclua_array_unmap,
    (any_function)roclua_array_to_dlpack,
    (any_function)roclua_array_to_dlpack_unversioned,
    (any_function)roclua_array_from_dlpack,
    (any_function)roclua_array_from_dlpack_unversioned,
};

int header_test_count(void);
int header_test_count(void) {
  return (int)(sizeof functions / sizeof functions[0]);
}
