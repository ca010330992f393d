-- Variables and jumps that a group executes once, and what the CPU target makes of them. That the
-- results stay those of items that each have their own: cts/group_spec.
local roc = require "roc"

local function llvm_of(fn)
  local signature = "(float32[:], float32[:])"
  local kernel = roc.kernel(fn, { check = false, number = "float32", signature = signature })
  return kernel:inspect_llvm("cpu:x86-64-v4", "opt")
end

describe("what all items of a group do alike", function()
  it("is a variable that is kept once", function()
    assert.not_matches("masked%.gather", llvm_of(function(x, out)
      local t = roc.shared.array(256, "float32")
      local i, l = roc.get_global_id(1), roc.get_local_id(1)
      t[l] = x[i]
      roc.barrier()
      local s = 128
      while s > 0 do
        if l <= s then t[l] = t[l] + t[l + s] end
        roc.barrier()
        s = s // 2
      end
      out[i] = t[1]
    end))
  end)

  it("is the half of a pair of tiles that has its turn", function()
    assert.not_matches("masked%.gather", llvm_of(function(x, out)
      local t = roc.shared.array({ 2, 258 }, "float32")
      local i, l = roc.get_global_id(1), roc.get_local_id(1)
      local now = 1
      t[1][l + 1] = x[i]
      for _ = 1, #x do
        roc.barrier()
        t[3 - now][l + 1] = t[now][l] + t[now][l + 2]
        now = 3 - now
      end
      out[i] = t[now][l + 1]
    end))
  end)

  it("is a jump, after which no item is known to have ended", function()
    assert.not_matches("memset", llvm_of(function(x, out)
      local t = roc.shared.array(256, "float32")
      local i, l = roc.get_global_id(1), roc.get_local_id(1)
      if roc.get_group_id(1) > #x // 256 then return end
      t[l] = x[i]
      roc.barrier()
      out[i] = t[257 - l]
    end))
  end)
end)

-- Bodies of a loop in which all items have the same `s`; `t` has 256 elements.
local CHECKED = {
  ["a sum with it"] = "if (l - 1) % (2 * s) == 0 then sum = sum + t[l + s] end",
  ["a product with it"] = "if l <= 128 // s then sum = sum + t[s * (2 * l - 1)] end",
}

describe("checks of an index that is", function()
  for name, body in pairs(CHECKED) do
    it(name .. " are made for all items before the group begins", function()
      local text = ([[
        local roc = require "roc"
        return function(x, out)
          local t = roc.shared.array(256, "float32")
          local i, l = roc.get_global_id(1), roc.get_local_id(1)
          local sum = 0.0
          for p = 0, 7 do
            local s = 1 << p
            t[l] = sum
            roc.barrier()
            BODY
            roc.barrier()
          end
          out[i] = sum
        end]]):gsub("BODY", (body:gsub("%%", "%%%%")))
      local kernel = roc.kernel(assert(load(text))(),
        { signature = "(float32[:], float32[:])" })
      -- No item can end early in what runs then.
      assert.not_matches("\nthinned", kernel:inspect_llvm("cpu"))
    end)
  end
end)

describe("checks of an index out of memory", function()
  local function llvm_of_body(body)
    local kernel = roc.kernel("function(idx, x, o) local i = roc.get_global_id(1) " .. body ..
      " end", { env = { roc = roc }, signature = "(int32[:], float32[:], float32[:])" })
    return kernel:inspect_llvm("cpu")
  end

  it("are made by a run of the group for them alone", function()
    assert.matches("\ninspected", llvm_of_body("o[i] = x[idx[i]]"))
    assert.matches("\ninspected",
      llvm_of_body("local s = 0.0 for k = 1, 8 do s = s + x[idx[i] + k] end o[i] = s"))
  end)

  it("stay in a loop that items go through one by one", function()
    assert.not_matches("\ninspected", llvm_of_body([=[
      local s = 0.0
      for j = idx[i], idx[i + 1] - 1 do s = s + x[idx[j]] end
      o[i] = s
    ]=]))
  end)
end)
