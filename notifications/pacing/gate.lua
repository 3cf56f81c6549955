-- The gate of one Firebase project: how many messages may leave now, and why not more.
--
-- Atomic, one call per window of messages. What bounds the pace, from the outside in:
--   closed    FCM said Retry-After: nothing leaves, for any process, until then.
--   failing   FCM fails or cannot be reached: one message at a time tries whether it is back, and whoever
--             sent it tells. Everybody else's requests would only be used up.
--   level     the project's token bucket. It alone keeps the quota: everything else only takes less.
--   ceiling   the rate at which it fills. It climbs from a cold start (ramp), is cut when FCM pushes
--             back (slowed), starts at the bottom after a closure, and never passes the full rate.
--   saved     the part of the level that only urgent messages may have.
--   fairness  a reference far ahead of one that waits is held to what that one leaves, until it has caught up.
--   own rate  a bucket of each reference that has a limit of its own. It holds a step and not a second:
--             “at most 300 a second” is meant of every second, also of the one after a rest.
--   load      the same of all who ask by it: what the project's own servers can bear. Its rate comes with
--             each question, so that it is not ours to lose.
--
-- A lost or unreadable state is a cold start with an empty bucket: it costs time, never quota.

local BURST = 1         -- seconds of the rate that a bucket holds
local STEP = 0.25       -- seconds of the rate that are worth a window: no crumbs, no long waits
local OWN_STEP = 0.2    -- the same of a reference's own rate; what is left of STEP lets it come late
local ALMOST_ONE = 0.99 -- message that an own bucket holds beyond a step: the slow ones come late too
local RESERVE = 0.1     -- of the bucket and of the rate: the urgent lane
local RECOVERY = 60     -- seconds from the floor to the full rate where no ramp is configured
local MEMORY = 5        -- seconds over which rates and verdicts are averaged
local RECENT = 1        -- seconds over which it is judged whether FCM is there
local FIRST_GAP = 10    -- seconds to the first try: Google wants a failed request no sooner again
local LONGEST_GAP = 60  -- they double until then
local NO_ANSWER = 20    -- seconds after which the process that tries must have died: a request ends after 15
local UNTRIED = 1       -- seconds to the next try when one cost no request: its person had left
local RELAPSE = 60      -- seconds: if FCM fails again within them, it is tried as rarely as before
local CUT = 0.7         -- what is left of the rate after a cut
local CUT_PAUSE = 5     -- seconds between cuts: what is in flight still tells of the old rate
local PATIENCE = 0.1    -- share of refused and failed answers that we bear
local FEW = 3           -- refused or failed answers that prove nothing
local LONGEST_DEBT = 2  -- seconds of the rate for which others' spending can keep us shut
local GRACE = 0.25      -- seconds that a waiting reference may be late to come back
local LONGEST_WAIT = 1  -- after which everyone who waits asks again
local AT_WORK = 5       -- seconds since its last question that a reference counts as sending
local FORGET = 60       -- seconds after which it is forgotten
local JITTER = 0.1      -- of a closure: a fleet must not come back on the dot
local LIFE = 3600       -- seconds that the state is kept after the last question, and after a closure
local NEVER = math.huge

local ask = cjson.decode(ARGV[1])
local full, floor = ask.full, ask.floor  -- the rates of a warm gate and of a cold one

local function clock()
  if ask.now then return ask.now end  -- tests alone hand time in
  local time = redis.call('TIME')
  return time[1] + time[2] / 1000000
end

local now = clock()

-- The clock went back: a moment still to come stays as far away as it was; the bucket fills anew.
local function set_back(gate)
  local by = gate.at - now
  for _, moment in ipairs({ 'at', 'closed_until', 'deaf_until', 'back_at' }) do
    gate[moment] = gate[moment] - by
  end
  if gate.tries_at > 0 then gate.tries_at = gate.tries_at - by end
  gate.level, gate.saved, gate.spare, gate.refs = 0, 0, 0, {}
  return gate
end

local function new_gate()
  return {
    at = now, level = 0, saved = 0, used = 0, spare = 0, closed_until = 0, virtual = 0, refs = {},
    ceiling = ask.ramp > 0 and floor or full, why = ask.ramp > 0 and 'ramp' or 'quota',
    good = 0, bad = 0, deaf_until = 0,
    fine = 0, failing = 0, in_a_row = 0, tries_at = 0, trying = false, gap = 0, back_at = 0,
  }
end

local function new_reference(virtual)
  return { at = now, served = virtual, used = 0, waits_until = 0, held = now, level = 0 }
end

local function has_the_fields_of(model, kept)
  if type(kept) ~= 'table' then return false end
  for name, value in pairs(model) do
    if type(kept[name]) ~= type(value) then return false end
  end
  return true
end

local function is_a_gate(kept)
  if not has_the_fields_of(new_gate(), kept) then return false end
  for _, ref in pairs(kept.refs) do
    if not has_the_fields_of(new_reference(0), ref) then return false end
  end
  return true
end

-- Never seen, flushed, or written by somebody else: a cold start.
local function remembered()
  local kept = redis.pcall('GET', KEYS[1])
  local readable, gate = pcall(cmsgpack.unpack, kept)
  if not readable or not is_a_gate(gate) then return new_gate() end
  if gate.at - now > 1 then return set_back(gate) end
  return gate
end

local function remembered_load()
  if not ask.safe then return nil end
  local kept = redis.pcall('GET', KEYS[2])
  local readable, load = pcall(cmsgpack.unpack, kept)
  local empty = { at = now, level = 0, queue = {} }
  if not readable or not has_the_fields_of(empty, load) then load = empty end
  local level = load.level + math.max(0, now - load.at) * ask.safe
  load.at, load.level = now, math.min(STEP * ask.safe + ALMOST_ONE, level)
  for name, turn in pairs(load.queue) do
    if turn.ends < now or turn.since > now then load.queue[name] = nil end
  end
  return load
end

local gate = remembered()
gate.ceiling = math.min(gate.ceiling, full)  -- the quota may have been lowered since
gate.level = math.min(gate.level, math.max(2, BURST * gate.ceiling))
now = math.max(now, gate.at)
local load = remembered_load()
-- The slowest of the rates that are meant of every second.
local slow = math.min(ask.own or NEVER, ask.safe or NEVER)

-- At least two: a tenth is reserved, and the rest must still hold one message.
local function burst() return math.max(2, BURST * gate.ceiling) end
local function slope() return full / (ask.ramp > 0 and ask.ramp or RECOVERY) end
-- Seconds over which the gate's own use is averaged. It must keep up with a short ramp.
local lag = ask.ramp > 0 and math.min(MEMORY, ask.ramp / 12) or MEMORY
local function fails() return gate.tries_at > 0 end
local function at_work(ref) return ref and now - ref.at < AT_WORK end

-- A ceiling that nobody uses sinks as it rose: a trickle does not keep the gate warm for a flood.
local function move_ceiling(passed)
  local top = full
  if ask.ramp > 0 then top = math.min(full, floor + 2 * gate.used) end
  if gate.why == 'ramp' and ask.ramp == 0 then
    gate.ceiling = full
  elseif gate.ceiling > top then
    gate.ceiling, gate.why = math.max(top, gate.ceiling - passed * slope()), 'ramp'
  else
    gate.ceiling = math.min(top, gate.ceiling + passed * slope())
  end
  if gate.ceiling >= full then
    gate.why = 'quota'
  elseif gate.why == 'quota' then
    gate.why = 'ramp'
  end
end

local function pass_time()
  local rate = math.min(full, gate.ceiling)
  local open = fails() and 0 or math.max(0, now - math.max(gate.at, gate.closed_until))
  local recent = math.exp(-(now - gate.at) / RECENT)
  gate.fine, gate.failing = gate.fine * recent, gate.failing * recent
  local faded = math.exp(-(now - gate.at) / MEMORY)
  gate.good, gate.bad = gate.good * faded, gate.bad * faded
  gate.used = gate.used * math.exp(-(now - gate.at) / lag)
  move_ceiling(open)
  local level = gate.level + open * rate
  gate.level = math.min(burst(), level)
  gate.spare = gate.spare * faded + level - gate.level
  gate.saved = math.min(RESERVE * burst(), gate.saved + RESERVE * open * rate)
  gate.at = now
  for name, ref in pairs(gate.refs) do
    if now - ref.at > FORGET then gate.refs[name] = nil end
  end
end

local function close(seconds)
  gate.closed_until = math.max(gate.closed_until, now + seconds * (1 + JITTER * ask.random))
  gate.ceiling, gate.why = floor, 'reopening'
  gate.good, gate.bad = 0, 0
  gate.deaf_until = gate.closed_until  -- what is still in flight tells what we know already
end

local function slow_down()
  gate.ceiling = math.max(floor, CUT * math.min(gate.ceiling, gate.used))
  gate.level = math.min(gate.level, burst())
  gate.why = 'slowed'
  gate.good, gate.bad = 0, 0
  gate.deaf_until = now + CUT_PAUSE
end

local function try_later()
  gate.tries_at, gate.trying = now + math.max(ask.failing_for, gate.gap * (1 + JITTER * ask.random)), false
end

local function give_up()
  local again = now - gate.back_at < RELAPSE
  gate.gap = again and math.min(LONGEST_GAP, 2 * gate.gap) or FIRST_GAP
  try_later()
end

local function open_again()
  gate.tries_at, gate.trying, gate.back_at = 0, false, now
  gate.fine, gate.failing, gate.in_a_row = 0, 0, 0
  gate.ceiling, gate.why = floor, 'reopening'
  gate.level = math.min(gate.level, burst())
end

local function hear_of_try()
  if ask.failing > 0 then
    gate.gap = math.min(LONGEST_GAP, 2 * gate.gap)
    try_later()
  elseif ask.answered + ask.pushed_back > 0 then
    open_again()
  else
    gate.tries_at, gate.trying = now + UNTRIED, false
  end
end

-- Most answers of late: and of a slow run, which has few, three in a row.
local function notice_outage()
  local answers = ask.answered + ask.pushed_back
  gate.fine, gate.failing = gate.fine + answers, gate.failing + ask.failing
  gate.in_a_row = answers > 0 and 0 or gate.in_a_row + ask.failing
  if fails() then
    if ask.failing_for > 0 then gate.tries_at = math.max(gate.tries_at, now + ask.failing_for) end
  elseif math.max(gate.failing, gate.in_a_row) >= FEW and gate.failing > gate.fine then
    give_up()
  end
end

-- Spent by a process that could not reach us. What the bucket could not hold meanwhile pays first.
local function settle_debt(spent)
  local paid = math.min(spent, gate.spare)
  gate.spare = gate.spare - paid
  gate.level = math.max(-LONGEST_DEBT * full, gate.level - (spent - paid))
end

local function hear()
  if ask.tried and fails() then hear_of_try() else notice_outage() end
  if ask.closes_for > 0 then return close(ask.closes_for) end
  if fails() or now < gate.deaf_until then return end
  gate.good, gate.bad = gate.good + ask.answered, gate.bad + ask.pushed_back + ask.failing
  if gate.bad >= FEW and gate.bad > PATIENCE * (gate.good + gate.bad) then slow_down() end
end

local function reference()
  local ref = gate.refs[ask.reference] or new_reference(gate.virtual)
  local passed = now - ref.at
  ref.used = ref.used * math.exp(-passed / MEMORY)
  if ask.own then
    ref.level = math.min(STEP * ask.own + ALMOST_ONE, ref.level + passed * ask.own)
  end
  ref.at = now
  gate.refs[ask.reference] = ref
  return ref
end

-- Who waits, and how much the least served of them has had. Whoever rests earns no credit by it.
local function waiting()
  local count, least = 0, NEVER
  for name, ref in pairs(gate.refs) do
    if name ~= ask.reference and ref.waits_until > now then
      count, least = count + 1, math.min(least, math.max(ref.served, gate.virtual))
    end
  end
  return count, least
end

-- Of those who wait for the load's bucket, which holds a step, whoever was served longest ago is first.
local function bearable()
  if not load then return NEVER end
  local mine = load.queue[ask.reference]
  for name, turn in pairs(load.queue) do
    if name ~= ask.reference and turn.since < (mine and mine.since or now) then return 0 end
  end
  return load.level
end

local function queue_up(granted, wait)
  local mine = load.queue[ask.reference]
  local since = (granted > 0 or not mine) and now or mine.since
  load.queue[ask.reference] = { since = since, ends = now + wait + GRACE }
end

-- How many may leave, else how long to wait.
local function grant(me)
  local others, least = waiting()
  me.served = math.max(me.served, gate.virtual)
  gate.virtual = math.min(me.served, least)
  local step = math.max(1, STEP * gate.ceiling / (others + 1))
  local bears = bearable()
  local own = math.min(ask.own and me.level or NEVER, bears)
  local worthwhile = math.floor(math.min(ask.wanted, step, math.max(1, math.floor(OWN_STEP * slow))))

  local free = gate.level - gate.saved
  local aside = free - others * step  -- what is left when everyone who waits has a step
  local fair = math.max(aside, least + step - me.served)
  local may = math.max(0, math.min(free, fair))
  if ask.urgent then may = may + math.max(0, math.min(gate.saved, gate.level)) end
  local granted = math.floor(math.min(ask.wanted, may, own))
  local wait = 0
  if granted < worthwhile then
    granted = 0
    wait = math.max(0.005, (worthwhile - free) / gate.ceiling)
    if ask.own then wait = math.max(wait, (worthwhile - me.level) / ask.own) end
    if load then wait = math.max(wait, (worthwhile - bears) / ask.safe) end
    if fair < worthwhile then wait = math.max(wait, (worthwhile - aside) / gate.ceiling) end
  end
  wait = math.min(LONGEST_WAIT, wait)
  if load and ask.wanted > 0 and (granted > 0 or bears < worthwhile) then queue_up(granted, wait) end
  -- A full grant does not end the waiting at once: served this time, it is behind all the same.
  if granted < math.floor(math.min(ask.wanted, own)) then me.waits_until = now + wait + GRACE end
  if granted < ask.wanted then me.held = now end
  return granted, wait
end

-- One for all processes. It costs no quota: while it is all that leaves, the bucket does not fill.
local function try()
  if gate.trying and now < gate.tries_at then return 0, math.min(LONGEST_WAIT, gate.tries_at - now) end
  if now < gate.tries_at then return 0, gate.tries_at - now end
  if ask.wanted < 1 or not ask.idle then return 0, 0 end
  gate.trying, gate.tries_at = true, now + NO_ANSWER
  return 1, 0
end

local function spend(me, granted)
  gate.level = gate.level - granted
  if ask.urgent then gate.saved = math.max(0, gate.saved - granted) end
  gate.used = gate.used + granted / lag
  me.served = me.served + granted
  if ask.own then me.level = me.level - granted end
  if load then load.level = load.level - granted end
  me.used = me.used + granted / MEMORY
end

-- What others at work leave of the rate: an equal part, and whatever they do not use of theirs.
local function share()
  local count, theirs = 1, 0
  for name, ref in pairs(gate.refs) do
    if name ~= ask.reference and at_work(ref) then
      count, theirs = count + 1, theirs + ref.used * math.exp(-(now - ref.at) / MEMORY)
    end
  end
  return math.max(gate.ceiling / count, gate.ceiling - theirs)
end

-- The rate that this reference may have now, the limit that makes it so, and when that one ends.
local function explain()
  if now < gate.closed_until then return 0, 'retry_after', gate.closed_until end
  if fails() then return 0, 'failing', math.max(now, gate.tries_at) end
  local me = gate.refs[ask.reference]
  local rate, limit, until_ = gate.ceiling, gate.why, nil
  if gate.ceiling < full then until_ = now + (full - gate.ceiling) / slope() end
  if share() < 0.95 * gate.ceiling then rate, limit, until_ = share(), 'shared', nil end
  if ask.own and ask.own <= rate then rate, limit, until_ = ask.own, 'rate', nil end
  if ask.safe and ask.safe < rate then rate, limit, until_ = ask.safe, 'load', nil end
  if not at_work(me) then return rate, 'rest', nil end
  if now - me.held > 2 * LONGEST_WAIT then limit, until_ = 'workers', nil end
  return rate, limit, until_
end

local function answer(granted, wait)
  local rate, limit, until_ = explain()
  return { granted, tostring(wait), limit, tostring(rate), until_ and tostring(until_) or '' }
end

local function life()
  return math.ceil(LIFE + math.max(0, gate.closed_until - now, gate.tries_at - now))
end

pass_time()
if not ask.wanted then return answer(0, 0) end  -- a page only looks; nothing is kept

settle_debt(ask.spent)
hear()
local me = reference()
local granted, wait = 0, gate.closed_until - now
if now >= gate.closed_until and fails() then
  granted, wait = try()
elseif now >= gate.closed_until then
  granted, wait = grant(me)
  spend(me, granted)
end
redis.call('SET', KEYS[1], cmsgpack.pack(gate), 'EX', life())
if load then redis.call('SET', KEYS[2], cmsgpack.pack(load), 'EX', LIFE) end
return answer(granted, wait)
