-- What a script may give in more than one way: dtypes by name and tables as shapes, captured too;
-- dimensions; empty tables; the extents of a launch; a scope in place of its stream.
local devices = require "support.devices"
local roc = require "roc"

devices.each(function()
  local function output(n, dtype) return roc.to_device(roc.zeros(n, dtype or "int64")) end
  local function values(d) return d:copy_to_host():totable() end

  describe("a captured dtype name", function()
    it("is a dtype for each kind of array, and may change", function()
      local dt = "int32"
      local cfg = { dt = "uint8", t = { 250, 3 } }
      local k = roc.kernel(function(o)
        local s = roc.shared.array(4, dt)
        local p = roc.private.array(4, cfg.dt)
        local c = roc.const.array(cfg.t, cfg.dt)
        s[1] = 1
        p[1] = 1
        s[1] = s[1] << 31
        p[1] = p[1] << 8
        o[1], o[2], o[3] = s[1], p[1], c[1]
      end)
      local o = output(3)
      k:forall(1)(o)
      assert.same({ -(1 << 31), 0, 250 }, values(o))
      dt = "int64"
      k:forall(1)(o)
      assert.same({ 1 << 31, 0, 250 }, values(o))
      dt = "int37"
      assert.error_matches(function() k:forall(1)(o) end,
        "needs a dtype such as roc.float32; 'int37' is none; did you mean 'int32'%?")
      dt = roc.int16
      k:forall(1)(o)
      assert.same({ 0, 0, 250 }, values(o))
    end)

    it("may be held by a local of the kernel, and passed to a function", function()
      local dt = "int8"
      local function wrap(name, v)
        local p = roc.private.array(1, name)
        p[1] = v
        return p[1]
      end
      local k = roc.kernel(function(o)
        local here, outer <const> = "int16", dt
        o[1], o[2], o[3] = wrap(here, 65537), wrap(outer, 257), wrap("int32", 1 << 32)
      end)
      local o = output(3)
      k:forall(1)(o)
      assert.same({ 1, 1, 0 }, values(o))
    end)
  end)

  describe("a captured table", function()
    it("is a shape, as it is at each launch", function()
      local shape = { 2, 3 }
      local k = roc.kernel(function(o)
        local s = roc.shared.array(shape, "int32")
        local p = roc.private.array(shape, roc.float32)
        o[1], o[2], o[3], o[4] = s.ndim, #s, s.size, p.size
      end)
      local o = output(4)
      for _, extents in ipairs { { 2, 3 }, { 2, 4 }, { 2, 5 }, { 1, 6 }, { 7 }, { 2, 2, 2 },
        { 0, 3 } } do
        for i = 1, 3 do shape[i] = extents[i] end
        k:forall(1)(o)
        local size = 1
        for _, extent in ipairs(extents) do size = size * extent end
        assert.same({ #extents, extents[1], size, size }, values(o))
      end
      shape = { 5 }
      k:forall(1)(o)
      assert.same({ 1, 5, 5, 5 }, values(o))
      shape = { 5, -1 }
      assert.error_matches(function() k:forall(1)(o) end,
        "takes extents from 0 to %d+, but gets %-1")
      shape = { 5, "x" }
      assert.error_matches(function() k:forall(1)(o) end, "needs a constant shape")
    end)

    it("may be a field, a global's field, held by a local, or an array as well", function()
      local cfg = { tile = { shape = { 3, 2 } } }
      local list = { 4, 2 }
      local k = roc.kernel(function(o)
        local shape = cfg.tile.shape
        local a = roc.private.array(shape, "int64")
        local b = roc.shared.array(list, "int64")
        local c = roc.const.array(list, "int64")
        o[1], o[2], o[3], o[4] = a.shape[1], a.shape[2], b.size, c[1]
      end)
      local o = output(4)
      k:forall(1)(o)
      assert.same({ 3, 2, 8, 4 }, values(o))
    end)
  end)

  describe("an extent of 0", function()
    it("is allowed for each kind of array of a kernel", function()
      local none, rows, hosts = {}, { {}, {} }, roc.zeros({ 3, 0 })
      local k = roc.kernel(function(o)
        local s = roc.shared.array({ 0, 2 }, "float32")
        local p = roc.private.array(0, "float64")
        local c, r = roc.const.array(none), roc.const.array(rows, "int32")
        o[1], o[2], o[3], o[4], o[5] = #s, p.size, #c, r.shape[1], r.shape[2]
        o[6], o[7] = hosts.shape[1], hosts.size
        for i = 1, #r[1] do o[i] = r[1][i] end
      end)
      local o = output(7)
      k:forall(1)(o)
      assert.same({ 0, 0, 0, 2, 0, 3, 0 }, values(o))
    end)

    it("has no element", function()
      local none = {}
      local k = roc.kernel(function(o, i)
        local c = roc.const.array(none, "int64")
        o[1] = c[i]
      end)
      local o = output(1)
      assert.error_matches(function()
        k:forall(1)(o, 1)
        o:copy_to_host()
      end, "index 1 out of range 1..0")
    end)
  end)

  describe("a dimension", function()
    it("beyond the third is refused when it is constant", function()
      for _, name in ipairs { "get_global_id", "get_local_id", "get_group_id", "get_global_size",
        "get_local_size", "get_num_groups" } do
        for _, d in ipairs { "4", "0", "-1", "2 + 2", "1 << 40" } do
          local k = roc.kernel(("function(o) o[1] = roc.%s(%s) end"):format(name, d),
            { env = { roc = roc } })
          assert.error_matches(function() k:forall(1)(output(1)) end,
            ("'roc.%s' counts dimensions from 1 to 3"):format(name))
        end
      end
    end)

    it("beyond the third gives id 1 and size 1 when it is computed", function()
      local k = roc.kernel(function(o, d)
        local i = roc.get_global_id(1)
        if i == 3 then
          o[1], o[2], o[3] = roc.get_global_id(d), roc.get_local_id(d), roc.get_group_id(d)
          o[4], o[5], o[6] = roc.get_global_size(d), roc.get_local_size(d), roc.get_num_groups(d)
        end
      end)
      for _, d in ipairs { 4, 5, 1 << 40, math.maxinteger } do
        local o = output(6)
        k[{ 2, 2 }](o, d)
        assert.same({ 1, 1, 1, 1, 1, 1 }, values(o))
      end
      local o = output(6)
      k[{ 2, 2 }](o, 1)
      assert.same({ 3, 1, 2, 4, 2, 2 }, values(o))
    end)
  end)

  describe("forall", function()
    local where = roc.kernel(function(o)
      local i, j, k = roc.grid(3)
      local w, h = roc.gridsize(2)
      o[((k - 1) * h + j - 1) * w + i] = 100 * k + 10 * j + i
      o[#o] = roc.get_work_dim()
    end)

    it("takes one to three extents, or a table of them", function()
      local function check(expected, ...)
        local o = output(7)
        where:forall(...)(o)
        assert.same(expected, values(o))
      end
      check({ 111, 112, 0, 0, 0, 0, 1 }, 2)
      check({ 111, 112, 0, 0, 0, 0, 1 }, { 2 })
      check({ 111, 112, 121, 122, 0, 0, 2 }, 2, 2)
      check({ 111, 112, 113, 121, 122, 123, 2 }, { 3, 2 })
      check({ 111, 121, 131, 211, 221, 231, 3 }, 1, 3, 2)
      check({ 111, 121, 131, 211, 221, 231, 3 }, { 1, 3, 2 }, { workgroup = { 1, 2, 1 } })
      check({ 111, 112, 121, 122, 0, 0, 2 }, 2, 2, { workgroup = 2, stream = roc.stream() })
    end)

    it("launches nothing over an extent of 0", function()
      local o = output(3)
      where:forall(4, 0)(o)
      where:forall { 0, 2, 1 }(o)
      assert.same({ 0, 0, 0 }, values(o))
    end)

    it("refuses other extents", function()
      local function try(...) return select(2, pcall(where.forall, where, ...)) end
      assert.matches("to 'forall' %(number expected, got no value%)", try())
      assert.matches("1 to 3 integers", try({}))
      assert.matches("1 to 3 integers", try({ 1, 2, 3, 4 }))
      assert.matches("1 to 3 integers", try({ 1, "x" }))
      assert.matches("at most 3 dimensions", try(1, 2, 3, 4))
      assert.matches("negative", try(1, -2))
      assert.matches("negative", try({ 1, -2 }))
      assert.matches("workgroup of one dimension", try(4, { workgroup = { 2, 2 } }))
      assert.matches("workgroup of two dimensions", try(4, 4, { workgroup = { 2, 2, 2 } }))
    end)
  end)

  describe("a scope of a stream", function()
    it("stands for its stream wherever one is taken", function()
      local s = roc.stream()
      local set = roc.kernel(function(x, v) x[roc.get_global_id(1)] = v end)
      local d = output(4)
      do
        local scope <close> = s:auto_synchronize()
        assert.is_true(scope.device == s.device)
        set[{ 1, 4, scope }](d, 1)
        set:launch({ grid = 2, stream = scope }, d, 2)
        set:forall(1, { stream = scope })(d, 3)
        local e = roc.event():record(scope)
        scope:wait(e)
        local called = 0
        scope:callback(function() called = called + 1 end)
        scope:synchronize()
        assert.equal(1, called)
        assert.is_true(scope:query())
        local d2 = roc.to_device(roc.ones(4, "int64"), { stream = scope })
        d2:fill(7, scope)
        assert.same({ 7, 7, 7, 7 }, d2:copy_to_host(nil, scope):totable())
        local double = roc.vectorize(function(x) return x * 2 end)
        assert.same({ 14, 14, 14, 14 }, values(double(d2, { stream = scope })))
      end
      assert.same({ 3, 2, 1, 1 }, values(d))
    end)

    it("is none when it is over, and its stream goes on", function()
      local s = roc.stream()
      local scope = s:auto_synchronize()
      scope:close()
      assert.error_matches(function() roc.event():record(scope) end, "the stream is closed")
      assert.error_matches(function() scope:synchronize() end, "the stream is closed")
      assert.matches("roc.StreamScope %(closed%)", tostring(scope))
      roc.event():record(s)
      s:synchronize()
    end)
  end)

  describe("roc.smart_array of a shape", function()
    it("is a new array, mirrored", function()
      local s = roc.smart_array({ 2, 3 }, "int32", "F")
      assert.same({ 2, 3 }, s.shape)
      assert.equal(roc.int32, s.dtype)
      assert.is_true(s:is_f_contiguous())
      s:fill(1)
      local add = roc.kernel(function(x)
        local i, j = roc.grid(2)
        x[i][j] = x[i][j] + 10 * i + j
      end)
      add:forall(2, 3)(s)
      assert.same({ { 12, 13, 14 }, { 22, 23, 24 } }, s:totable())
      assert.equal(roc.float64, roc.smart_array(0).dtype)
      assert.equal(4, #roc.smart_array(4))
    end)
  end)
end)

describe("roc.smart_array", function()
  it("refuses what is neither an array nor a shape", function()
    assert.error_matches(function() roc.smart_array("x") end, "roc.Array, or a shape, expected")
    assert.error_matches(function() roc.smart_array(roc.zeros(2), "int8") end,
      "a dtype goes with a shape")
    assert.error_matches(function() roc.smart_array(3, 4) end, "roc.smart_array%({3, 4}%)")
  end)
end)
