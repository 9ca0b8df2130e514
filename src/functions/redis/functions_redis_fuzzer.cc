// What a Redis server, or whoever writes to it, gives the queue: the first byte of the input says
// how the rest is read. Bytes make the same replies however they are split.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "src/functions/redis/redis_address.h"
#include "src/functions/redis/redis_calls.h"
#include "src/functions/redis/redis_reply.h"

namespace {

using namespace kgpu::functions;  // NOLINT(google-build-using-namespace): of the one module tested

constexpr ReplyLimits kSmall{.bytes = 4'096, .items = 256, .depth = 6};

// The replies before the first error.
std::vector<RedisReply> RepliesOf(std::string_view bytes, size_t piece) {
  ReplyReader reader(kSmall);
  std::vector<RedisReply> replies;
  bool is_valid = true;
  for (size_t at = 0; is_valid && at < bytes.size(); at += piece) {
    is_valid = reader.Feed(bytes.substr(at, piece)).ok();
    while (std::optional<RedisReply> reply = reader.Next()) {
      replies.push_back(*std::move(reply));
    }
  }
  return replies;
}

void CheckPlausible(const CallRecord& call) {
  if (call.number < 0 || call.attempts < 0 || call.retries_left < 0) {
    std::abort();
  }
}

void ReadAsRecords(const RedisReply& reply) {
  (void)ReadStored(reply);
  (void)ReadChanged(reply);
  (void)ReadCounts(reply);
  if (const auto claimed = ReadClaimed(reply); claimed.ok()) {
    for (const CallRecord& call : claimed->calls) {
      CheckPlausible(call);
    }
  }
  if (const auto page = ReadPage(reply); page.ok()) {
    for (const auto& [call, state] : page->calls) {
      CheckPlausible(call);
    }
  }
}

void ReadUrl(std::string_view text) {
  const auto address = ParseRedisUrl(text);
  if (address.ok() && (address->servers.empty() || address->servers.front().host.empty())) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'u':
      ReadUrl(text);
      break;
    case 'l':
      (void)ParseRedisLogin(text);
      break;
    default: {
      const std::vector<RedisReply> whole = RepliesOf(text, text.size() + 1);
      // Pieces may be refused earlier, since limits see less of what follows; never later.
      const std::vector<RedisReply> pieces = RepliesOf(text, 1);
      for (size_t i = 0; i < pieces.size() && i < whole.size(); ++i) {
        if (pieces[i] != whole[i]) {
          std::abort();
        }
      }
      for (const RedisReply& reply : pieces) {
        ReadAsRecords(reply);
      }
    }
  }
  return 0;
}
