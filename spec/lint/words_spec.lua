-- Words that the code no longer uses, each with the field's own word for it.  Identifiers count in
-- all of src/; words of comments and messages in the folders that are listed as done.
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
  { "emu_piece", "emu_decoded_block" },
  { "emu_grant", "emu_register_limits" },
  { "no_way_", "unreachable_" },
  { "wishes", "addresses" },
  { "errand", "background_job" },
  { "near_us", "search_paths" },
  { "parse_behind", "parse_with_prefix" },
}

describe("the words of src/", function()
  it("are the field's own", function()
    local complaints, count = {}, 0
    for _, path in ipairs(files.list("src", "%.%a+$")) do
      count = count + 1
      local text = files.read(path)
      for _, row in ipairs(IDENTIFIERS) do
        if text:find(row[1]) then
          complaints[#complaints + 1] = ("%s: '%s' is '%s' here"):format(path, row[1], row[2])
        end
      end
    end
    assert.is_true(count > 0)
    assert.are.equal("", table.concat(complaints, "\n"))
  end)
end)
