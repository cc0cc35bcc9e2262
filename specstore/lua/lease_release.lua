-- lease_release: hands a lease of ours back; its generation stays.
-- KEYS 1 lease
-- ARGV 1 owner 2 generation
-- Returns {ok}: free now, or already | {lost, owner, generation} | {type, key, type, wanted type}

local refusal = wrong(1, {'hash'})
if refusal then return refusal end
local lease = call('HMGET', KEYS[1], 'owner', 'generation')
if lease[2] ~= ARGV[2] or (lease[1] ~= ARGV[1] and lease[1] ~= '') then
  return {'lost', lease[1] or '', lease[2] or '0'}
end
call('HSET', KEYS[1], 'owner', '', 'until', '0')
return {'ok'}
