-- stop: a person makes stopped the desired state, over what Git says, until it is resumed.
-- KEYS 1 jobs 2 versions 3 status 4 overrides 5 audit 6 rev
-- ARGV 1 tenant 2 channel 3 audit cap 4 actor 5 job 6 7 the override's JSON before and after the time
-- Returns {ok} | {absent}: audited | {type, key, type, wanted type}

local refusal = wrong(1, {'hash', 'hash', 'hash', 'hash', 'stream', 'string'})
if refusal then return refusal end
local now = clock()
local version = call('HGET', KEYS[2], ARGV[5])
local function attempt(result, detail)
  row(KEYS[5], ARGV[3], now, ARGV[1], {actor = ARGV[4], op = 'STOP', job = ARGV[5], from = version, to = version,
    allowed = 'true', detail = detail, kind = 'person', result = result})
end
if call('HEXISTS', KEYS[1], ARGV[5]) == 0 then
  attempt('refused', 'no such job')
  return {'absent'}
end

changed(KEYS[6], ARGV[2], ARGV[1])
halt(KEYS[3], now)
call('HSET', KEYS[4], ARGV[5], ARGV[6] .. dec(now) .. ARGV[7])
attempt('applied', 'stopped until resumed')
return {'ok'}
