// A C++ program: what roclua gives out is owned by objects, and failures are exceptions.
//
//   c++ -std=c++17 raii.cpp -o raii $(pkg-config --cflags --libs roclua lua5.4)
#include <lua.hpp>
#include <roclua.h>

#include <cstdio>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace roclua {

inline void check(int code) {
  if (code != ROCLUA_OK) throw std::runtime_error(roclua_error());
}

// A state with roc in it.
class State {
 public:
  State() : lua_(luaL_newstate()) {
    if (!lua_) throw std::bad_alloc();
    check(roclua_openlibs(lua_.get()));
  }

  lua_State *get() const { return lua_.get(); }

  void run(const std::string &text) {
    lua_State *L = get();
    if (luaL_dostring(L, text.c_str()) == LUA_OK) return;
    std::string message = luaL_tolstring(L, -1, nullptr);
    lua_settop(L, 0);
    throw std::runtime_error(message);
  }

 private:
  struct Close {
    void operator()(lua_State *L) const {
      roclua_close(L); // waits, as what the kernels use may be gone after this object
      lua_close(L);
    }
  };
  std::unique_ptr<lua_State, Close> lua_;
};

// An array of the elements of a vector, which it owns from then on.
class Array {
 public:
  explicit Array(std::vector<float> elements) {
    auto *owned = new std::vector<float>(std::move(elements));
    const int64_t shape[] = {static_cast<int64_t>(owned->size())};
    roclua_memory memory = {};
    memory.size = sizeof memory;
    memory.dtype = "float32";
    memory.rank = 1;
    memory.shape = shape;
    memory.data = owned->data();
    memory.release = [](void *ud) { delete static_cast<std::vector<float> *>(ud); };
    memory.ud = owned;
    roclua_array *array = nullptr;
    if (roclua_array_wrap(&memory, &array) != ROCLUA_OK) {
      delete owned; // it was not taken
      throw std::runtime_error(roclua_error());
    }
    array_.reset(array);
  }

  // What Lua has at the top of the stack, which is popped.
  static Array take(const State &state) {
    roclua_array *array = nullptr;
    int code = roclua_array_get(state.get(), -1, &array);
    lua_pop(state.get(), 1);
    check(code);
    return Array(array);
  }

  roclua_array *get() const { return array_.get(); }

  void give(const State &state, const char *name) const {
    check(roclua_array_push(state.get(), get()));
    lua_setglobal(state.get(), name);
  }

 private:
  explicit Array(roclua_array *array) : array_(array) {}
  struct Release {
    void operator()(roclua_array *array) const { roclua_array_release(array); }
  };
  std::unique_ptr<roclua_array, Release> array_;
};

// The elements of an array, for as long as the object lives.
class View {
 public:
  View(const Array &array, int access) {
    view_.size = sizeof view_;
    check(roclua_array_map(array.get(), access, nullptr, &view_));
  }
  ~View() { roclua_array_unmap(&view_); }
  View(const View &) = delete;
  View &operator=(const View &) = delete;

  int64_t size() const { return view_.shape[0]; }
  float &operator[](int64_t i) { return static_cast<float *>(view_.data)[i * view_.strides[0]]; }

 private:
  roclua_view view_ = {};
};

// A kernel out of a state, and a stream to launch it on.
class Kernel {
 public:
  Kernel(const State &state, const char *name, const char *device) {
    roclua_kernel *kernel = nullptr;
    roclua_stream *stream = nullptr;
    lua_getglobal(state.get(), name);
    int code = roclua_kernel_get(state.get(), -1, &kernel);
    lua_pop(state.get(), 1);
    check(code);
    kernel_.reset(kernel);
    check(roclua_stream_create(device, &stream));
    stream_.reset(stream);
  }

  void operator()(int64_t items, std::initializer_list<roclua_value> args) {
    roclua_launch launch = {};
    launch.size = sizeof launch;
    launch.rank = 1;
    launch.grid[0] = items;
    check(roclua_kernel_launch(kernel_.get(), stream_.get(), &launch, args.begin(),
                               static_cast<int>(args.size())));
  }

  void wait() { check(roclua_stream_synchronize(stream_.get())); }

 private:
  struct Release {
    void operator()(roclua_kernel *kernel) const { roclua_kernel_release(kernel); }
    void operator()(roclua_stream *stream) const { roclua_stream_release(stream); }
  };
  std::unique_ptr<roclua_kernel, Release> kernel_;
  std::unique_ptr<roclua_stream, Release> stream_;
};

} // namespace roclua

int main() try {
  roclua::State state;
  state.run(R"(
    roc = require "roc"
    scale = roc.kernel(function(a, factor)
      local i = roc.get_global_id(1)
      a[i] = a[i] * factor
    end)
  )");
  roclua::Array numbers(std::vector<float>(100, 2.0f));
  numbers.give(state, "numbers");
  state.run("scale:forall(#numbers)(numbers, 3)");
  roclua::Kernel scale(state, "scale", "cpu");
  scale(100, {roclua_of_array(numbers.get()), roclua_number(0.5)});
  scale.wait();
  {
    roclua::View view(numbers, ROCLUA_READ | ROCLUA_WRITE);
    view[0] = 10;
    std::printf("%lld numbers, %g and %g\n", static_cast<long long>(view.size()), view[0],
                view[99]);
  }
  state.run("assert(numbers[1] == 10 and numbers[2] == 3)");
  try {
    state.run("scale:forall(#numbers + 1)(numbers, 2)");
    state.run("print(numbers[1])"); // waits, and tells of the fault
  } catch (const std::runtime_error &error) {
    std::printf("as expected: %s\n", error.what());
  }
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "raii: %s\n", error.what());
  return 1;
}
