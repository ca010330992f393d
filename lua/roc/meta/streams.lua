---@meta
-- # Streams, events and devices
--
-- Queues of work, places in them, timelines, and the devices themselves.
-- [streams.md](../streams.md) says what runs when, and what waits for what.
--
-- ```lua
-- local roc = require "roc"
-- local s = roc.stream()
-- local d = roc.device_array(1000)
-- ```

---@class roc
local roc = {}

-- ## Streams

---A queue of work on one device, which runs in its order. Streams are ordered among each other by
---events alone, the device's own stream included.
---@class roc.Stream
---@field device roc.Device
local Stream = {}

---A new stream.
---
---Example: `d:fill(1, s) s:synchronize() return d[1000]` gives `1.0`.
---@param device? integer | string | roc.Device default: the current one
---@return roc.Stream
function roc.stream(device) end

---Waits for all work queued on the stream, and raises its error if some failed.
---
---Example: `d:fill(2, s) s:synchronize() return s:query()` gives `true`.
function Stream:synchronize() end

---Whether all work is done. Does not wait; callbacks whose place is passed are called.
---
---Example: `s:synchronize() return s:query()` gives `true`.
---@return boolean
function Stream:query() end

---What is queued on the stream from now on runs after the event as it is recorded now. Does not
---wait (but on the host, where one driver cannot wait for another).
---
---Example: `s:wait(roc.event():record(roc.stream()))`.
---@param event roc.Event of any device
function Stream:wait(event) end

---Calls `f` with the arguments once all that was queued so far is done: on the Lua thread, at the
---end of the first wait or query after that, of any stream, event or array. An error in `f` is
---raised by that wait.
---
---Example: `local done s:callback(function() done = true end) s:synchronize() return done` gives
---`true`.
---@param f fun(...)
---@param ... any
function Stream:callback(f, ...) end

---A scope that waits for the stream at its end: `local scope <close> = s:auto_synchronize()`.
---
---Example: `do local scope <close> = s:auto_synchronize() d:fill(3, s) end return d[1]` gives
---`3.0`.
---@return roc.StreamScope
function Stream:auto_synchronize() end

---What `s:auto_synchronize()` gives. Until it is over, it can be used in place of its stream.
---@class roc.StreamScope: roc.Stream
local StreamScope = {}

---Waits for the stream and ends the scope. `<close>` does the same. When an error leaves the scope,
---that error goes on, and an error of the stream's work stays for the next wait.
---
---Example: `local scope = s:auto_synchronize() scope:close() return s:query()` gives `true`.
function StreamScope:close() end

---Closes the stream; its work goes on. Does not wait; later use is an error. `<close>` does the
---same.
---
---Example: `local t <close> = roc.stream() return t:query()` gives `true`.
function Stream:close() end

-- ## Events

---A place in a stream. Until it is recorded it counts as passed.
---@class roc.Event
local Event = {}

---A new event.
---
---Example: `roc.event():query()` gives `true`.
---@return roc.Event
function roc.event() end

---Marks the place after all work queued so far on the stream. Recording again forgets the old
---place. Does not wait.
---
---Example: `local e = roc.event() d:fill(4, s) e:record(s) e:synchronize() return d[1]` gives
---`4.0`.
---@param stream? roc.Stream default: that of the current device
---@return roc.Event # the event itself
function Event:record(stream) end

---Waits for the place, and raises what failed on the stream before it.
---
---Example: `roc.event():record(s):synchronize()`.
function Event:synchronize() end

---Whether the place is passed. Does not wait; callbacks whose place is passed are called.
---
---Example: `local e = roc.event():record(s) s:synchronize() return e:query()` gives `true`.
---@return boolean
function Event:query() end

---Closes the event; streams that wait for it still do. `<close>` does the same.
---
---Example: `local e <close> = roc.event() return e:query()` gives `true`.
function Event:close() end

---The time between two events of one device, taken on the device as its streams passed them. Waits
---for both. An event that was never recorded is an error.
---
---Example: `local e1 = roc.event():record(s) local e2 = roc.event():record(s) return
---roc.elapsed(e1, e2) >= 0` gives `true`.
---@param e1 roc.Event
---@param e2 roc.Event
---@return number milliseconds
function roc.elapsed(e1, e2) end

-- ## Times and timelines

---The host's time: seconds since an unspecified start, by a clock that never goes back. A launch
---returns at once: wait before the second reading.
---
---Example: `roc.time() <= roc.time()` gives `true`.
---@return number seconds
function roc.time() end

---A timeline of the process: launches, copies, fills, compiles, waits and callbacks. There is one
---at a time.
---@class roc.Trace
local Trace = {}

---Begins a timeline, which lasts until it is closed or the program ends. A second one at a time is
---an error.
---
---Example: `local t <close> = roc.trace() d:fill(5) return t:summary():match("fill")` gives `fill`.
---@param path? string a file of JSON to write, which Perfetto and chrome://tracing open
---@return roc.Trace
function roc.trace(path) end

---What took how long, by name, as a table of text: calls, milliseconds (total, mean, least, most),
---GB/s of copies and fills. Waits for the state's work.
---
---Example: `local t <close> = roc.trace() return t:summary():match("%w+")` gives `device`.
---@return string
function Trace:summary() end

---Waits for the state's work, ends the timeline and writes its file. The second time it does
---nothing. `<close>` does the same.
---
---Example: `local t = roc.trace("t.json") t:close() return io.open("t.json"):read(1)` gives `{`.
function Trace:close() end

-- ## Devices

---A device of this machine.
---@class roc.Device
---@field name string the driver's own: "cpu", "AMD Instinct MI210", …
---@field model string what the machine calls it; of `cpu` the processor and its vector instructions
---@field kind string "cpu", "hsa", "cuda", "sim" or "null"
---@field arch string what kernels are compiled for: "cpu", "gfx90a:sramecc-:xnack-", "sm_90", …
---@field wavefront_size integer work-items of a wavefront
---@field compute_units integer of cpu: threads
---@field max_workgroup integer work-items of a workgroup, at most
---@field shared_bytes integer of a workgroup, at most
---@field memory_total integer bytes
---@field state "ok" | "lost"
local Device = {}

---The devices of this machine, in the order of their numbers, which count from 1.
---
---Example: `#roc.devices() >= 1` gives `true`.
---@return roc.Device[]
function roc.devices() end

---The device that new device arrays, streams and launches are on.
---
---Example: `roc.current_device().state` gives `ok`.
---@return roc.Device
function roc.current_device() end

---Makes a device the current one of this Lua state.
---
---Example: `roc.select_device("cpu") return roc.current_device().kind` gives `cpu`.
---@param device integer | string | roc.Device a number, or a kind with or without one: "cpu:2"
function roc.select_device(device) end

---Makes a device the current one until the scope is closed:
---`local scope <close> = roc.on_device("sim")`.
---
---Example: `do local scope <close> = roc.on_device("sim") return roc.zeros(3):sum(),
---roc.current_device().kind end` gives `0.0, sim`.
---@param device integer | string | roc.Device
---@return roc.DeviceScope
function roc.on_device(device) end

---What `roc.on_device` gives.
---@class roc.DeviceScope
local DeviceScope = {}

---Makes the device current again that was current before the scope. `<close>` does the same.
---
---Example: `local scope = roc.on_device("sim") scope:close() return roc.current_device().kind`
---gives `cpu`.
function DeviceScope:close() end

---The bytes that are free on the device now.
---
---Example: `roc.current_device():memory_free() > 0` gives `true`.
---@return integer
function Device:memory_free() end

---Waits for everything queued on the device, and raises its error if some failed.
---
---Example: `roc.current_device():synchronize()`.
function Device:synchronize() end

---Ends all work on the device and starts it again, which may bring a lost device back. Arrays on it
---have undefined contents afterwards.
---
---Example: `pcall(function() roc.current_device():reset() end)` gives `true`.
function Device:reset() end
