/**
 * A counter is a hash with the number of used reservations and the end of the window by Redis's own clock, so that instances with
 * different clocks still share one window. The end is also the id of the window. The arguments are the offset that moves the clock, in
 * tests, and the limit of each key: its maximum and its window. In a Cluster each call has one key.
 */
export const reserveScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
local answers = {}
for place, key in ipairs(KEYS) do
  local maximum, window = tonumber(ARGV[2 * place]), tonumber(ARGV[2 * place + 1])
  local counter = redis.call('HMGET', key, 'used', 'ends')
  local used, ends = tonumber(counter[1]) or 0, tonumber(counter[2]) or 0
  if ends <= now then
    used, ends = 0, now + window
  end
  -- A clock that was set back, or is another one after a failover, must not make a window longer than it is meant to be.
  ends = math.min(ends, now + window)
  if used >= maximum then
    answers[place] = {0, 0, ends - now, ends}
    break
  end
  -- The expiry is set with every write, so that no key can ever be left without one.
  redis.call('HSET', key, 'used', used + 1, 'ends', ends)
  redis.call('PEXPIRE', key, ends - now)
  answers[place] = {1, maximum - used - 1, ends - now, ends}
end
return answers
`

/** The arguments are the windows of the keys. */
export const refundScript = `
for place, key in ipairs(KEYS) do
  local counter = redis.call('HMGET', key, 'used', 'ends')
  if counter[2] == ARGV[place] and tonumber(counter[1]) > 0 then
    redis.call('HINCRBY', key, 'used', -1)
  end
end
return 0
`

/**
 * After an outage, adds what a process has counted by itself. If the store has lost the window that the process knows, the window is
 * restored from what the process knows. Several processes may do this one after another.
 */
export const carryScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[6]
local maximum, known, counted, left = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local counter = redis.call('HMGET', KEYS[1], 'used', 'ends')
local used, ends = tonumber(counter[1]) or 0, tonumber(counter[2]) or 0
if ends <= now then
  used, ends = 0, now + left
end
used = used + counted
if counter[2] ~= ARGV[5] then
  used = math.max(used, known)
end
redis.call('HSET', KEYS[1], 'used', math.min(used, maximum), 'ends', ends)
redis.call('PEXPIRE', KEYS[1], ends - now)
return 0
`
