-- job_claim: the right to run one job.
-- KEYS 1 jobs 2 versions 3 status 4 joblease 5 claim (the Java agents' key, kept around a launch)
-- ARGV 1 job 2 version 3 owner 4 ttl in ms 5 ms after which a lapsed lease may be taken over, 0 = never
-- Returns {ok, generation, until}
--         {absent} {moved, version} {stopped} {taken, owner, why}
--         {type, key, type, wanted type}

local refusal = wrong(1, {'hash', 'hash', 'hash', 'hash', 'string'})
if refusal then return refusal end
local now = clock()
local job, owner = ARGV[1], ARGV[3]
local record = call('HGET', KEYS[1], job)
if not record then return {'absent'} end
-- the record says which version it is: while a range is written, the number may be ahead of it
local version = string.match(record, '"version":(%d+)') or call('HGET', KEYS[2], job) or '0'
if version ~= ARGV[2] then return {'moved', version} end

local launching = call('GET', KEYS[5])
if launching and launching ~= owner then return {'taken', launching, 'launches it'} end

-- the status is read after the claim key, as every agent does
local status = call('HMGET', KEYS[3], 'state', 'instanceId')
local state, instance = status[1] or '', status[2] or ''
if state == 'DESIRED_STOPPED' then return {'stopped'} end

local lease = call('HMGET', KEYS[4], 'owner', 'until')
local holder, ends = lease[1] or '', tonumber(lease[2] or '0')
if state == 'RUNNING' and instance ~= '' and instance ~= owner and instance ~= holder then
  return {'taken', instance, 'runs it'}
end
if holder == '' then
  if instance ~= '' and instance ~= owner then return {'taken', instance, 'owns it'} end
  if state == 'RUNNING' and instance == '' then return {'taken', '', 'runs, and nobody says where'} end
elseif holder ~= owner then
  if ends > now then return {'taken', holder, 'holds it'} end
  local after = tonumber(ARGV[5])
  if after <= 0 or now < ends + after then return {'taken', holder, 'let it lapse'} end
end

local generation = call('HINCRBY', KEYS[4], 'generation', 1)
local to = dec(now + tonumber(ARGV[4]))
call('HSET', KEYS[4], 'owner', owner, 'until', to)
call('SET', KEYS[5], owner, 'PX', ARGV[4])
return {'ok', dec(generation), to}
