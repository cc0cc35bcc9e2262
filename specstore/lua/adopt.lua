-- adopt: a job that was made by hand or by the Java plane belongs to Git from now on.
-- KEYS 1 jobs 2 versions 3 origins 4 audit 5 rev
-- ARGV 1 tenant 2 channel 3 audit cap 4 actor 5 job
-- Returns {ok}: its owner is Git now, or was | {absent}: audited | {type, key, type, wanted type}

local refusal = wrong(1, {'hash', 'hash', 'hash', 'stream', 'string'})
if refusal then return refusal end
local now = clock()
local version = call('HGET', KEYS[2], ARGV[5])
local function attempt(result, detail)
  row(KEYS[4], ARGV[3], now, ARGV[1], {actor = ARGV[4], op = 'SUBMIT', job = ARGV[5], to = version,
    allowed = 'true', detail = detail, kind = 'person', result = result})
end
if call('HEXISTS', KEYS[1], ARGV[5]) == 0 then
  attempt('refused', 'no such job')
  return {'absent'}
end
if call('HGET', KEYS[3], 'owner') == 'git' then
  attempt('applied', 'belongs to Git already')
  return {'ok'}
end

changed(KEYS[5], ARGV[2], ARGV[1])
call('HSET', KEYS[3], 'owner', 'git', 'adopted', version or '0')
attempt('applied', 'adopted for Git')
return {'ok'}
