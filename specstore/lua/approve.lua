-- approve: a person lets a held commit through.
-- KEYS 1 approvals (hash: commit -> JSON) 2 admin (stream)
-- ARGV 1 tenant 2 look channel 3 cap of the stream 4 actor 5 commit 6 7 the approval's JSON before and after the time
-- Returns {ok} done now | {already} approved before; both are in the stream | {type, key, type, wanted type}

local refusal = wrong(1, {'hash', 'stream'})
if refusal then return refusal end
local now = clock()
local new = call('HSETNX', KEYS[1], ARGV[5], ARGV[6] .. dec(now) .. ARGV[7]) == 1
act(KEYS[2], ARGV[3], now, ARGV[4], 'approve', ARGV[5], new and 'approved' or 'approved before')
call('PUBLISH', ARGV[2], ARGV[1])
return {new and 'ok' or 'already'}
