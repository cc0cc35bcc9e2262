-- submit: a person's new job.
-- KEYS 1 jobs 2 versions 3 status 4 origins 5 applied 6 audit 7 tombstones 8 overrides 9 rev
-- ARGV 1 tenant 2 channel 3 audit cap 4 actor 5 job 6 last version read 7 number 8 record
--      9 operation 10 origin 11 digest 12 suspend (1 or empty) 13 detail 14 oldest origin to drop
-- Returns {ok}: done now, or by this operation before
--         {exists, version}: audited   {moved, have}: read again, nothing is audited
--         {type, key, type, wanted type}

local refusal = wrong(1, {'hash', 'hash', 'hash', 'hash', 'hash', 'stream', 'hash', 'hash', 'string'})
if refusal then return refusal end
local now = clock()
local job = ARGV[5]
local have = call('HGET', KEYS[2], job) or '0'
if said(call('HGET', KEYS[4], ARGV[7]), ARGV[9]) then return {'ok'} end
if call('HEXISTS', KEYS[1], job) == 1 then
  row(KEYS[6], ARGV[3], now, ARGV[1], {actor = ARGV[4], op = 'SUBMIT', job = job, from = have, allowed = 'true',
    detail = 'exists already', kind = 'person', result = 'conflict'})
  return {'exists', have}
end
if have ~= ARGV[6] then return {'moved', have} end

changed(KEYS[9], ARGV[2], ARGV[1])
call('HSET', KEYS[1], job, ARGV[8])
call('HSET', KEYS[2], job, ARGV[7])
reset(KEYS[3], now)
if ARGV[12] == '1' then halt(KEYS[3], now) end
call('HDEL', KEYS[7], job)
call('HDEL', KEYS[8], job)
call('HSET', KEYS[4], 'owner', 'api', 'path', '', 'suspend', ARGV[12])
call('HDEL', KEYS[4], 'adopted')
remember(KEYS[4], KEYS[5], ARGV[7], ARGV[7], ARGV[10], ARGV[11], now, ARGV[14])
row(KEYS[6], ARGV[3], now, ARGV[1], {actor = ARGV[4], op = 'SUBMIT', job = job, to = ARGV[7], allowed = 'true',
  detail = ARGV[13], kind = 'person', result = 'applied'})
return {'ok'}
