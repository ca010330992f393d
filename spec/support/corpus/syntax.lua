-- Text for the front end's fuzz spec: every construct of Lua 5.4 at least once.
local a <const>, b <close>, c = 1, nil, "s\z
   \x41\u{20AC}\065\n\\\"\
"
local t = { 1, 2.5, [3] = 4; x = 5, f = function(...) return ... end, { {} }, n = nil }
local long, longer = [[
first]], [==[ ]] ]=] ]==]
--[[ a comment
over lines ]] --[=[ ]] ]=]
function t.f:method(x, ...)
  local first, rest = ..., select("#", ...)
  self.x, self["y"], t[1] = first, rest
  return self:method(x)("call")[1] { 2 } [[s]]
end
local function outer()
  local up, k <const> = 1, -7 // 2
  local function inner() up = up + k; return inner end
  return inner, function() return up, a end
end
for k, v in pairs(t) do if not k then break elseif v == nil then goto next else print(k, v) end ::next:: end
for i = 10, 1, -1 do local _ = i end
while a < 0 or a >= 2 and a ~= 3 do a1 = a | 1 ~ 2 & 3 << 4 >> 5 .. 6 end
repeat local done = -a ^ -2 ^ #c == ~a until done or not done
do
  goto out
  ::back:: ::again:: ;
  if a == b then goto back end
end
::out::
do local _ENV = { x = 1 }; x = x + 1; _ENV.y = x end
print(0x7fffffffffffffff, 0xffffffffffffffffff, 9223372036854775808, 0x.8p-3, 1e+10, .5, 3., 0xA.fP1)
print((...), (outer()), -a, not a, #t, ~1, 1 // 2 % 3, a <= 1, "a" .. 'b' .. 1)
return outer(), t;
