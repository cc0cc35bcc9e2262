-- lease_acquire: the right to write a tenant's ledger.
-- KEYS 1 lease
-- ARGV 1 owner 2 ttl in ms
-- Returns {ok, generation, until}: ours; the generation grows unless we held it all along
--         {taken, owner, until}: another holds it
--         {type, key, type, wanted type}

local refusal = wrong(1, {'hash'})
if refusal then return refusal end
local now = clock()
local lease = call('HMGET', KEYS[1], 'owner', 'generation', 'until')
local live = lease[1] and lease[1] ~= '' and tonumber(lease[3] or '0') > now
if live and lease[1] ~= ARGV[1] then return {'taken', lease[1], lease[3]} end
if not live then call('HINCRBY', KEYS[1], 'generation', 1) end
local ends = dec(now + tonumber(ARGV[2]))
call('HSET', KEYS[1], 'owner', ARGV[1], 'until', ends)
return {'ok', call('HGET', KEYS[1], 'generation'), ends}
