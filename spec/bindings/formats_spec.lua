-- .npz, PNG and CSV files. Those in spec/support/npy were written by NumPy 2.4 and Pillow; ours are
-- read back, and damaged byte by byte.
local roc = require "roc"
local files = require "support.files"

local DIR = "spec/support/npy/"

local function write_file(path, bytes)
  local file <close> = assert(io.open(path, "wb"))
  file:write(bytes)
end

local paths = {}

-- A name for a file with this ending, removed at the end.
local function fresh(ending)
  local name = os.tmpname()
  paths[#paths + 1], paths[#paths + 2] = name, name .. ending
  return name .. ending
end

teardown(function()
  for _, path in ipairs(paths) do os.remove(path) end
end)

-- Loads each file that differs from `bytes` in one byte; how many raised. The others must load.
local function count_refused(bytes, ending)
  local path, refused = fresh(ending), 0
  for i = 1, #bytes do
    write_file(path, bytes:sub(1, i - 1) .. string.char(bytes:byte(i) ~ 0x5a) .. bytes:sub(i + 1))
    local loaded, message = pcall(roc.load, path)
    if not loaded then
      refused = refused + 1
      assert.is_truthy(tostring(message):find(path, 1, true), message)
    end
  end
  return refused
end

describe("a .npz file", function()
  for _, name in ipairs { "stored", "compressed" } do
    it("of NumPy is read, " .. name, function()
      local t = roc.load(DIR .. name .. ".npz")
      assert.same({ { 0.0, 0.25, 0.5 }, { 0.75, 1.0, 1.25 } }, t.a:totable())
      assert.equal(roc.float32, t.a.dtype)
      assert.same({ { 0, 1, 2, 3, 4 }, { 5, 6, 7, 8, 9 } }, t.b:totable())
      assert.is_true(t.b:is_f_contiguous())
      assert.same({ true, false }, t.c:totable())
      assert.same({ 0, 3 }, t.e.shape)
    end)
  end

  it("gives what was saved, of all layouts and devices", function()
    local path = fresh(".npz")
    local a = roc.range(1, 12, 1, "float32"):reshape(3, 4)
    roc.save(path, { a = a, ["a view"] = a:slice(2, 1, 4, 2), t = a:transpose(),
      none = roc.zeros(0),
      d = roc.to_device(a), s = roc.smart_array(a:copy()) })
    local t = roc.load(path)
    assert.is_true(roc.array_equal(a, t.a))
    assert.is_true(roc.array_equal(a:slice(2, 1, 4, 2), t["a view"]))
    assert.is_true(roc.array_equal(a:transpose(), t.t))
    assert.is_true(roc.array_equal(a, t.d))
    assert.is_true(roc.array_equal(a, t.s))
    assert.same({ 0 }, t.none.shape)
  end)

  it("has the same bytes each time, whatever the order of the table", function()
    local one, other = fresh(".npz"), fresh(".npz")
    local a = roc.ones(3)
    roc.save(one, { x = a, y = a, z = a })
    roc.save(other, { z = a, x = a, y = a })
    assert.equal(files.read(one), files.read(other))
  end)

  it("that is damaged or cut short is refused, or holds what its checksums say", function()
    local bytes = files.read(DIR .. "compressed.npz")
    assert.is_true(count_refused(bytes, ".npz") > #bytes // 2)
    local path = fresh(".npz")
    for _, size in ipairs { 1, 30, #bytes // 2, #bytes - 30 } do
      write_file(path, bytes:sub(1, size))
      assert.has_error(function() roc.load(path) end)
    end
  end)

  it("holds arrays by name", function()
    local path = fresh(".npz")
    local closed = roc.device_array(3)
    closed:close()
    for _, case in ipairs {
      { {}, "at least one array" },
      { roc.ones(3), "holds a table of arrays by name, such as {x = a}" },
      { { roc.ones(3) }, "1: a .npz file holds arrays by name" },
      { { x = 3 }, "x: a .npz file holds arrays by name" },
      { { x = closed }, "x: the array is closed" },
      { { [""] = roc.ones(3) }, "has 1 to 4096 bytes, not 0" },
      { { ["a\0b"] = roc.ones(3) }, "zero byte" },
    } do
      assert.error_matches(function() roc.save(path, case[1]) end, case[2], 1, true)
      assert.is_nil(io.open(path))
    end
  end)

  it("that cannot be written leaves the old one", function()
    local path = fresh(".npz")
    roc.save(path, { x = roc.ones(3) })
    local before = files.read(path)
    assert.has_error(function() roc.save(path, { x = roc.ones(3, "bfloat16") }) end)
    assert.equal(before, files.read(path))
    assert.error_matches(function() roc.save("/nowhere/x.npz", { x = roc.ones(3) }) end,
      "cannot write '/nowhere/x.npz': No such file or directory", 1, true)
  end)
end)

describe("a PNG file", function()
  it("gives the pixels that were saved, of one to four channels", function()
    local path = fresh(".png")
    for channels = 1, 4 do
      local a = roc.random_integers(0, 255, { 5, 7, channels }, "uint8")
      roc.save(path, a)
      local b = roc.load(path)
      assert.equal(roc.uint8, b.dtype)
      assert.is_true(roc.array_equal(channels == 1 and a:reshape(5, 7) or a, b))
    end
    local grey = roc.random_integers(0, 255, { 6, 4 }, "uint8")
    roc.save(path, roc.to_device(grey):transpose())
    assert.is_true(roc.array_equal(grey:transpose(), roc.load(path)))
  end)

  it("of a palette, or of one bit, is read as 8 bits a channel", function()
    local palette, bits = roc.load(DIR .. "palette.png"), roc.load(DIR .. "bits.png")
    assert.same({ 4, 5, 3 }, palette.shape)
    assert.same({ 0, 1, 2 }, palette[1][1]:totable())
    assert.same({ 57, 58, 59 }, palette[4][5]:totable())
    assert.same({ 4, 5 }, bits.shape)
    assert.same({ 255, 0, 0, 255, 0 }, bits[1]:totable())
  end)

  it("of 16 bits a channel is refused", function()
    assert.error_matches(function() roc.load(DIR .. "deep.png") end, "has 16 bits a channel", 1,
      true)
  end)

  it("that is damaged is refused, or is a picture", function()
    local path = fresh(".png")
    roc.save(path, roc.random_integers(0, 255, { 4, 4, 3 }, "uint8"))
    local bytes = files.read(path)
    assert.is_true(count_refused(bytes, ".png") > #bytes // 2)
  end)

  it("holds uint8 of two or three dimensions", function()
    local path = fresh(".png")
    for _, a in ipairs { roc.zeros({ 2, 2 }), roc.zeros(4, "uint8"), roc.zeros({ 2, 2, 5 },
      "uint8"),
      roc.zeros({ 0, 2 }, "uint8") } do
      assert.error_matches(function() roc.save(path, a) end, "a PNG file holds uint8 of shape",
        1, true)
      assert.is_nil(io.open(path))
    end
    assert.has_error(function() roc.save(path, { x = roc.zeros(3) }) end)
  end)
end)

describe("a CSV file", function()
  local path

  before_each(function() path = fresh(".csv") end)

  local function load(text, opts)
    write_file(path, text)
    return roc.load(path, opts)
  end

  it("keeps texts apart that begin and end alike, and finds those that repeat", function()
    local written, lines = {}, { "t" }
    local forms = { "x", "x.y", "long enough, %d, and ends", "ab%dyz", '"', 'a""b', "%d" }
    for i = 1, 3000 do
      local text = forms[i % #forms + 1]:format(i % 13)
      written[i] = text
      local is_plain = i % 2 == 0 and not text:find '[",]'
      lines[i + 1] = is_plain and text or '"' .. text:gsub('"', '""') .. '"'
    end
    assert.same(written, load(table.concat(lines, "\n")).t)
  end)

  it("is a table of columns: integers, numbers, texts", function()
    local t = load 'id,"name, x",v\n1,Ann,2.5\r\n\n2,"B ""q""\nC",\n3,,-1e400\n'
    assert.same({ "id", "name, x", "v" }, { t[1], t[2], t[3] })
    assert.equal(roc.int64, t.id.dtype)
    assert.same({ 1, 2, 3 }, t.id:totable())
    assert.same({ "Ann", 'B "q"\nC', "" }, t["name, x"])
    assert.equal(roc.float64, t.v.dtype)
    assert.equal(2.5, t.v[1])
    assert.is_true(t.v[2] ~= t.v[2])
    assert.equal(-math.huge, t.v[3])
  end)

  it("has a separator, and may have no names", function()
    local t = load("1;a\n2;b\n", { header = false, separator = ";" })
    assert.same({ 1, 2 }, t[1]:totable())
    assert.same({ "a", "b" }, t[2])
    for _, separator in ipairs { "/", ":", " ", "\177" } do -- the first two are beside digits
      local line = ("12345678$1$$9876543$123456789012$x\n"):gsub("%$", separator)
      local columns = load(line, { header = false, separator = separator })
      assert.same({ 12345678, 1, 9876543, 123456789012, "x" }, { columns[1][1], columns[2][1],
        columns[4][1], columns[5][1], columns[6][1] })
    end
    local tabs = fresh(".tsv")
    write_file(tabs, "x\ty\n1\t2\n")
    assert.same({ 2 }, roc.load(tabs).y:totable())
    local other = fresh(".txt")
    write_file(other, "x,y\n1,2\n")
    assert.same({ 2 }, roc.load(other, { format = "csv" }).y:totable())
  end)

  it("has columns without a name by their number", function()
    local t = load ",b\n1,2\n"
    assert.same({ "1", "b" }, { t[1], t[2] })
    assert.same({ 1 }, t["1"]:totable())
  end)

  it("reads numbers to the last bit, whatever the locale", function()
    local texts = { "0.1", "1e22", "1e23", "9007199254740993", "123456789012345678901234567890",
      "2.2250738585072011e-308", "5e-324", "1.7976931348623157e308", ".5", "5.", "-0.0", "+7",
      -- half way between two numbers of float64, and a little above and below
      "4503599627370497.5", "4503599627370498.5", "4503599627370497.501", "4503599627370497.499" }
    for _ = 1, 2000 do
      texts[#texts + 1] = ("%%.%dg"):format(math.random(1, 17)):format(
        (math.random() - 0.5) * 10.0 ^ math.random(-300, 300))
    end
    for whole = 0, 20 do -- digits are read eight at a time
      for rest = whole == 0 and 1 or 0, 20 do
        texts[#texts + 1] = ("90817263549081726354"):sub(1, whole) .. "."
          .. ("01234567899876543210"):sub(1, rest)
      end
    end
    local old = os.setlocale(nil, "numeric")
    finally(function() os.setlocale(old, "numeric") end)
    os.setlocale("de_DE.UTF-8", "numeric") -- where it is installed
    local column = load("x\n0.5\n" .. table.concat(texts, "\n")).x
    os.setlocale(old, "numeric")
    for i, text in ipairs(texts) do
      local expected = tonumber(text) * 1.0
      assert.equal(string.pack("d", expected), string.pack("d", column[i + 1]), text)
    end
  end)

  it("keeps integers of 64 bits", function()
    local t = load "a,b\n9223372036854775807,9223372036854775808\n-9223372036854775808,1\n"
    assert.same({ math.maxinteger, math.mininteger }, t.a:totable())
    assert.equal(roc.float64, t.b.dtype)
    assert.equal(2.0 ^ 63, t.b[1])
  end)

  it("takes a word late in a column of numbers", function()
    assert.same({ "1", "2.50", "x" }, load("a,b\n1,1\n2.50,2\nx,3\n").a)
  end)

  it("may be empty, or have names alone", function()
    assert.same({}, load "")
    assert.same({ 0 }, load("a,b\n").a.shape)
  end)

  it("that is none is refused, with the line", function()
    for text, why in pairs {
      ["a,b\n1,2,3\n"] = ":2: the line has more than 2 fields",
      ["a,b\n1,2\n\n3\n"] = ":4: the line has 1 of 2 fields",
      ['a,b\n1,"x'] = ":2: a quote does not end",
      ['a\n"x"y\n'] = ":2: a quote ends before the field does",
      ["a,a\n1,2\n"] = "two columns named 'a'",
    } do
      write_file(path, text)
      assert.error_matches(function() roc.load(path) end, why, 1, true)
    end
  end)

  it("has options, and other files have none", function()
    write_file(path, "a\n1\n")
    assert.error_matches(function() roc.load(path, { head = true }) end, "unknown option 'head'", 1,
      true)
    assert.error_matches(function() roc.load(path, { separator = ",," }) end, "one character", 1,
      true)
    assert.error_matches(function() roc.load(path, { format = "json" }) end, 'must be "csv"', 1,
      true)
    assert.error_matches(function() roc.load(DIR .. "stored.npz", { header = true }) end,
      "options of CSV files", 1, true)
    assert.error_matches(function() roc.load("LICENSE") end, "is no .npy, .npz or PNG file", 1,
      true)
  end)

  it("gives the columns that were saved", function()
    roc.save(path, { "x", "n", "t", "f", x = roc.array { 1, 0.1, 1e300 },
      n = roc.array({ 1, -2, 3 }, "int8"), t = { "a", "b,c", 'd"e\n' },
      f = roc.to_device(roc.array({ 1 / 3, 16777216, 0.1 }, "float32")) })
    assert.equal('x,n,t,f\n1.0,1,a,0.33333334\n0.1,-2,"b,c",16777216.0\n1e+300,3,"d""e\n",0.1\n',
      files.read(path))
    local t = roc.load(path)
    assert.same({ 1.0, 0.1, 1e300 }, t.x:totable())
    assert.same({ 1, -2, 3 }, t.n:totable())
    assert.same({ "a", "b,c", 'd"e\n' }, t.t)
    assert.same({ roc.float32(1 / 3), 16777216.0, roc.float32(0.1) },
      t.f:astype("float32"):totable())
  end)

  it("holds a matrix without names", function()
    roc.save(path, roc.range(1, 6):reshape(2, 3):transpose())
    assert.equal("1,4\n2,5\n3,6\n", files.read(path))
    assert.same({ 4, 5, 6 }, roc.load(path, { header = false })[2]:totable())
  end)

  it("holds columns of one length", function()
    for _, case in ipairs {
      { { "x", "y", x = roc.zeros(3), y = roc.zeros(2) }, "column y: it has 2 rows" },
      { { "x", x = 3 }, "column x: an array of one dimension, or a list of strings" },
      { { "x", x = { "a", 2 } }, "column x: an array, or a list of strings" },
      { { "x", x = roc.zeros({ 2, 2 }) }, "column x: an array of one dimension" },
      { {}, "1 to 10000 columns are expected" },
      { roc.zeros({ 2, 2, 2 }), "at most two dimensions" },
    } do
      assert.error_matches(function() roc.save(path, case[1]) end, case[2], 1, true)
      assert.is_nil(io.open(path))
    end
  end)
end)

describe("the option progress", function()
  local numbers = roc.rng(1):uniform(400000)
  local texts = {}
  for i = 1, 200000 do texts[i] = "text " .. i end
  local function contents(ending)
    if ending == ".npz" then return { x = numbers, y = numbers } end
    if ending == ".csv" then return { "t", t = table.move(texts, 1, #texts, 1, {}) } end
    if ending == ".png" then return (numbers * 255):reshape(1000, 400):tile({ 8, 1 })
      :astype("uint8") end
    return numbers
  end

  for _, ending in ipairs { ".npy", ".npz", ".csv", ".png" } do
    it("is told how far a file is, " .. ending, function()
      local path, a, before = fresh(ending), contents(ending), 0
      roc.save(path, a, { progress = function(done, total)
        assert(done > before and not total)
        before = done
        if type(a) == "table" then -- what is being saved, and garbage then
          a.x, a.y, a.t = nil, nil, {}
          collectgarbage()
        end
      end })
      assert.is_true(before > 1 << 20)
      before = 0
      local size = #files.read(path)
      local loaded = roc.load(path, { progress = function(done, total)
        assert(done >= before and done <= size and total == size)
        before = done
      end })
      assert.is_true(before > 1 << 20)
      assert.is_true(ending ~= ".csv" or table.concat(texts) == table.concat(loaded.t))
      assert.is_true(ending ~= ".npz" or roc.array_equal(numbers, loaded.y))
      assert.is_true(ending ~= ".npy" or roc.array_equal(numbers, loaded))
    end)

    it("ends the call by an error, " .. ending, function()
      local path, reason = fresh(ending), {}
      local function stop() error(reason) end
      local fine, why = pcall(roc.save, path, contents(ending), { progress = stop })
      assert.same({ false, reason, nil }, { fine, why, (io.open(path)) })
      roc.save(path, contents(ending))
      fine, why = pcall(roc.load, path, { progress = stop })
      assert.same({ false, reason }, { fine, why })
      local yield = { progress = function() coroutine.yield() end }
      assert.error_matches(function() roc.load(path, yield) end, "yield")
    end)
  end

  it("is a function", function()
    local path = fresh(".npy")
    assert.error_matches(function() roc.save(path, numbers, { progress = 1 }) end,
      "#3 to 'save' (progress must be a function)", 1, true)
    assert.error_matches(function() roc.save(path, numbers, { told = print }) end,
      "unknown option 'told'; the only option is progress", 1, true)
    assert.error_matches(function() roc.load(path, { progress = "x" }) end,
      "#2 to 'load' (progress must be a function)", 1, true)
  end)
end)
