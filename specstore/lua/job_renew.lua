-- job_renew: claims of one agent last longer. A lapsed claim that nobody took over is still its
-- owner's; one whose record is gone altogether (the store was emptied) is put back, so that a
-- rebuild disturbs nothing that runs.
-- KEYS two for each claim: joblease, claim
-- ARGV three for each claim: owner generation ttl in ms
-- Returns {ok, then 1 for each claim that lasts and 0 for each that is lost} | {type, key, type, wanted type}

for k = 1, #KEYS, 2 do
  local refusal = wrong(k, {'hash', 'string'})
  if refusal then return refusal end
end
local now = clock()
local reply = {'ok'}
small(KEYS[1])
for k = 1, #KEYS, 2 do
  local a = (k - 1) / 2 * 3 + 1
  local owner, generation, ttl = ARGV[a], ARGV[a + 1], ARGV[a + 2]
  local lease = call('HMGET', KEYS[k], 'owner', 'generation')
  if not lease[2] or (lease[1] == owner and lease[2] == generation) then
    call('HSET', KEYS[k], 'owner', owner, 'generation', generation, 'until', dec(now + tonumber(ttl)))
    if call('GET', KEYS[k + 1]) == owner then call('PEXPIRE', KEYS[k + 1], ttl) end
    reply[#reply + 1] = '1'
  else
    reply[#reply + 1] = '0'
  end
end
return reply
