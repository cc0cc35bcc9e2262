-- restart: a person asks for a relaunch of the same version, secrets resolved anew.
-- KEYS 1 jobs 2 versions 3 restarts 4 audit 5 rev
-- ARGV 1 tenant 2 channel 3 audit cap 4 actor 5 job
-- Returns {ok} | {absent}: audited | {type, key, type, wanted type}

local refusal = wrong(1, {'hash', 'hash', 'hash', 'stream', 'string'})
if refusal then return refusal end
local now = clock()
local version = call('HGET', KEYS[2], ARGV[5])
local function attempt(result, detail)
  row(KEYS[4], ARGV[3], now, ARGV[1], {actor = ARGV[4], op = 'RESUME', job = ARGV[5], from = version, to = version,
    allowed = 'true', detail = detail, kind = 'person', result = result})
end
if call('HEXISTS', KEYS[1], ARGV[5]) == 0 then
  attempt('refused', 'no such job')
  return {'absent'}
end

changed(KEYS[5], ARGV[2], ARGV[1])
local n = call('HINCRBY', KEYS[3], ARGV[5], 1)
attempt('applied', 'restart ' .. dec(n) .. ': secrets are resolved anew')
return {'ok'}
