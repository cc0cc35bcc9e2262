-- audit: one row of a person's attempt that had no effect.
-- KEYS 1 audit
-- ARGV 1 tenant 2 audit cap 3 actor 4 op 5 job 6 from 7 to 8 allowed 9 detail 10 result
-- Returns {ok} | {type, key, type, wanted type}

local refusal = wrong(1, {'stream'})
if refusal then return refusal end
row(KEYS[1], ARGV[2], clock(), ARGV[1], {actor = ARGV[3], op = ARGV[4], job = ARGV[5], from = ARGV[6], to = ARGV[7],
  allowed = ARGV[8], detail = ARGV[9], kind = 'person', result = ARGV[10]})
return {'ok'}
