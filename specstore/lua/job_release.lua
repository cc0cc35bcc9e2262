-- job_release: an agent hands a claim back; the generation stays. A status that still names it as the
-- owner of a running job waits for another agent from now on.
-- KEYS 1 joblease 2 status 3 audit 4 claim 5 rev
-- ARGV 1 tenant 2 channel 3 audit cap 4 job 5 owner 6 generation
-- Returns {ok}: free now, or already | {lost, owner, generation} | {type, key, type, wanted type}

local refusal = wrong(1, {'hash', 'hash', 'stream', 'string', 'string'})
if refusal then return refusal end
local now = clock()
local lease = call('HMGET', KEYS[1], 'owner', 'generation')
if lease[2] ~= ARGV[6] or (lease[1] ~= ARGV[5] and lease[1] ~= '') then
  return {'lost', lease[1] or '', lease[2] or '0'}
end
small(KEYS[1])
call('HSET', KEYS[1], 'owner', '', 'until', '0')
if call('GET', KEYS[4]) == ARGV[5] then call('DEL', KEYS[4]) end

local status = call('HMGET', KEYS[2], 'state', 'instanceId')
if status[2] == ARGV[5] then
  local state = status[1] == 'RUNNING' and 'PENDING_DEPLOY' or status[1]
  call('HSET', KEYS[2], 'state', state, 'instanceId', '', 'updatedAt', dec(now), 'runningVersion', '0', 'since', '')
  row(KEYS[3], ARGV[3], now, ARGV[1], {actor = ARGV[5], op = 'REPORT_STATUS', job = ARGV[4], allowed = 'true',
    detail = state .. ': handed back', kind = 'agent', result = 'applied'})
  changed(KEYS[5], ARGV[2], ARGV[1])
end
return {'ok'}
