-- Words that the code no longer uses, each with the field's own word for it.  Identifiers count in
-- all of src/; words of comments and messages in the folders below, which are in plain technical
-- English: a folder that gets there is added.
local files = require "support.files"

local IDENTIFIERS = {
  { "roc_ir_guard", "roc_ir_eliminate_checks" },
  { "premise", "precondition" },
  { "roc_ir_clamp", "roc_ir_narrow_group_ids" },
  { "roc_cg_choice", "roc_cg_kernel_versions" },
  { "roc_cg_way", "roc_cg_version" },
  { "roc_cg_agree%f[^%w_]", "roc_cg_check_divergence" },
  { "roc_running", "roc_llvm_lock" },
  { "choose_effort", "choose_opt_tier" },
  { "amdgpu_hide", "amdgpu_opaque" },
  { "amdgpu_hide_launch", "opaque_launch" },
  { "hide_nothing", "opaque_identity" },
  { "is_put_together", "feeds_byte_combine" },
  { "telling_operand", "compare_operand" },
  { "is_zero_less", "is_negation_of_zero" },
  { "has_shared_threads", "is_simt" },
  { "roc_hsa_queue_gate", "roc_hsa_queue_barrier" },
  { "roc_hsa_hold", "roc_hsa_signal_ref" },
  { "roc_hsa_note", "roc_hsa_launch_info" },
  { "roc_hsa_place", "roc_hsa_pointer_info" },
  { "pool_wish", "pool_query" },
  { "emu_bench", "emu_group_context" },
  { "MAX_BENCHES", "MAX_CONTEXTS" },
  { "emu_piece", "emu_decoded_block" },
  { "emu_grant", "emu_register_limits" },
  { "no_way_", "unreachable_" },
  { "merge_ways", "merge_paths" },
  { "reads_behind_write", "reads_after_write" },
  { "wishes", "addresses" },
  { "errand", "background_job" },
  { "near_us", "search_paths" },
  { "parse_behind", "parse_with_prefix" },
}

-- In all of src/, lua/ and docs/.
local MESSAGES = {
  { "cannot be had", "cannot allocate N bytes, is not available" },
  { "has mistakes", "has errors" },
  { "types? came", "got N types" },
}

local PLAIN = { "src/backend", "src/bindings", "src/device", "src/embed", "src/frontend",
  "src/base", "src/ir", "src/codegen/amdgpu", "src/codegen/llvm",
  "src/emulator",
  "src/include", "src/jit", "src/runtime", "src/testing", "lua", "spec/lint", "spec/support" }

-- Frontiers stand for the ends of words.
local WORDS = {
  { "%f[%w]behind%f[%W]", "after, below" },
  { "%f[%w][Nn]obody%f[%W]", "no thread, no caller, nothing: the subject by its name" },
  { "%f[%w][Ss]omebody%f[%W]", "the subject by its name" },
  { "%f[%w][Ww]ho%f[%W]", "which, or the subject by its name" },
  { "%f[%w][Ww]hoever%f[%W]", "the subject by its name" },
  { "what is there", "the thing by its name" },
  { "%f[%w]in hand%f[%W]", "current" },
  { "at leisure", "idle" },
  { "without a word", "silently" },
  { "%f[%w]anew%f[%W]", "again" },
  { "last words", "the error" },
  { "put together", "made of, combined" },
  { "%f[%w]dear%f[%W]", "expensive" },
  { "%f[%w]no way%f[%W]", "unreachable, impossible" },
}

-- Uses that are right: path, text of the line ("": any).
local ALLOWED = {
  { "spec/lint/words_spec.lua", "" },
}

local function is_allowed(path, line)
  for _, row in ipairs(ALLOWED) do
    if path:find(row[1], 1, true) and line:find(row[2], 1, true) then return true end
  end
  return false
end

-- Adds a complaint for each line that has one of the rows' words.
local function search(complaints, path, rows)
  local number = 0
  for line in (files.read(path) .. "\n"):gmatch("(.-)\n") do
    number = number + 1
    for _, row in ipairs(rows) do
      local found = line:match(row[1])
      if found and not is_allowed(path, line) then
        complaints[#complaints + 1] = ("%s:%d: '%s' is '%s' here"):format(path, number, found,
          row[2])
      end
    end
  end
end

-- The complaints about files below the folders; there must be files.
local function complaints_below(folders, ending, rows)
  local complaints = {}
  for _, folder in ipairs(folders) do
    local paths = files.list(folder, ending)
    assert.is_true(#paths > 0, folder)
    for _, path in ipairs(paths) do search(complaints, path, rows) end
  end
  return table.concat(complaints, "\n")
end

describe("the words of the code", function()
  it("are the field's own, in identifiers", function()
    assert.are.equal("", complaints_below({ "src" }, "%.%a+$", IDENTIFIERS))
  end)

  it("are the field's own, in messages", function()
    assert.are.equal("", complaints_below({ "src", "lua", "docs" }, "%.%a+$", MESSAGES))
  end)

  it("are plain technical English, in comments and messages", function()
    assert.are.equal("", complaints_below(PLAIN, "%.%a+$", WORDS))
  end)
end)
