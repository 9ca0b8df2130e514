#include "src/functions/redis/redis_scripts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>

#include <array>
#include <initializer_list>
#include <string_view>

namespace kgpu::functions {
namespace {

// What several scripts need. A script that must work on a server whose memory is full begins with a
// command that only removes: after its first write, Redis lets a script finish.
// Source: redis.io/docs/interact/programmability/eval-intro, "Handling out of memory".
constexpr std::string_view kCommonPart = R"lua(
local P = KEYS[1]
local call = redis.call
local function of(fn, what) return P .. 'f:' .. fn .. ':' .. what end

-- The time at which the first waiting call of a function is due.
local function mark_due(fn)
  local first = call('ZRANGE', of(fn, 'waiting'), 0, 0, 'WITHSCORES')
  call('ZREM', P .. 'due', fn)
  if first[1] then call('ZADD', P .. 'due', first[2], fn) end
end

local function forget_if_unused(fn)
  if call('EXISTS', of(fn, 'live'), of(fn, 'dead')) == 0 then call('SREM', P .. 'functions', fn) end
end

local function wake() call('PUBLISH', P .. 'wake', '') end

-- Running, with this owner: nobody else has claimed it since.
local function is_running(n, owner)
  local c = call('HMGET', P .. 'call:' .. n, 'state', 'owner')
  return c[1] == 'r' and c[2] == owner
end

-- From whatever state it has to waiting.
local function wait(n, fn, due)
  call('ZREM', P .. 'running', n)
  call('HDEL', P .. 'call:' .. n, 'owner')
  call('HSET', P .. 'call:' .. n, 'state', 'w', 'not_before', due)
  call('ZADD', of(fn, 'waiting'), due, n)
  mark_due(fn)
end

local function remove(n)
  local c = call('HMGET', P .. 'call:' .. n, 'function', 'state', 'bytes')
  if not c[1] then return end
  local fn = c[1]
  call('ZREM', P .. 'all', n)
  if c[2] == 'd' then
    call('ZREM', P .. 'dead', n)
    call('SREM', of(fn, 'dead'), n)
    call('HINCRBY', P .. 'totals', 'dead', '-' .. c[3])
  else
    call('ZREM', P .. 'running', n)
    call('ZREM', of(fn, 'live'), n)
    call('ZREM', of(fn, 'waiting'), n)
    call('HINCRBY', P .. 'totals', 'live', '-' .. c[3])
    mark_due(fn)
  end
  call('DEL', P .. 'call:' .. n)
  forget_if_unused(fn)
end
)lua";

constexpr std::string_view kPutPart = R"lua(
local now, max_calls, max_bytes, max_keys, lifetime = tonumber(ARGV[1]), tonumber(ARGV[2]),
    tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local key, id, fn, method, target, headers, body, bytes, retries, callback = unpack(ARGV, 6)

local function forget_key(member)
  local zero = string.find(member, '\0', 1, true)
  call('ZREM', P .. 'keys', member)
  call('HDEL', of(string.sub(member, 1, zero - 1), 'keys'), string.sub(member, zero + 1))
end

if key ~= '' then
  local known = call('HGET', of(fn, 'keys'), key)
  if known then
    local colon = string.find(known, ':', 1, true)
    if tonumber(string.sub(known, 1, colon - 1)) > now - lifetime then
      return {0, string.sub(known, colon + 1)}
    end
  end
end
local live = call('ZCARD', P .. 'all') - call('ZCARD', P .. 'dead')
if live >= max_calls then return {-1, live} end
local live_bytes = tonumber(call('HGET', P .. 'totals', 'live') or '0')
if live_bytes + tonumber(bytes) > max_bytes then return {-2, live_bytes} end

local n = call('INCR', P .. 'number')
call('HSET', P .. 'call:' .. n, 'id', id, 'function', fn, 'method', method, 'target', target,
     'headers', headers, 'body', body, 'bytes', bytes, 'arrived', now, 'attempts', 0,
     'retries', retries, 'left', retries, 'not_before', now, 'code', 0, 'problem', '',
     'callback', callback, 'state', 'w')
call('ZADD', P .. 'all', n, n)
call('ZADD', of(fn, 'live'), now, n)
call('ZADD', of(fn, 'waiting'), now, n)
call('SADD', P .. 'functions', fn)
call('HINCRBY', P .. 'totals', 'live', bytes)
mark_due(fn)
if key ~= '' then
  call('HSET', of(fn, 'keys'), key, now .. ':' .. id)
  call('ZADD', P .. 'keys', now, fn .. '\0' .. key)
  local old = call('ZRANGEBYSCORE', P .. 'keys', '-inf', now - lifetime, 'LIMIT', 0, 20)
  for _, member in ipairs(old) do forget_key(member) end
  local over = call('ZCARD', P .. 'keys') - max_keys
  if over > 0 then
    for _, member in ipairs(call('ZRANGE', P .. 'keys', 0, over - 1)) do forget_key(member) end
  end
end
wake()
return {n, id}
)lua";

// Calls whose owner has not renewed its claim wait again; then functions take turns, each with the
// call that is due first.
constexpr std::string_view kClaimPart = R"lua(
local now, lease, owner, free, bytes_left, most, is_alone = tonumber(ARGV[1]), ARGV[2], ARGV[3],
    tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7] == '1'
local held = {}
for i = 8, #ARGV, 2 do held[ARGV[i]] = tonumber(ARGV[i + 1]) end

for _, n in ipairs(call('ZRANGEBYSCORE', P .. 'running', '-inf', now, 'LIMIT', 0, 100)) do
  local fn = call('HGET', P .. 'call:' .. n, 'function')
  if fn then wait(n, fn, now) else call('ZREM', P .. 'running', n) end
end

local claimed, touched = {}, {}
local function claim(fn)
  if (held[fn] or 0) >= most then return false end
  local n = call('ZRANGEBYSCORE', of(fn, 'waiting'), '-inf', now, 'LIMIT', 0, 1)[1]
  if not n then return false end
  local name = P .. 'call:' .. n
  local c = call('HMGET', name, 'id', 'function', 'method', 'target', 'headers', 'body', 'bytes',
                 'arrived', 'attempts', 'retries', 'left', 'callback')
  touched[fn] = true
  if not c[7] then  -- somebody has removed it by hand
    call('ZREM', of(fn, 'waiting'), n)
    return true
  end
  if tonumber(c[7]) > bytes_left and not is_alone then return false end
  call('ZREM', of(fn, 'waiting'), n)
  call('ZADD', P .. 'running', lease, n)
  call('HSET', name, 'state', 'r', 'owner', owner)
  bytes_left, is_alone, free = bytes_left - tonumber(c[7]), false, free - 1
  held[fn] = (held[fn] or 0) + 1
  table.insert(c, 1, n)
  claimed[#claimed + 1] = c
  return true
end

local functions = call('ZRANGEBYSCORE', P .. 'due', '-inf', now, 'LIMIT', 0, 1000)
local has_some = free > 0
while has_some do
  has_some = false
  for _, fn in ipairs(functions) do
    if free > 0 and claim(fn) then has_some = free > 0 end
  end
end
for fn in pairs(touched) do mark_due(fn) end

-- When to look again: a call is due, or a claim ends.
local next = ''
local function at(time) if next == '' or tonumber(time) < tonumber(next) then next = time end end
local due = call('ZRANGE', P .. 'due', 0, 16, 'WITHSCORES')
for i = 1, #due, 2 do if (held[due[i]] or 0) < most then at(due[i + 1]) end end
local first = call('ZRANGE', P .. 'running', 0, 0, 'WITHSCORES')
if first[2] then at(first[2]) end
table.insert(claimed, 1, next)
return claimed
)lua";

constexpr std::string_view kRenewPart = R"lua(
local lease, owner = ARGV[1], ARGV[2]
for i = 3, #ARGV do
  local n = ARGV[i]
  if is_running(n, owner) then
    call('ZREM', P .. 'running', n)
    call('ZADD', P .. 'running', lease, n)
  end
end
return 1
)lua";

constexpr std::string_view kReleasePart = R"lua(
local now, owner = ARGV[1], ARGV[2]
for i = 3, #ARGV do
  local n = ARGV[i]
  if is_running(n, owner) then wait(n, call('HGET', P .. 'call:' .. n, 'function'), now) end
end
wake()
return 1
)lua";

// The answer takes the place of the input: only the callback is left to make.
constexpr std::string_view kAnswerPart = R"lua(
local owner, n, headers, body, bytes, attempts, code = unpack(ARGV)
if not is_running(n, owner) then return 0 end
local name = P .. 'call:' .. n
local more = tonumber(bytes) - tonumber(call('HGET', name, 'bytes'))
call('HSET', name, 'headers', headers, 'body', body, 'bytes', bytes, 'attempts', attempts, 'code', code)
call('HINCRBY', P .. 'totals', 'live', string.format('%d', more))
return 1
)lua";

// A call that somebody else has claimed meanwhile is theirs, unless it has succeeded.
constexpr std::string_view kEndPart = R"lua(
local step, owner, n, attempts, left, due, code, problem, max_dead, max_dead_bytes = unpack(ARGV)
local name = P .. 'call:' .. n
if step == 'end' then
  remove(n)
  return 1
end
if not is_running(n, owner) then return 0 end
local fn, bytes = unpack(call('HMGET', name, 'function', 'bytes'))
call('ZREM', P .. 'running', n)
call('HSET', name, 'attempts', attempts, 'left', left, 'code', code, 'problem', problem)
if step == 'repeat' then
  wait(n, fn, due)
  return 1
end
call('HDEL', name, 'owner')
call('HSET', name, 'state', 'd')
call('ZREM', of(fn, 'live'), n)
call('HINCRBY', P .. 'totals', 'live', '-' .. bytes)
call('HINCRBY', P .. 'totals', 'dead', bytes)
call('ZADD', P .. 'dead', n, n)
call('SADD', of(fn, 'dead'), n)
while call('ZCARD', P .. 'dead') > tonumber(max_dead) or
    tonumber(call('HGET', P .. 'totals', 'dead')) > tonumber(max_dead_bytes) do
  remove(call('ZRANGE', P .. 'dead', 0, 0)[1])
end
return 1
)lua";

// A part at a time: the server does nothing else meanwhile.
constexpr std::string_view kRemoveFunctionPart = R"lua(
local fn, most, by = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local last = by == '+inf' and math.huge or tonumber(by)
local left = most
for _, n in ipairs(call('ZRANGEBYSCORE', of(fn, 'live'), '-inf', by, 'LIMIT', 0, most)) do
  remove(n)
  left = left - 1
end
for _, n in ipairs(left > 0 and call('SMEMBERS', of(fn, 'dead')) or {}) do
  local arrived = call('HGET', P .. 'call:' .. n, 'arrived') or '0'
  if left > 0 and tonumber(arrived) <= last then
    remove(n)
    left = left - 1
  end
end
local cursor = '0'
repeat
  local page = call('HSCAN', of(fn, 'keys'), cursor, 'COUNT', most)
  cursor = page[1]
  for i = 1, #page[2], 2 do
    if left > 0 and tonumber(string.match(page[2][i + 1], '^%d+')) <= last then
      call('ZREM', P .. 'keys', fn .. '\0' .. page[2][i])
      call('HDEL', of(fn, 'keys'), page[2][i])
      left = left - 1
    end
  end
until left == 0 or cursor == '0'
if left == most then return 0 end
wake()
return 1
)lua";

constexpr std::string_view kSelectPart = R"lua(
local after, scanned, function_wanted, state_wanted = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local ids, has_ids = {}, false
for i = first_id, #ARGV do ids[ARGV[i]], has_ids = true, true end
local numbers = call('ZRANGEBYSCORE', P .. 'all', '(' .. after, '+inf', 'LIMIT', 0, scanned)
local next = #numbers == scanned and numbers[#numbers] or ''

local function each(visit)
  for _, n in ipairs(numbers) do
    local c = call('HMGET', P .. 'call:' .. n, 'function', 'state', 'id')
    if c[1] and (function_wanted == '' or c[1] == function_wanted) and
        (state_wanted == '' or c[2] == state_wanted) and (not has_ids or ids[c[3]]) then
      visit(n, c[1], c[2])
    end
  end
end
)lua";

constexpr std::string_view kPagePart = R"lua(
local shown, found, left = tonumber(ARGV[5]), {next, 0}, 0
each(function(n, fn, state)
  if shown == 0 then
    left = left + 1
    return
  end
  shown = shown - 1
  local c = call('HMGET', P .. 'call:' .. n, 'id', 'function', 'method', 'target', 'bytes',
                 'arrived', 'attempts', 'retries', 'left', 'callback', 'state', 'not_before',
                 'code', 'problem')
  table.insert(c, 1, n)
  found[#found + 1] = c
end)
found[2] = left
return found
)lua";

constexpr std::string_view kChangePart = R"lua(
local is_retry, is_dry_run, now = ARGV[5] == 'retry', ARGV[6] == '1', ARGV[7]
local changed = 0
each(function(n, fn, state)
  if state == 'r' then return end
  changed = changed + 1
  if is_dry_run then return end
  if not is_retry then return remove(n) end
  local name = P .. 'call:' .. n
  local c = call('HMGET', name, 'bytes', 'retries')
  call('ZREM', P .. 'dead', n)
  if state == 'd' then
    call('SREM', of(fn, 'dead'), n)
    call('HINCRBY', P .. 'totals', 'dead', '-' .. c[1])
    call('HINCRBY', P .. 'totals', 'live', c[1])
  end
  call('HSET', name, 'arrived', now, 'attempts', 0, 'left', c[2])
  call('ZADD', of(fn, 'live'), now, n)
  wait(n, fn, now)
end)
if changed > 0 and not is_dry_run then wake() end
return {next, changed}
)lua";

constexpr std::string_view kCountsPart = R"lua(
local all = {}
for _, fn in ipairs(call('SMEMBERS', P .. 'functions')) do
  all[#all + 1] = {fn, call('ZCARD', of(fn, 'waiting')), call('ZCARD', of(fn, 'live')),
                   call('SCARD', of(fn, 'dead')),
                   call('ZRANGE', of(fn, 'live'), 0, 0, 'WITHSCORES')[2] or ''}
end
return all
)lua";

std::string Sha1(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  // Cannot fail: the algorithm is built in.
  (void)EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
  return fmt::format("{:02x}", fmt::join(digest.begin(), digest.begin() + size, ""));
}

RedisScript Script(std::initializer_list<std::string_view> parts) {
  RedisScript script{.text = std::string(kCommonPart)};
  for (const std::string_view part : parts) {
    script.text += part;
  }
  script.sha1 = Sha1(script.text);
  return script;
}

}  // namespace

RedisScripts::RedisScripts()
    : put(Script({kPutPart})),
      claim(Script({kClaimPart})),
      renew(Script({kRenewPart})),
      release(Script({kReleasePart})),
      answer(Script({kAnswerPart})),
      end(Script({kEndPart})),
      remove_function(Script({kRemoveFunctionPart})),
      page(Script({"local first_id = 6\n", kSelectPart, kPagePart})),
      change(Script({"local first_id = 8\n", kSelectPart, kChangePart})),
      counts(Script({kCountsPart})) {
}

}  // namespace kgpu::functions
