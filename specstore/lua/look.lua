-- look: a person asks the syncer that holds the tenant to look at its repository now.
-- KEYS 1 admin (stream)
-- ARGV 1 tenant 2 look channel 3 cap of the stream 4 actor
-- Returns {ok} | {type, key, type, wanted type}

local refusal = wrong(1, {'stream'})
if refusal then return refusal end
act(KEYS[1], ARGV[3], clock(), ARGV[4], 'sync', '', '')
call('PUBLISH', ARGV[2], ARGV[1])
return {'ok'}
