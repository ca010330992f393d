-- Text for the front end's fuzz spec: where names, labels and attributes come and go.
local x = x
local function x() return x end
do local x <const> = 1; local y = x; y = y + x end
do
  local i = 1
  ::top::
  if i < 3 then i = i + 1 goto top end
end
do
  goto skip
  local hidden
  ::skip::
end
repeat
  local z = x
  if z then break end
until z
for _ = 1, 2 do
  do goto continue end
  local late = 1
  print(late)
  ::continue::
end
local K <const> = "k"
local V <const> = not nil
local W <const> = (2 + 3) * 4.0 - 1 // 1
local f <const> = function() return K, V, W end
while true do
  local function g(...)
    local n <close> = nil
    goto label
    ::label:: return g, n, ...
  end
  if g then break else goto fin end
end
::fin:: do ::fin2:: end
goto fin3
do ::fin3:: end
::fin3::
