#include "src/functions/redis/redis_calls.h"

#include <array>

#include "src/functions/queue/header_text.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"

namespace kgpu::functions {
namespace {

// Calls that one step of a list or a change looks at: the server answers nobody else meanwhile, and
// the reply of a list has all paths and problems.
constexpr size_t kListedAtOnce = 250;
constexpr size_t kScannedAtOnce = 2'000;
constexpr size_t kRemovedAtOnce = 500;
constexpr size_t kMostCopied = size_t{64} << 10;  // bytes of a step's arguments

std::string Milliseconds(WallTime time) {
  return std::to_string(
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count());
}

Status NotOurs(std::string_view what) {
  return Internal("the queue server's reply has {}: another program may use its keys", what);
}

// The items of a list from the first one to the last one.
class ItemReader {
 public:
  explicit ItemReader(const RedisReply& list) : items_(list.items) {}

  std::string Text() {
    const RedisReply* item = Next();
    return item != nullptr && item->kind == RedisReply::Kind::kText ? item->text : Wrong();
  }
  // A number that the server keeps as a text, or not.
  int64_t Number() {
    const RedisReply* item = Next();
    std::optional<uint64_t> number;
    if (item != nullptr && item->kind == RedisReply::Kind::kText) {
      number = ParseUint(item->text);
    } else if (item != nullptr && item->kind == RedisReply::Kind::kNumber && item->number >= 0) {
      number = static_cast<uint64_t>(item->number);
    }
    if (!number || *number > kMost) {
      (void)Wrong();
      return 0;
    }
    return static_cast<int64_t>(*number);
  }
  size_t Size() { return static_cast<size_t>(Number()); }
  WallTime Time() { return WallTime(std::chrono::milliseconds(Number())); }
  // Nothing for an empty text.
  std::optional<int64_t> MaybeNumber() {
    if (at_ < items_.size() && items_[at_].kind == RedisReply::Kind::kText &&
        items_[at_].text.empty()) {
      ++at_;
      return std::nullopt;
    }
    return Number();
  }
  std::optional<WallTime> MaybeTime() {
    const std::optional<int64_t> number = MaybeNumber();
    return number ? std::optional(WallTime(std::chrono::milliseconds(*number))) : std::nullopt;
  }
  const RedisReply* Next() { return at_ < items_.size() ? &items_[at_++] : nullptr; }

  // Whether every item had its kind, and none is left.
  Status End() const {
    return is_wrong_ || at_ != items_.size() ? NotOurs("unexpected fields") : OkStatus();
  }

 private:
  // Numbers of calls stay below, too.
  static constexpr uint64_t kMost = kLastCount<std::chrono::milliseconds>;
  std::string Wrong() {
    is_wrong_ = true;
    return {};
  }

  const std::vector<RedisReply>& items_;
  size_t at_ = 0;
  bool is_wrong_ = false;
};

StatusOr<CallRecord> ReadClaimedCall(const RedisReply& reply) {
  ItemReader reader(reply);
  CallRecord call;
  call.number = reader.Number();
  call.call_id = reader.Text();
  call.function = reader.Text();
  call.method = reader.Text();
  call.target = reader.Text();
  ASSIGN_OR_RETURN(call.headers, DecodeHeaders(reader.Text()));
  call.body = reader.Text();
  call.bytes = reader.Size();
  call.arrived = reader.Time();
  call.attempts = reader.Number();
  call.retries = reader.Number();
  call.retries_left = reader.Number();
  call.callback = reader.Text();
  RETURN_IF_ERROR(reader.End());
  return call;
}

std::optional<CallState> StateOf(std::string_view letter) {
  constexpr std::array<std::pair<std::string_view, CallState>, 3> kStates = {
      {{"w", CallState::kWaiting}, {"r", CallState::kRunning}, {"d", CallState::kDead}}};
  for (const auto& [name, state] : kStates) {
    if (name == letter) {
      return state;
    }
  }
  return std::nullopt;
}

std::string LetterOf(const std::optional<CallState>& state) {
  if (!state) {
    return "";
  }
  return *state == CallState::kWaiting ? "w" : (*state == CallState::kRunning ? "r" : "d");
}

StatusOr<std::pair<CallRecord, CallState>> ReadListedCall(const RedisReply& reply) {
  ItemReader reader(reply);
  CallRecord call;
  call.number = reader.Number();
  call.call_id = reader.Text();
  call.function = reader.Text();
  call.method = reader.Text();
  call.target = reader.Text();
  call.bytes = reader.Size();
  call.arrived = reader.Time();
  call.attempts = reader.Number();
  call.retries = reader.Number();
  call.retries_left = reader.Number();
  call.callback = reader.Text();
  const std::optional<CallState> state = StateOf(reader.Text());
  call.not_before = reader.Time();
  call.code = static_cast<int>(reader.Number());
  call.problem = reader.Text();
  RETURN_IF_ERROR(reader.End());
  if (!state) {
    return NotOurs("an unknown state");
  }
  call.is_dead = *state == CallState::kDead;
  return std::pair(std::move(call), *state);
}

// Reads a reply on its way.
template <typename T>
RedisConnection::Done Reading(const RedisCalls::Done<T>& done,
                              StatusOr<T> (*read)(const RedisReply& reply)) {
  return [done, read](const StatusOr<RedisReply>& reply) {
    done(reply.ok() ? read(*reply) : StatusOr<T>(reply.status()));
  };
}

StatusOr<int64_t> ReadNumber(const RedisReply& reply) {
  if (reply.kind != RedisReply::Kind::kNumber) {
    return NotOurs("no number");
  }
  return reply.number;
}

std::vector<std::string_view> Views(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

}  // namespace

StatusOr<StoredCall> ReadStored(const RedisReply& reply) {
  using Kind = StoredCall::Kind;
  ItemReader reader(reply);
  const RedisReply* first = reader.Next();
  if (first == nullptr || first->kind != RedisReply::Kind::kNumber) {
    return NotOurs("no number");
  }
  StoredCall stored;
  if (first->number < 0) {
    stored.kind = first->number == -1 ? Kind::kTooManyCalls : Kind::kTooManyBytes;
    stored.amount = reader.Size();
  } else {
    stored.kind = first->number == 0 ? Kind::kKnown : Kind::kNew;
    stored.call_id = reader.Text();
  }
  RETURN_IF_ERROR(reader.End());
  return stored;
}

StatusOr<ClaimedCalls> ReadClaimed(const RedisReply& reply) {
  ItemReader reader(reply);
  ClaimedCalls claimed;
  claimed.next = reader.MaybeTime();
  while (const RedisReply* item = reader.Next()) {
    StatusOr<CallRecord> call = ReadClaimedCall(*item);
    if (call.ok()) {
      claimed.calls.push_back(*std::move(call));
    } else {
      ++claimed.unreadable;  // it must not keep the others
    }
  }
  RETURN_IF_ERROR(reader.End());
  return claimed;
}

StatusOr<CallPage> ReadPage(const RedisReply& reply) {
  ItemReader reader(reply);
  CallPage page;
  page.next = reader.MaybeNumber();
  page.left = reader.Size();
  while (const RedisReply* item = reader.Next()) {
    ASSIGN_OR_RETURN(auto call, ReadListedCall(*item));
    page.calls.push_back(std::move(call));
  }
  RETURN_IF_ERROR(reader.End());
  return page;
}

StatusOr<ChangedPart> ReadChanged(const RedisReply& reply) {
  ItemReader reader(reply);
  ChangedPart part;
  part.next = reader.MaybeNumber();
  part.changed = reader.Size();
  RETURN_IF_ERROR(reader.End());
  return part;
}

StatusOr<std::map<std::string, FunctionCounts>> ReadCounts(const RedisReply& reply) {
  ItemReader list(reply);
  std::map<std::string, FunctionCounts> counts;
  while (const RedisReply* item = list.Next()) {
    ItemReader reader(*item);
    const std::string function = reader.Text();
    FunctionCounts count;
    count.waiting = reader.Size();
    const size_t live = reader.Size();
    count.running = live > count.waiting ? live - count.waiting : 0;
    count.dead = reader.Size();
    count.oldest = reader.MaybeTime();
    RETURN_IF_ERROR(reader.End());
    counts[function] = count;
  }
  RETURN_IF_ERROR(list.End());
  return counts;
}

RedisCalls::RedisCalls(RedisLink& link, std::string_view name, std::string owner)
    : link_(link), prefix_(KeyPrefix(name)), owner_(std::move(owner)) {
}

// The braces keep all keys on one server, wherever somebody splits them.
std::string RedisCalls::KeyPrefix(std::string_view name) {
  return fmt::format("kgpu:{{{}}}:", name);
}

std::string RedisCalls::Channel(std::string_view name) {
  return KeyPrefix(name) + "wake";
}

// By the script's digest: the text is many times longer than the arguments of most steps. A server
// that was restarted, or has forgotten its scripts, gets the text. So does one that gets a large
// call, of which no copy is kept until the reply.
void RedisCalls::Run(const RedisScript& script, const std::vector<std::string_view>& arguments,
                     RedisConnection::Done done) {
  size_t bytes = 0;
  for (const std::string_view argument : arguments) {
    bytes += argument.size();
  }
  if (bytes > kMostCopied) {
    return Send("EVAL", script.text, arguments, std::move(done));
  }
  std::vector<std::string> copies(arguments.begin(), arguments.end());
  auto send_text = lifetime_.Bind(
      [this, &script, copies = std::move(copies), done](const StatusOr<RedisReply>& reply) {
        if (reply.status().code() == StatusCode::kNotFound) {
          return Send("EVAL", script.text, Views(copies), done);
        }
        done(reply);
      });
  Send("EVALSHA", script.sha1, arguments, std::move(send_text));
}

void RedisCalls::Send(std::string_view command, std::string_view script,
                      const std::vector<std::string_view>& arguments, RedisConnection::Done done) {
  std::vector<std::string_view> words = {command, script, "1", prefix_};
  words.insert(words.end(), arguments.begin(), arguments.end());
  link_.Send(words, std::move(done));
}

void RedisCalls::Put(const CallRecord& call, WallTime now, const CallLimits& limits,
                     const KeyLimits& keys, const Done<StoredCall>& done) {
  const StatusOr<std::string> headers = EncodeHeaders(call.headers);
  if (!headers.ok()) {
    return done(headers.status());
  }
  const std::chrono::milliseconds lifetime = keys.lifetime;
  const std::vector<std::string> numbers = {Milliseconds(now),
                                            std::to_string(limits.max_calls),
                                            std::to_string(limits.max_bytes),
                                            std::to_string(keys.keys),
                                            std::to_string(lifetime.count()),
                                            std::to_string(call.bytes),
                                            std::to_string(call.retries)};
  Run(scripts_.put,
      {numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], call.idempotency_key,
       call.call_id, call.function, call.method, call.target, *headers, call.body, numbers[5],
       numbers[6], call.callback},
      Reading(done, &ReadStored));
}

void RedisCalls::Claim(const ClaimRequest& request, WallTime now, const Done<ClaimedCalls>& done) {
  std::vector<std::string> arguments = {Milliseconds(now),
                                        Milliseconds(request.until),
                                        owner_,
                                        std::to_string(request.calls),
                                        std::to_string(request.bytes),
                                        std::to_string(request.calls_of_function),
                                        request.has_none ? "1" : "0"};
  for (const auto& [function, running] : request.running) {
    arguments.push_back(function);
    arguments.push_back(std::to_string(running));
  }
  Run(scripts_.claim, Views(arguments), Reading(done, &ReadClaimed));
}

void RedisCalls::Renew(const std::vector<int64_t>& numbers, WallTime until,
                       const Done<int64_t>& done) {
  std::vector<std::string> arguments = {Milliseconds(until), owner_};
  for (const int64_t number : numbers) {
    arguments.push_back(std::to_string(number));
  }
  Run(scripts_.renew, Views(arguments), Reading(done, &ReadNumber));
}

void RedisCalls::Release(const std::vector<int64_t>& numbers, WallTime now) {
  std::vector<std::string> arguments = {Milliseconds(now), owner_};
  for (const int64_t number : numbers) {
    arguments.push_back(std::to_string(number));
  }
  // The text: nothing can follow a reply that the server does not have the script.
  Send("EVAL", scripts_.release.text, Views(arguments), [](const StatusOr<RedisReply>&) {});
}

void RedisCalls::PutAnswer(const CallRecord& call, const Done<int64_t>& done) {
  const StatusOr<std::string> headers = EncodeHeaders(call.headers);
  if (!headers.ok()) {
    return done(headers.status());
  }
  const std::vector<std::string> numbers = {std::to_string(call.number), std::to_string(call.bytes),
                                            std::to_string(call.attempts),
                                            std::to_string(call.code)};
  Run(scripts_.answer,
      {owner_, numbers[0], *headers, call.body, numbers[1], numbers[2], numbers[3]},
      Reading(done, &ReadNumber));
}

void RedisCalls::End(const CallRecord& call, NextStep step, const IndexLimits& limits,
                     const Done<int64_t>& done) {
  const std::vector<std::string> arguments = {
      step == NextStep::kEnd ? "end" : (step == NextStep::kRepeat ? "repeat" : "bury"),
      owner_,
      std::to_string(call.number),
      std::to_string(call.attempts),
      std::to_string(call.retries_left),
      Milliseconds(call.not_before),
      std::to_string(call.code),
      call.problem,
      std::to_string(limits.dead),
      std::to_string(limits.dead_bytes)};
  Run(scripts_.end, Views(arguments), Reading(done, &ReadNumber));
}

void RedisCalls::RemoveFunction(const std::string& function, std::optional<WallTime> arrived_by,
                                const Done<int64_t>& done) {
  const std::string last = arrived_by ? Milliseconds(*arrived_by) : "+inf";
  Run(scripts_.remove_function, {function, std::to_string(kRemovedAtOnce), last},
      Reading(done, &ReadNumber));
}

void RedisCalls::Page(const CallSelection& selection, int64_t after, size_t shown,
                      const Done<CallPage>& done) {
  std::vector<std::string> arguments = {std::to_string(after), std::to_string(kListedAtOnce),
                                        selection.function, LetterOf(selection.state),
                                        std::to_string(shown)};
  arguments.insert(arguments.end(), selection.ids.begin(), selection.ids.end());
  Run(scripts_.page, Views(arguments), Reading(done, &ReadPage));
}

void RedisCalls::Change(const ChangeRequest& request, bool is_retry, int64_t after, WallTime now,
                        const Done<ChangedPart>& done) {
  const CallSelection& selection = request.selection;
  std::vector<std::string> arguments = {
      std::to_string(after),     std::to_string(kScannedAtOnce), selection.function,
      LetterOf(selection.state), is_retry ? "retry" : "purge",   request.is_dry_run ? "1" : "0",
      Milliseconds(now)};
  arguments.insert(arguments.end(), selection.ids.begin(), selection.ids.end());
  Run(scripts_.change, Views(arguments), Reading(done, &ReadChanged));
}

void RedisCalls::Counts(const Done<std::map<std::string, FunctionCounts>>& done) {
  Run(scripts_.counts, {}, Reading(done, &ReadCounts));
}

}  // namespace kgpu::functions
