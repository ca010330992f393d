-- The content hash, against the vectors of FIPS 180-4 and its neighbours.
local testing = require("roc.core").testing

describe("the content hash", function()
  it("is SHA-256", function()
    local known = {
      [""] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq =
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
      [("a"):rep(1000000)] = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
    }
    for text, digest in pairs(known) do assert.equal(digest, testing.sha256(text)) end
  end)

  it("tells texts of every length around a block apart", function()
    local seen = {}
    for n = 50, 130 do
      local digest = testing.sha256(("x"):rep(n))
      assert.is_nil(seen[digest])
      seen[digest] = true
    end
  end)
end)
