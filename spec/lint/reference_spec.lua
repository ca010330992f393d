-- docs/reference is what scripts/reference.lua writes out of lua/roc/meta.
local files = require "support.files"

describe("docs/reference", function()
  it("is what the annotations say: run lua5.4 scripts/reference.lua", function()
    local folder = files.run("mktemp -d"):gsub("\n$", "")
    finally(function() files.run("rm -rf " .. folder) end)
    local output, succeeded = files.run("lua5.4 scripts/reference.lua " .. folder)
    assert.is_true(succeeded, output)
    local written, committed = files.list(folder, "%.md$"), files.list("docs/reference", "%.md$")
    assert.is_true(#written > 5)
    assert.are.equal(#written, #committed)
    for i, path in ipairs(committed) do
      local name = path:match("[^/]*$")
      assert.are.equal(name, written[i]:match("[^/]*$"))
      assert.are.equal(files.read(written[i]), files.read(path), path)
    end
  end)
end)
