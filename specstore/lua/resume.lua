-- resume: a person makes running the desired state again. A job that is not stopped is left
-- alone, for a reset would start it a second time; a stop that stands over suspend: true is lifted
-- first, and only a second resume runs the job over what Git says.
-- KEYS 1 jobs 2 versions 3 status 4 overrides 5 origins 6 audit 7 rev
-- ARGV 1 tenant 2 channel 3 audit cap 4 actor 5 job 6 7 the override's JSON before and after the time
-- Returns {ok} | {absent}: audited | {type, key, type, wanted type}

local refusal = wrong(1, {'hash', 'hash', 'hash', 'hash', 'hash', 'stream', 'string'})
if refusal then return refusal end
local now = clock()
local version = call('HGET', KEYS[2], ARGV[5])
local function attempt(result, detail)
  row(KEYS[6], ARGV[3], now, ARGV[1], {actor = ARGV[4], op = 'RESUME', job = ARGV[5], from = version, to = version,
    allowed = 'true', detail = detail, kind = 'person', result = result})
end
if call('HEXISTS', KEYS[1], ARGV[5]) == 0 then
  attempt('refused', 'no such job')
  return {'absent'}
end
if call('HGET', KEYS[3], 'state') ~= 'DESIRED_STOPPED' then
  attempt('applied', 'was not stopped')
  return {'ok'}
end

changed(KEYS[7], ARGV[2], ARGV[1])
local suspended = call('HGET', KEYS[5], 'suspend') == '1'
local override = call('HGET', KEYS[4], ARGV[5])
if suspended and override and string.find(override, '"desired":"stopped"', 1, true) then
  call('HDEL', KEYS[4], ARGV[5])
  attempt('applied', 'override lifted: stays stopped by suspend: true')
  return {'ok'}
end

reset(KEYS[3], now)
if suspended then
  call('HSET', KEYS[4], ARGV[5], ARGV[6] .. dec(now) .. ARGV[7])
  attempt('applied', 'runs over suspend: true')
else
  call('HDEL', KEYS[4], ARGV[5])
  attempt('applied', 'resumed')
end
return {'ok'}
