-- upgrade: replaces a job if it is still at the version that was read; a person's
-- upgrade or rollback.
-- KEYS 1 jobs 2 versions 3 status 4 history 5 origins 6 applied 7 audit 8 rev
-- ARGV 1 tenant 2 channel 3 audit cap 4 actor 5 job 6 version read 7 number 8 record
--      9 operation 10 origin 11 digest 12 suspend (1 or empty) 13 detail 14 oldest origin to drop
--      15 history cap 16 op 17 desired (running, stopped or empty)
-- Returns {ok}: done now, or by this operation before
--         {absent} {foreign} {conflict, have}: audited
--         {type, key, type, wanted type}

local refusal = wrong(1, {'hash', 'hash', 'hash', 'list', 'hash', 'hash', 'stream', 'string'})
if refusal then return refusal end
local now = clock()
local job = ARGV[5]
local function attempt(result, allowed, detail)
  row(KEYS[7], ARGV[3], now, ARGV[1], {actor = ARGV[4], op = ARGV[16], job = job, from = ARGV[6], to = ARGV[7],
    allowed = allowed, detail = detail, kind = 'person', result = result})
end

if said(call('HGET', KEYS[5], ARGV[7]), ARGV[9]) then return {'ok'} end
local old = call('HGET', KEYS[1], job)
if not old then
  attempt('refused', 'true', 'no such job')
  return {'absent'}
end
if call('HGET', KEYS[5], 'owner') == 'git' then
  attempt('refused', 'false', 'belongs to Git')
  return {'foreign'}
end
local have = call('HGET', KEYS[2], job) or '0'
if have ~= ARGV[6] then
  attempt('conflict', 'true', 'at version ' .. have .. ', not ' .. ARGV[6])
  return {'conflict', have}
end

changed(KEYS[8], ARGV[2], ARGV[1])
call('RPUSH', KEYS[4], old)
call('LTRIM', KEYS[4], '-' .. ARGV[15], '-1')
call('HSET', KEYS[1], job, ARGV[8])
call('HSET', KEYS[2], job, ARGV[7])
if ARGV[17] == 'running' then reset(KEYS[3], now) elseif ARGV[17] == 'stopped' then halt(KEYS[3], now) end
call('HSET', KEYS[5], 'path', '', 'suspend', ARGV[12])
call('HSETNX', KEYS[5], 'owner', 'api')
remember(KEYS[5], KEYS[6], ARGV[7], ARGV[7], ARGV[10], ARGV[11], now, ARGV[14])
attempt('applied', 'true', ARGV[13])
return {'ok'}
