-- Finding the source text of a Lua function.
--
-- Debug information names the chunk: a file, the text given to `load`, or a name under which a text
-- was registered with roc.source. A text is accepted only if compiling it yields the function's own
-- bytecode; that also identifies the function in the text, since bytecode contains lines,
-- constants, variables and captures.
local core = require "roc.core"
local dump = require "roc.dump"

local M = {}

-- chunk name -> texts, the newest first (a program may give all its chunks one name). A text is a
-- string, or what M.register_chunk made.
local registered = {}

-- text -> the numbers of its prototypes by their bytes, for the texts used last.
local compiled, ncompiled = {}, 0
local MAX_COMPILED = 16

---Registers the source of chunks that were loaded under a name of the user's choice.
---@param chunkname string as given to `load`, with or without the leading "=" or "@"
---@param text string
function M.register(chunkname, text)
  for i, argument in ipairs { chunkname or false, text or false } do
    if type(argument) ~= "string" then
      error(string.format("bad argument #%d to 'source' (string expected, got %s)", i,
        argument and type(argument) or "nil"), 2)
    end
  end
  local name = string.gsub(chunkname, "^[=@]", "")
  registered[name] = registered[name] or {}
  table.insert(registered[name], 1, text)
end

---Registers a chunk that was loaded as another text than the user's.
---@param chunkname string
---@param chunk { text: string, lead: integer, code: string, added: table<integer, true> } the text
---  of which kernels are compiled, and how many bytes of it come before the user's; the text that
---  was loaded, and which of its functions, by number, are not the user's
function M.register_chunk(chunkname, chunk)
  local name = string.gsub(chunkname, "^[=@]", "")
  registered[name] = registered[name] or {}
  table.insert(registered[name], 1, chunk)
end

-- A file as `loadfile` sees it: no byte order mark, and a first line with # is a comment. The text
-- of a script that was read from a pipe is not available.
local function read_file(path)
  local text, why = core.read_file(path)
  if not text then
    return nil, why
  end
  text = string.gsub(text, "^\239\187\191", "")
  return (string.gsub(text, "^#[^\n]*", ""))
end

-- `added`: the numbers of the functions that do not count.
local function prototypes_of(text, chunkname, added)
  local known = compiled[text]
  if known and known.chunkname == chunkname then
    return known
  end
  local f = load(text, chunkname, "t")
  local protos, index = { chunkname = chunkname }, 0
  for i, proto in ipairs(f and dump.prototypes(f) or {}) do
    if not (added and added[i - 1]) then
      protos[proto.bytes] = protos[proto.bytes] or index
      index = index + 1
    end
  end
  if ncompiled == MAX_COMPILED then
    compiled, ncompiled = {}, 0
  end
  if not compiled[text] then
    ncompiled = ncompiled + 1
  end
  compiled[text] = protos
  return protos
end

-- The number of the prototype (0: the chunk itself) that is `f`; nil when the text is not its
-- source.
local function find_in(text, chunkname, f)
  local code, added = text, nil
  if type(text) == "table" then
    code, added = text.code, text.added
  end
  return prototypes_of(code, chunkname, added)[dump.prototypes(f)[1].bytes]
end

local function is_stripped(info)
  return info.source == "=?" or (info.currentline == -1 and next(info.activelines or {}) == nil)
end

-- Texts that may be the function's, and the message for the case that none is.
local function candidates(info)
  local source, kind = info.source, string.sub(info.source, 1, 1)
  local has_mark = kind == "=" or kind == "@"
  local name = has_mark and string.sub(source, 2) or source -- no copy of a long text
  local texts = table.move(registered[name] or {}, 1, #(registered[name] or {}), 1, {})
  if kind == "@" then
    local text, why = read_file(name)
    if text then
      texts[#texts + 1] = text
      return texts,
        string.format("'%s' changed since the function was loaded; load it again, or pass the "
          .. "kernel as a string", name)
    end
    return texts, string.format("its file cannot be read: %s; pass the kernel as a string, or its "
      .. "text with roc.source(chunkname, text)", why)
  elseif kind ~= "=" then
    texts[#texts + 1] = source
  end
  return texts,
    string.format("its text is not known (chunk '%s'); register the text with "
      .. "roc.source(%q, text), or pass the kernel as a string", info.short_src,
      string.sub(name, 1, 60))
end

---The source of a function, for messages `what` (e.g. "function 'helper'").
---@param f function
---@param what string
---@return string text of the whole chunk
---@return string name of the chunk, as shown in messages
---@return integer index of the function among the chunk's `function` keywords; 0: the chunk
---@return integer? lead bytes of the text that were added before the user's
function M.find(f, what)
  local info = debug.getinfo(f, "SL")
  if info.what == "C" then
    error(string.format("the source of %s cannot be found: it is a C function; write it in Lua",
      what), 0)
  end
  if is_stripped(info) then
    error(string.format("the source of %s cannot be found: its debug information was stripped; "
      .. "load it from source, or pass the "
      .. "kernel as a string", what), 0)
  end
  local texts, complaint = candidates(info)
  for _, text in ipairs(texts) do
    local index = find_in(text, info.source, f)
    if index and type(text) == "table" then
      return text.text, info.short_src, index, text.lead
    elseif index then
      return text, info.short_src, index
    end
  end
  error(string.format("the source of %s cannot be found: %s", what, complaint), 0)
end

---The same when the text is known.
---@return integer index
function M.index_in(f, text)
  return (assert(find_in(text, debug.getinfo(f, "S").source, f), "the text is not the function's"))
end

return M
