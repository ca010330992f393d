-- The defects of LLVM and of the device library that the compiler works around: each row of
-- codegen/*/quirks.def is turned off, and its case must then fail. A row whose case passes is not
-- needed with this LLVM any more, or its case does not show it.
local core = require "roc.core"
local shell = require "support.shell"

local rows = core.testing.quirks()

-- name -> why its case does not fail without the row
local NOT_SHOWN = {
  phi_free_value = "what the case's phi takes is a number of 32 bits now",
  bypass_slow_division = "divisions of 64 bits are parted before the code generator sees them",
}

-- Those whose code shows every row of AMD's.
local GPUS <const> = "gfx90a,gfx1030"

-- Of processor time, after which a compile is taken for one that never ends.
local SECONDS <const> = 10

local function escape(title) return (title:gsub("%p", "%%%0")) end

-- Runs cases of a file in a process with rows turned off; how many passed and failed, and what the
-- process wrote. One that crashed, or ran for too long, counts as failed.
local function run(off, spec, titles)
  local filters = {}
  for i, title in ipairs(titles) do
    filters[i] = ("'--filter=%s'"):format((escape(title):gsub("'", "'\\''")))
  end
  local output, status = shell.run(("ROCLUA_SPEC_GPUS=%s ROCLUA_QUIRKS_OFF=%s "
    .. "ROCLUA_SPEC_SECONDS=%d timeout -k 5 240 ROCLUA_SPEC spec/run.lua %s %s"):format(GPUS, off,
    SECONDS, spec, table.concat(filters, " ")))
  local passed, failed = output:match("(%d+) passed, (%d+) failed, %d+ skipped\n$")
  if not passed and (status == 124 or status > 128) then passed, failed = 0, 1 end
  return math.tointeger(tonumber(passed)), math.tointeger(tonumber(failed)), output
end

describe("the rows of quirks.def", function()
  it("say what they are", function()
    local names = {}
    for _, row in ipairs(rows) do
      assert.is_nil(names[row.name], row.name)
      names[row.name] = true
      assert.matches("^[a-z0-9_]+$", row.name)
      assert.truthy(({ rewrite = true, option = true, feature = true, other = true })[row.kind])
      for _, field in ipairs { "targets", "versions", "what", "spec", "title" } do
        assert.is_true(#row[field] > 0, row.name .. "." .. field)
      end
    end
    for name in pairs(NOT_SHOWN) do assert.is_true(names[name], name) end
  end)

  it("refuses names that are none", function()
    assert.error_matches(function() core.testing.set_quirks_off { "unheard_of" } end,
      "no quirk has the name 'unheard_of'")
  end)

  it("changes later compiles, and not what the cache holds", function()
    local roc = require "roc"
    finally(function() core.testing.set_quirks_off {} end)
    local function code()
      return roc.kernel("function(x, y, z, out) local i = roc.get_global_id(1) "
        .. "local a, b, c = x[i], y[i], z[i] local t = ~(a & b) local v = c & t "
        .. "out[i][1], out[i][2], out[i][3] = v ~ t, v, c & ~b end", { env = { roc = roc },
          signature = "(int32[:], int32[:], int32[:], int32[:,:])" }):compile("gfx950").bytes
    end
    local before = code()
    core.testing.set_quirks_off { "bitop3" }
    local without = code()
    core.testing.set_quirks_off {}
    assert.are_not.equal(before, without)
    assert.are.equal(before, code())
  end)

  if not shell.interpreter then return pending("needs roclua-spec") end

  local by_file, files = {}, {}
  for _, row in ipairs(rows) do
    if not by_file[row.spec] then
      by_file[row.spec], files[#files + 1] = {}, row.spec
    end
    table.insert(by_file[row.spec], row.title)
  end
  for _, file in ipairs(files) do
    it("name cases that pass with all rows: " .. file, function()
      local passed, failed, output = run("", file, by_file[file])
      assert.are.equal(0, failed, output)
      assert.is_true(passed >= 1, output)
    end)
  end

  for _, row in ipairs(rows) do
    it(("%s: '%s' fails without it"):format(row.name, row.title), function()
      local _, failed, output = run(row.name, row.spec, { row.title })
      assert.not_matches("is turned off too late", output, 1, true)
      if NOT_SHOWN[row.name] then
        assert.are.equal(0, failed, "shown after all: " .. row.name)
      else
        assert.is_true(failed and failed > 0, output)
      end
    end)
  end
end)
