-- lib: stands in front of every script of this folder.
-- A script checks everything first (types, fence, versions) and writes after,
-- for an error half-way would leave its first writes standing. Every key comes
-- in through KEYS; JSON is finished in Go and never encoded here.

local call = redis.call

-- clock gives the store's time in ms. Expiry and timestamps follow it alone.
local function clock()
  local t = call('TIME')
  return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
end

-- dec prints a whole number as Redis and Java read it.
local function dec(n) return string.format('%.0f', n) end

-- wrong gives the refusal to return if KEYS[first + i - 1] holds something else
-- than kinds[i]; nil if each is absent or of its kind.
local function wrong(first, kinds)
  for i, kind in ipairs(kinds) do
    local key = KEYS[first + i - 1]
    local t = call('TYPE', key)
    t = t.ok or t
    if t ~= 'none' and t ~= kind then return {'type', key, t, kind} end
  end
end

-- row appends to the audit stream, in the order of the Java contract; a version
-- of '' or '0' is left out, for its reader parses what is there.
local function row(stream, cap, now, tenant, r)
  local f = {'XADD', stream, 'MAXLEN', '~', cap, '*',
    'ts', dec(now), 'tenant', tenant, 'actor', r.actor, 'op', r.op, 'jobName', r.job}
  local function put(name, value)
    f[#f + 1] = name
    f[#f + 1] = value
  end
  if r.from and r.from ~= '' and r.from ~= '0' then put('fromVersion', r.from) end
  if r.to and r.to ~= '' and r.to ~= '0' then put('toVersion', r.to) end
  put('allowed', r.allowed)
  put('detail', r.detail)
  put('kind', r.kind)
  put('result', r.result)
  if r.commit and r.commit ~= '' then put('commit', r.commit) end
  call(unpack(f))
end

-- said tells whether a stored origin was written by an operation.
local function said(origin, operation)
  return origin and string.find(origin, '"operation":"' .. operation .. '"', 1, true) ~= nil
end

-- forget drops the origins of version oldest and of some before it, with their
-- place in the digest index; a lowered cap is reached over several writes.
local function forget(origins, applied, oldest)
  local v = tonumber(oldest)
  for _ = 1, 16 do
    if v < 1 then return end
    local field = dec(v)
    local text = call('HGET', origins, field)
    local removed = call('HDEL', origins, 'removed:' .. field)
    if not text and removed == 0 then return end
    local digest = text and string.match(text, '"digest":"(%x+)"')
    if digest and call('HGET', origins, 'digest:' .. digest) == field then
      call('HDEL', origins, 'digest:' .. digest)
    end
    call('HDEL', origins, field)
    call('HDEL', applied, field, 'removed:' .. field)
    v = v - 1
  end
end

-- remember writes a version's origin under its field, the index of its digest
-- and when it was applied, and forgets what is beyond the cap.
local function remember(origins, applied, field, number, origin, digest, now, oldest)
  if digest ~= '' then
    call('HSET', origins, field, origin, 'digest:' .. digest, number)
  else
    call('HSET', origins, field, origin)
  end
  call('HSET', applied, field, dec(now))
  forget(origins, applied, oldest)
end

-- reset makes a job wait for an agent, with no owner and no past.
local function reset(status, now)
  call('DEL', status)
  call('HSET', status, 'state', 'PENDING_DEPLOY', 'instanceId', '', 'detail', '', 'updatedAt', dec(now))
end

-- halt makes stopped the desired state; who runs it still stays readable.
local function halt(status, now)
  call('HSET', status, 'state', 'DESIRED_STOPPED', 'detail', '', 'updatedAt', dec(now))
  call('HSETNX', status, 'instanceId', '')
end

-- changed counts the change and tells who waits to look, which they do when the script is over. It is
-- the first write of a script: Redis refuses a script that is out of memory at its first write alone,
-- and only if that one may grow (DEL would let all that follows through).
local function changed(rev, channel, tenant)
  call('INCR', rev)
  call('PUBLISH', channel, tenant)
end

-- small is the first write of a script that must go on when memory is full, for running jobs depend on
-- it: it only overwrites small fields, and Redis looks at the first write alone.
local function small(hash) call('HDEL', hash, '') end

-- act appends an administrative act to the capped stream of our own: the audit's readers know no such
-- operation.
local function act(stream, cap, now, actor, what, target, detail)
  call('XADD', stream, 'MAXLEN', '~', cap, '*', 'ts', dec(now), 'actor', actor, 'act', what, 'target', target, 'detail', detail)
end
