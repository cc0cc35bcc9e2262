-- lease_renew: a lease of ours that has not run out lasts longer.
-- KEYS 1 lease
-- ARGV 1 owner 2 generation 3 ttl in ms
-- Returns {ok, generation, until} | {lost, owner, generation} | {type, key, type, wanted type}

local refusal = wrong(1, {'hash'})
if refusal then return refusal end
local now = clock()
local lease = call('HMGET', KEYS[1], 'owner', 'generation', 'until')
if lease[1] ~= ARGV[1] or lease[2] ~= ARGV[2] or tonumber(lease[3] or '0') <= now then
  return {'lost', lease[1] or '', lease[2] or '0'}
end
local ends = dec(now + tonumber(ARGV[3]))
call('HSET', KEYS[1], 'until', ends)
return {'ok', lease[2], ends}
