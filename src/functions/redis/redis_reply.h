// The protocol of Redis: commands to bytes, replies from bytes. Source: "Redis serialization
// protocol specification" (RESP3), redis.io.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::functions {

struct RedisReply {
  enum class Kind : uint8_t {
    kNothing,
    kText,    // also numbers that are no integers
    kNumber,  // also booleans
    kError,
    kList,  // also sets, and maps as key, value, key, value
    kPush,  // a list that answers no command: a published message
  };
  Kind kind = Kind::kNothing;
  std::string text{};  // of kText and kError
  int64_t number = 0;  // of kNumber
  std::vector<RedisReply> items{};

  bool operator==(const RedisReply&) const = default;
};

// "OOM command not allowed …" as a status. Codes: ResourceExhausted (memory or disk full),
// PermissionDenied, Unavailable (try again), NotFound (a script that the server does not have),
// Internal (our command is wrong).
Status StatusOfRedisError(std::string_view text);

// A command and its arguments as the server reads them.
std::string RedisCommand(const std::vector<std::string_view>& words);

struct ReplyLimits {
  size_t bytes = size_t{64} << 20;  // of one reply
  size_t items = 1'000'000;         // of all its lists
  size_t depth = 8;
};

// Makes replies of bytes, however these were split into pieces.
class ReplyReader {
 public:
  explicit ReplyReader(const ReplyLimits& limits = {}) : limits_(limits) {}

  // Errors, after which the reader is of no use: Unavailable (no reply of Redis, or over a limit).
  Status Feed(std::string_view bytes);
  // The replies that are complete, in their order.
  std::optional<RedisReply> Next();

 private:
  struct OpenList {
    RedisReply reply;
    size_t left = 0;  // items that are missing
  };
  struct Piece {
    char type = 0;
    std::string_view line;  // without its end
  };
  StatusOr<bool> ReadPiece();
  StatusOr<bool> ReadText(const Piece& piece, size_t after_line);
  Status OpenListOf(const Piece& piece);
  StatusOr<RedisReply> SimpleReply(const Piece& piece) const;
  void Add(RedisReply reply);

  const ReplyLimits limits_;
  std::string buffer_;
  size_t at_ = 0;           // of buffer_: what is before it has been read
  size_t reply_bytes_ = 0;  // of the reply that is being read
  size_t reply_items_ = 0;
  std::vector<OpenList> open_;
  std::deque<RedisReply> ready_;
};

}  // namespace kgpu::functions
