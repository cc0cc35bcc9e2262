-- apply: one step of a tenant's ledger, or nothing of it.
-- KEYS 1 cursor 2 lease 3 audit 4 jobs 5 versions 6 subs 7 subversions 8 tombstones 9 refusals
--      10 overrides 11 rev 12 range, then four for each version in order: status (of a
--      subscription: subs, unused) history origins applied
-- ARGV 1 tenant 2 channel 3 audit cap 4 history cap 5 owner 6 generation
--      7 8 9 applied, target and step that must stand in the cursor
--      10 11 12 applied, target and step that it goes to
--      13 seen 14 state 15 refused 16 findings 17 error 18 errors 19 specs 20 epoch
--      21 enforceFrom 22 pavilion 23 cid 24 branch 25 path 26 drift 27 how many items
--      then each item, either
--      v kind(j|s) name key from number newest(1|) removal(1|) record replaced desired suspend(1|)
--        origin operation digest path actor op result detail commit auditFrom auditTo oldest, or
--      r actor result detail commit
-- Returns {ok, cursor fields and values...} written now, or by this very step before
--         {lost, owner, generation}    the lease is not ours, or ran out
--         {cursor, applied, target, step}   the cursor is elsewhere
--         {conflict, key, wanted, have}     a version moved on
--         {foreign, key}    a job of that name was not made from Git
--         {type, key, type, wanted type}
--
-- The range hash lives from the first batch of a target to its last. It keeps what each spec was
-- before ("was:<key>"), so that whoever takes the range up again decides the same, and what its
-- versions want of the status until the newest writes it ("desired:<key>").

local refusal = wrong(1, {'hash', 'hash', 'stream', 'hash', 'hash', 'hash', 'hash', 'hash', 'zset', 'hash', 'string', 'hash'})
for k = 13, #KEYS, 4 do
  refusal = refusal or wrong(k, {'hash', 'list', 'hash', 'hash'})
end
if refusal then return refusal end

local now = clock()
local tenant = ARGV[1]

local lease = call('HMGET', KEYS[2], 'owner', 'generation', 'until')
if lease[1] ~= ARGV[5] or lease[2] ~= ARGV[6] or tonumber(lease[3] or '0') <= now then
  return {'lost', lease[1] or '', lease[2] or '0'}
end

local function done()
  local reply = call('HGETALL', KEYS[1])
  table.insert(reply, 1, 'ok')
  return reply
end

local stand = call('HMGET', KEYS[1], 'applied', 'target', 'step', 'state', 'epoch')
local applied, target, step = stand[1] or '', stand[2] or '', stand[3] or '0'
if applied ~= ARGV[7] or target ~= ARGV[8] or step ~= ARGV[9] then
  if applied == ARGV[10] and target == ARGV[11] and step == ARGV[12] then return done() end
  return {'cursor', applied, target, step}
end

-- read the items
local arg, key = 27, 13
local function take()
  arg = arg + 1
  return ARGV[arg]
end
local items = {}
for i = 1, tonumber(ARGV[27]) do
  local it = {what = take()}
  if it.what == 'v' then
    it.job = take() == 'j'
    it.name, it.key, it.from, it.number = take(), take(), take(), take()
    it.newest, it.removal = take() == '1', take() == '1'
    it.record, it.replaced, it.desired, it.suspend = take(), take(), take(), take() == '1'
    it.origin, it.operation, it.digest, it.path = take(), take(), take(), take()
    it.actor, it.op, it.result, it.detail, it.commit = take(), take(), take(), take(), take()
    it.auditFrom, it.auditTo, it.oldest = take(), take(), take()
    it.status, it.history, it.origins, it.applied = KEYS[key], KEYS[key + 1], KEYS[key + 2], KEYS[key + 3]
    it.live = it.job and KEYS[4] or KEYS[6]
    it.versions = it.job and KEYS[5] or KEYS[7]
    it.field = it.removal and ('removed:' .. it.number) or it.number
    key = key + 4
  else
    it.actor, it.result, it.detail, it.commit = take(), take(), take(), take()
  end
  items[i] = it
end

-- check every version against the store, or against the item before it. Only a range that is taken up
-- again can hold what was written before.
local again = ARGV[8] ~= ''
local expected = {}
for _, it in ipairs(items) do
  if it.what == 'v' then
    it.done = again and said(call('HGET', it.origins, it.field), it.operation)
    local first = not expected[it.key]
    if not it.done then
      local have = expected[it.key] or call('HGET', it.versions, it.name) or '0'
      if have ~= it.from then return {'conflict', it.key, it.from, have} end
      if first then
        local facts = call('HMGET', it.origins, 'owner', 'adopted')
        it.adopted = facts[2]
        if facts[1] ~= 'git' and call('HEXISTS', it.live, it.name) == 1 then return {'foreign', it.key} end
      end
    end
    expected[it.key] = it.number
  end
end

local several = ARGV[11] ~= '' -- this step is one of several of a target

-- was notes what a spec was before the first version of a range that is written in several steps.
local function was(it)
  if not several or call('HEXISTS', KEYS[12], 'was:' .. it.key) == 1 then return end
  local facts = call('HMGET', it.origins, 'owner', 'adopted', 'suspend', 'path')
  local function word(v) return v and v ~= '' and v or '-' end
  call('HSET', KEYS[12], 'was:' .. it.key, table.concat({it.from, word(facts[1]), word(facts[2]), word(facts[3])}, ' ') ..
    '\n' .. (facts[4] or '') .. '\n' .. (call('HGET', it.live, it.name) or ''))
end

-- keep pushes what a version replaces to the history. Within a range the stored spec may be older
-- than that, and a removed one was pushed when it was removed.
local function keep(it)
  local old = it.replaced
  if old == '' and it.from ~= '0' and not it.gone then
    local stored = call('HGET', it.live, it.name)
    if stored and (string.match(stored, '"version":(%d+)') or it.from) == it.from then old = stored end
  end
  if old ~= '' then
    if call('RPUSH', it.history, old) > tonumber(ARGV[4]) then call('LTRIM', it.history, '-' .. ARGV[4], '-1') end
  end
end

-- desire writes what a version, and those of its range before it, do to a job's status. A stop by
-- API wins until it is resumed.
local function desire(it)
  local want = it.desired
  if want == '' then want = call('HGET', KEYS[12], 'desired:' .. it.key) or '' end
  if want == '' then
    if call('EXISTS', it.status) == 1 or call('HEXISTS', it.live, it.name) == 1 then return end
    want = it.suspend and 'stopped' or 'running'
  end
  local override = call('HGET', KEYS[10], it.name)
  local stopped = override and string.find(override, '"desired":"stopped"', 1, true)
  if override and not stopped then call('HDEL', KEYS[10], it.name) end
  if want == 'stopped' or stopped then halt(it.status, now) else reset(it.status, now) end
end

-- place writes the spec as it is from now on.
local function place(it)
  if it.removal then
    call('HDEL', it.live, it.name)
    if it.job and call('EXISTS', it.status) == 1 then halt(it.status, now) end
  else
    if it.job then desire(it) end
    call('HSET', it.live, it.name, it.record)
  end
  call('HSET', it.origins, 'owner', 'git', 'path', it.path, 'suspend', it.suspend and '1' or '')
end

local function write(it)
  it.gone = call('HEXISTS', KEYS[8], it.key) == 1
  was(it)
  keep(it)
  if it.newest then
    place(it)
  elseif it.desired ~= '' then
    call('HSET', KEYS[12], 'desired:' .. it.key, it.desired)
  end
  if it.removal then
    call('HSET', KEYS[8], it.key, it.number)
  elseif it.gone then
    call('HDEL', KEYS[8], it.key)
  end
  call('HSET', it.versions, it.name, it.number)
  if it.adopted then call('HDEL', it.origins, 'adopted') end
  remember(it.origins, it.applied, it.field, it.number, it.origin, it.digest, now, it.oldest)
  row(KEYS[3], ARGV[3], now, tenant, {actor = it.actor, op = it.op, job = it.key, from = it.auditFrom, to = it.auditTo,
    allowed = 'true', detail = it.detail, kind = 'git', result = it.result, commit = it.commit})
end

-- refuse writes the one row that a refused or held commit, or one rewrite of the branch, has for ever.
local function refuse(it)
  local noted = it.result == 'applied'
  local once = noted and (it.commit .. ' ' .. it.detail) or it.commit
  if call('ZADD', KEYS[9], 'NX', dec(now), once) == 0 then return end
  call('ZREMRANGEBYRANK', KEYS[9], 0, -10001)
  row(KEYS[3], ARGV[3], now, tenant, {actor = it.actor, op = 'REPORT_STATUS', job = '*', allowed = noted and 'true' or 'false',
    detail = it.detail, kind = 'git', result = it.result, commit = it.commit})
end

changed(KEYS[11], ARGV[2], tenant)
for _, it in ipairs(items) do
  if it.what == 'r' then refuse(it) elseif not it.done then write(it) end
end

call('HSET', KEYS[1], 'applied', ARGV[10], 'target', ARGV[11], 'step', ARGV[12], 'seen', ARGV[13], 'state', ARGV[14],
  'refused', ARGV[15], 'findings', ARGV[16], 'error', ARGV[17], 'errors', ARGV[18], 'specs', ARGV[19],
  'enforceFrom', ARGV[21], 'pavilion', ARGV[22], 'cid', ARGV[23], 'branch', ARGV[24], 'path', ARGV[25], 'drift', ARGV[26])
if stand[4] ~= ARGV[14] then call('HSET', KEYS[1], 'since', dec(now)) end
if not stand[5] then call('HSET', KEYS[1], 'epoch', ARGV[20]) end
if not several then call('UNLINK', KEYS[12]) end
return done()
