-- clock: the time of the server that keeps a tenant, with where its cursor stands.
-- KEYS 1 cursor
-- ARGV none
-- Returns {ok, ms, applied, target, step} | {type, key, type, wanted type}

local refusal = wrong(1, {'hash'})
if refusal then return refusal end
local stand = call('HMGET', KEYS[1], 'applied', 'target', 'step')
return {'ok', dec(clock()), stand[1] or '', stand[2] or '', stand[3] or '0'}
