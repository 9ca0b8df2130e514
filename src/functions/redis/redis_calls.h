// The calls of a queue in Redis: the steps of the queue as commands, and their replies as values.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/functions/queue/call_index.h"
#include "src/functions/queue/call_record.h"
#include "src/functions/queue/call_rules.h"
#include "src/functions/queue/call_table.h"
#include "src/functions/queue/queue_request.h"
#include "src/functions/redis/redis_link.h"
#include "src/functions/redis/redis_reply.h"
#include "src/functions/redis/redis_scripts.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

struct KeyLimits {
  size_t keys = 200'000;  // idempotency keys; the oldest go
  std::chrono::hours lifetime{24};
};

struct StoredCall {
  enum class Kind : uint8_t { kNew, kKnown, kTooManyCalls, kTooManyBytes };
  Kind kind = Kind::kNew;
  std::string call_id{};  // of kNew and kKnown
  size_t amount = 0;      // calls or bytes that are there, of kTooMany…
};

// What one gateway may claim.
struct ClaimRequest {
  size_t calls = 0;
  size_t bytes = 0;
  size_t calls_of_function = 0;             // including those that it has
  bool has_none = true;                     // a call over `bytes` may be claimed then, alone
  std::map<std::string, size_t> running{};  // that it has, by function
  WallTime until{};                         // when the claim ends unless it is renewed
};
struct ClaimedCalls {
  std::vector<CallRecord> calls{};
  size_t unreadable = 0;           // claimed, too: another program has changed them
  std::optional<WallTime> next{};  // when there may be more to claim
};

struct CallPage {
  std::vector<std::pair<CallRecord, CallState>> calls{};
  size_t left = 0;                // calls of this part that were selected, too
  std::optional<int64_t> next{};  // number after which the next part begins
};
struct ChangedPart {
  size_t changed = 0;
  std::optional<int64_t> next{};
};

// Replies as values; exposed for the fuzz target. Errors: Internal (no such reply is ours).
StatusOr<StoredCall> ReadStored(const RedisReply& reply);
StatusOr<ClaimedCalls> ReadClaimed(const RedisReply& reply);
StatusOr<CallPage> ReadPage(const RedisReply& reply);
StatusOr<ChangedPart> ReadChanged(const RedisReply& reply);
StatusOr<std::map<std::string, FunctionCounts>> ReadCounts(const RedisReply& reply);

// Lives on the loop's thread. Errors of all functions: those of RedisLink::Send.
class RedisCalls {
 public:
  template <typename T>
  using Done = std::function<void(StatusOr<T>)>;

  // All keys begin with "kgpu:{name}:". `owner` is unique among gateways; `link` must outlive this.
  RedisCalls(RedisLink& link, std::string_view name, std::string owner);
  static std::string KeyPrefix(std::string_view name);
  // Where something is published when there may be calls to claim.
  static std::string Channel(std::string_view name);

  // Errors: InvalidArgument (a header with a line break).
  void Put(const CallRecord& call, WallTime now, const CallLimits& limits, const KeyLimits& keys,
           const Done<StoredCall>& done);
  void Claim(const ClaimRequest& request, WallTime now, const Done<ClaimedCalls>& done);
  // What has another owner meanwhile is left alone, by this and the next two.
  void Renew(const std::vector<int64_t>& numbers, WallTime until, const Done<int64_t>& done);
  // The calls wait again. For the end of a gateway: nobody waits for the reply.
  void Release(const std::vector<int64_t>& numbers, WallTime now);
  // Stores the answer of a call that this owner has claimed: see Answered. Gives 0 if it has not.
  void PutAnswer(const CallRecord& call, const Done<int64_t>& done);
  // Stores what follows an attempt. A call that has succeeded goes, whoever owns it.
  void End(const CallRecord& call, NextStep step, const IndexLimits& limits,
           const Done<int64_t>& done);
  // Removes a part of a function's calls and keys that have arrived by then; without a time, of
  // all. 0: none was left.
  void RemoveFunction(const std::string& function, std::optional<WallTime> arrived_by,
                      const Done<int64_t>& done);
  // Calls with a number over `after`, without headers and body, up to `shown`, from a bounded part.
  void Page(const CallSelection& selection, int64_t after, size_t shown,
            const Done<CallPage>& done);
  void Change(const ChangeRequest& request, bool is_retry, int64_t after, WallTime now,
              const Done<ChangedPart>& done);
  void Counts(const Done<std::map<std::string, FunctionCounts>>& done);

 private:
  void Run(const RedisScript& script, const std::vector<std::string_view>& arguments,
           RedisConnection::Done done);
  void Send(std::string_view command, std::string_view script,
            const std::vector<std::string_view>& arguments, RedisConnection::Done done);

  RedisLink& link_;
  const std::string prefix_;
  const std::string owner_;
  const RedisScripts scripts_;
  Lifetime lifetime_;
};

}  // namespace kgpu::functions
