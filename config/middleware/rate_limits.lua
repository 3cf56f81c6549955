-- One request against several limits in one round trip: taken from all of them, or from none.
--
-- Of each limit one number is kept: the moment at which its bucket would be full again (GCRA). A
-- request moves it by 1/rate; it may lie a burst ahead, and no further.

local BURST = tonumber(ARGV[1])  -- seconds of the rate that may come at once
local ROUNDING = 0.00001
local GRACE = 1                  -- seconds; what lies further ahead was written by another clock

local function clock()
  if ARGV[2] ~= '' then return tonumber(ARGV[2]) end  -- tests alone hand time in
  local time = redis.call('TIME')
  return time[1] + time[2] / 1000000
end

local now, wait = clock(), 0
local full_at = {}

local function rate(number) return tonumber(ARGV[2 + number]) end

for number, key in ipairs(KEYS) do
  local kept = tonumber(redis.call('GET', key) or now) or now
  if kept > now + BURST + GRACE then kept = now end
  full_at[number] = math.max(now, kept)
  local ahead = full_at[number] + 1 / rate(number) - now - BURST
  if ahead > ROUNDING then wait = math.max(wait, ahead) end
end

local answer = { tostring(wait) }
for number, key in ipairs(KEYS) do
  if wait == 0 then
    full_at[number] = full_at[number] + 1 / rate(number)
    local life = math.ceil((full_at[number] - now) * 1000) + 1000
    redis.call('SET', key, string.format('%.6f', full_at[number]), 'PX', life)
  end
  local owed = full_at[number] - now
  answer[#answer + 1] = math.max(0, math.floor((BURST - owed) * rate(number) + 0.001))
  answer[#answer + 1] = math.ceil(owed)
end
return answer
