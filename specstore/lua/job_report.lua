-- job_report: an agent's word on a job, if its claim is exactly the one that stands. What is desired
-- is not the agent's to change: a stop that came meanwhile stays, and so does a start.
-- KEYS 1 joblease 2 status 3 jobs 4 audit 5 claim 6 rev
-- ARGV 1 tenant 2 channel 3 audit cap 4 job 5 owner 6 generation 7 state 8 detail
--      9 running version 10 running hash 11 attempt
-- Returns {ok} | {lost, owner, generation} | {type, key, type, wanted type}

local refusal = wrong(1, {'hash', 'hash', 'hash', 'stream', 'string', 'string'})
if refusal then return refusal end
local now = clock()
local lease = call('HMGET', KEYS[1], 'owner', 'generation')
if lease[1] ~= ARGV[5] or lease[2] ~= ARGV[6] then return {'lost', lease[1] or '', lease[2] or '0'} end

local was = call('HMGET', KEYS[2], 'state', 'detail', 'runningVersion', 'since')
local state, version = ARGV[7], ARGV[9]
if was[1] == 'DESIRED_STOPPED' or call('HEXISTS', KEYS[3], ARGV[4]) == 0 then
  state = 'DESIRED_STOPPED'
elseif state == 'DESIRED_STOPPED' then
  state = 'PENDING_DEPLOY'
end
local instance = ARGV[5]
if version == '0' and (ARGV[7] == 'DESIRED_STOPPED' or ARGV[7] == 'PENDING_DEPLOY') then instance = '' end
local since = ''
if version ~= '0' then
  since = dec(now)
  if was[3] == version and was[4] and was[4] ~= '' then since = was[4] end
end
small(KEYS[1])
call('HSET', KEYS[2], 'state', state, 'instanceId', instance, 'detail', ARGV[8], 'updatedAt', dec(now),
  'runningVersion', version, 'runningHash', ARGV[10], 'generation', ARGV[6], 'since', since, 'attempt', ARGV[11])
-- launched: the Java agents' key has done its work
if ARGV[7] ~= 'PENDING_DEPLOY' and call('GET', KEYS[5]) == ARGV[5] then call('DEL', KEYS[5]) end

if was[1] ~= state or (was[2] or '') ~= ARGV[8] or (was[3] or '0') ~= version then
  row(KEYS[4], ARGV[3], now, ARGV[1], {actor = ARGV[5], op = 'REPORT_STATUS', job = ARGV[4], to = version, allowed = 'true',
    detail = ARGV[8] == '' and state or state .. ': ' .. ARGV[8], kind = 'agent', result = 'applied'})
  changed(KEYS[6], ARGV[2], ARGV[1])
end
return {'ok'}
