-- roc.tune: the quickest choice, kept on disk.
local roc = require "roc"
local lfs = require "lfs"
local shell = require "support.shell"

local serial = 0

-- Of which 2 is the quickest; `made` counts what is made. `salt` makes another key.
local function maker()
  serial = serial + 1
  local state = { made = {}, runs = {} }
  function state.make(choice)
    state.made[#state.made + 1] = choice
    return function(...)
      state.runs[choice] = (state.runs[choice] or 0) + 1
      state.args = table.pack(...)
      local stop = roc.time() + (choice == 2 and 0 or 0.02)
      while roc.time() < stop do end
    end
  end
  return state, { name = ("tune_spec %d %d"):format(os.time(), serial) }
end

describe("roc.tune", function()
  it("gives the quickest, and knows it the next time", function()
    local state, opts = maker()
    local run, choice, seconds = roc.tune(state.make, { 1, 2, 3 }, { "x", 7 }, opts)
    assert.equal(2, choice)
    assert.is_true(seconds >= 0 and seconds < 0.02)
    assert.same({ 1, 2, 3 }, state.made)
    assert.is_true(state.runs[1] >= 3 and state.runs[3] >= 3)
    run("mine")
    assert.same({ n = 1, "mine" }, state.args)
    run, choice, seconds = roc.tune(state.make, { 1, 2, 3 }, { "x", 7 }, opts)
    assert.same({ 2, nil }, { choice, seconds })
    assert.is_function(run)
    assert.same({ 1, 2, 3, 2 }, state.made)
  end)

  it("tells devices, choices, dtypes, shapes and integers apart, and is asked again by `again`",
    function()
      local state, opts = maker()
      local x = roc.zeros(4)
      local function count(choices, args, again)
        local before = #state.made
        roc.tune(state.make, choices, args, { name = opts.name, again = again })
        return #state.made - before
      end
      assert.equal(2, count({ 1, 2 }, { x, 1 }))
      assert.equal(1, count({ 1, 2 }, { x, 1 }))
      assert.equal(1, count({ 1, 2 }, { roc.ones(4), 1 }))
      assert.equal(2, count({ 1, 2 }, { x, 1 }, true))
      assert.equal(2, count({ 1, 2 }, { roc.zeros(5), 1 }))
      assert.equal(2, count({ 1, 2 }, { roc.zeros(4, "float32"), 1 }))
      assert.equal(2, count({ 1, 2 }, { x, 2 }))
      assert.equal(2, count({ 2, 1 }, { x, 1 }))
      assert.equal(2, count({ 1.0, 2 }, { x, 1 }))
      assert.equal(2, count({ 1, 2 }, { x, 0.5 }))
      assert.equal(1, count({ 1, 2 }, { x, 0.25 }))
      local device <close> = roc.on_device("sim")
      assert.equal(2, count({ 1, 2 }, { x, 1 }))
    end)

  it("leaves out choices that fail, and raises why when all do", function()
    local state, opts = maker()
    local function make(choice)
      if choice == 1 then return nil end
      if choice == 3 then error("no three", 0) end
      if choice == 4 then return function() error("no four", 0) end end
      return state.make(choice)
    end
    local _, choice = roc.tune(make, { 1, 3, 4, 5, 2 }, {}, opts)
    assert.equal(2, choice)
    assert.has_error(function() roc.tune(make, { 1, 3, 4 }, {}, opts) end, "no three")
    assert.error_matches(function() roc.tune(make, { 1 }, {}, opts) end, "no choice can be run")
  end)

  it("runs kernels, with the workgroups and constants of the choices", function()
    local x, y = roc.to_device(roc.ones(1000, "float32")), roc.device_array(1000, "float32")
    local run, choice = roc.tune(function(c)
      local factor = c.factor
      local k = roc.kernel(function(b, a)
        local i = roc.get_global_id(1)
        if i <= #b then b[i] = a[i] * factor end
      end)
      return k[{ (#y + c.items - 1) // c.items, c.items }]
    end, { { items = 64, factor = 3 }, { items = 100000000, factor = 5 } }, { y, x })
    run(y, x)
    assert.equal(64, choice.items)
    assert.equal(3.0, y[1000])
  end)

  it("goes by instructions, not by time, where the device is emulated", function()
    if not shell.interpreter then return pending("the specs do not run in roclua") end
    local output = shell.run([[ROCLUA_EMULATE=gfx90a ROCLUA --device hsa -e 'local roc = require "roc"
      local k = roc.kernel(function(y, n) for i = 1, n do y[1] = y[1] * 0.5 + i end end)
      local y = roc.device_array(1, "float32"):fill(0)
      for _ = 1, 2 do
        local _, choice = roc.tune(function(n)
          local launcher = k:forall(1)
          return function(array)
            local stop = roc.time() + (n == 10 and 0.3 or 0)
            while roc.time() < stop do end
            launcher(array, n)
          end
        end, { 2000, 10, 1000 }, { y }, { again = true })
        print(choice)
      end']])
    if output:find "libhsa" then return pending("no ROCR") end
    assert.equal("10\n10\n", output)
  end)

  it("passes an interrupt on", function()
    local _, opts = maker()
    local count = 0
    for _, stop in ipairs { function() error("x:1: interrupted!", 0) end, function()
      return function() error("interrupted!", 0) end
    end } do
      assert.error_matches(function()
        roc.tune(function()
          count = count + 1
          return stop()
        end, { 1, 2 }, {}, opts)
      end, "interrupted!$")
    end
    assert.equal(2, count)
  end)

  it("refuses what it cannot use", function()
    local function make() return function() end end
    local function refuses(message, ...)
      local args = table.pack(...)
      assert.error_matches(function() roc.tune(table.unpack(args, 1, args.n)) end, message)
    end
    refuses("bad argument #1 to 'tune' %(Lua function expected, got nil%)")
    refuses("bad argument #1 to 'tune' %(Lua function", print, { 1 }, {})
    refuses("bad argument #2 to 'tune' %(list of choices expected, got number%)", make, 1)
    refuses("bad argument #2 to 'tune' %(list of choices expected, got an empty one%)", make, {})
    refuses("bad argument #2 to 'tune' %(choice 2: numbers", make, { 1, print }, {})
    refuses("bad argument #3 to 'tune' %(table of arguments expected, got nil%)", make, { 1 })
    refuses("bad argument #4 to 'tune' %(table", make, { 1 }, {}, 5)
    refuses("unknown option 'nam'", make, { 1 }, {}, { nam = 1 })
    refuses("option 'again': boolean expected", make, { 1 }, {}, { again = 1 })
    refuses("function or launcher expected, got number", function() return 5 end, { 1 }, {})
    refuses("function or launcher expected, got userdata", function()
      return roc.kernel(function(x) x[1] = 1 end)
    end, { 1 }, {})
  end)

  it("takes damaged files for none", function()
    if not shell.interpreter then return pending("the specs do not run in roclua") end
    local folder = os.tmpname()
    os.remove(folder)
    finally(function() os.execute("rm -rf " .. folder) end)
    local command = ([[XDG_CACHE_HOME=%s ROCLUA_CACHE=on ROCLUA -e 'local roc = require "roc"
      local _, c, seconds = roc.tune(function(c) return function() end end, {7, 7}, {})
      print(c, seconds == nil)']]):format(folder)
    assert.equal("7\tfalse\n", (shell.run(command)))
    assert.equal("7\ttrue\n", (shell.run(command)))
    local path
    for name in lfs.dir(folder .. "/roclua") do
      if #name == 64 then path = folder .. "/roclua/" .. name end
    end
    local good <close> = assert(io.open(path, "rb"))
    local bytes = good:read("a")
    for _, text in ipairs { "", bytes:sub(1, 40), bytes:sub(1, 64), bytes .. "1",
      bytes:sub(1, -2) .. "9", ("x"):rep(200) } do
      local file = assert(io.open(path, "wb"))
      file:write(text)
      file:close()
      assert.equal("7\tfalse\n", (shell.run(command)))
      assert.equal("7\ttrue\n", (shell.run(command)))
    end
    assert.equal("7\tfalse\n", (shell.run((command:gsub("=on", "=off")))))
  end)
end)
