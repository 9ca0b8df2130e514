#include "src/functions/redis/redis_reply.h"

#include <charconv>
#include <system_error>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::functions {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr size_t kMaxLine = size_t{64} << 10;
constexpr size_t kShownOfError = 300;

std::optional<int64_t> ParseInteger(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty()
             ? std::optional(number)
             : std::nullopt;
}

Status NotRedis(std::string_view what) {
  return Unavailable("sent {}: is this a Redis server?", what);
}

bool HasWord(std::string_view text, std::string_view word) {
  // Redis 6 puts the error of a command behind that of the script.
  return text.starts_with(word) || text.find(fmt::format("-{}", word)) != std::string_view::npos;
}

}  // namespace

Status StatusOfRedisError(std::string_view text) {
  const std::string shown = Printable(text, kShownOfError);
  const bool is_disk_full =
      HasWord(text, "MISCONF") && text.find("No space left") != std::string_view::npos;
  if (HasWord(text, "OOM") || is_disk_full) {
    return ResourceExhausted(
        "{}: give the server more room, or purge calls with kgpu fn queue purge", shown);
  }
  if (HasWord(text, "NOSCRIPT")) {
    return NotFound("{}", shown);
  }
  for (const std::string_view word : {"NOPERM", "NOAUTH", "WRONGPASS"}) {
    if (HasWord(text, word)) {
      return PermissionDenied("{}: check --redis-credentials and the server's ACL", shown);
    }
  }
  for (const std::string_view word :
       {"MISCONF", "LOADING", "BUSY", "READONLY", "NOREPLICAS", "MASTERDOWN", "TRYAGAIN"}) {
    if (HasWord(text, word)) {
      return Unavailable("{}", shown);
    }
  }
  return Internal("{}", shown);
}

std::string RedisCommand(const std::vector<std::string_view>& words) {
  std::string bytes = fmt::format("*{}\r\n", words.size());
  for (const std::string_view word : words) {
    bytes += fmt::format("${}\r\n", word.size());
    bytes += word;
    bytes += kLineEnd;
  }
  return bytes;
}

Status ReplyReader::Feed(std::string_view bytes) {
  buffer_ += bytes;
  bool has_more = true;
  while (has_more) {
    ASSIGN_OR_RETURN(has_more, ReadPiece());
  }
  if (reply_bytes_ + buffer_.size() - at_ > limits_.bytes) {
    return NotRedis(fmt::format("a reply of more than {} bytes", limits_.bytes));
  }
  buffer_.erase(0, std::exchange(at_, 0));
  if (buffer_.empty()) {
    std::string().swap(buffer_);  // the memory of a large reply goes with it
  }
  return OkStatus();
}

std::optional<RedisReply> ReplyReader::Next() {
  if (ready_.empty()) {
    return std::nullopt;
  }
  RedisReply reply = std::move(ready_.front());
  ready_.pop_front();
  return reply;
}

// False: the next piece is not complete yet.
StatusOr<bool> ReplyReader::ReadPiece() {
  const std::string_view rest = std::string_view(buffer_).substr(at_);
  const size_t end = rest.substr(0, kMaxLine).find(kLineEnd);
  if (end == std::string_view::npos) {
    if (rest.size() >= kMaxLine) {
      return NotRedis("a line without an end");
    }
    return false;
  }
  if (end == 0) {
    return NotRedis("an empty line");
  }
  const Piece piece{.type = rest[0], .line = rest.substr(1, end - 1)};
  const size_t after_line = end + kLineEnd.size();
  if (std::string_view("$=!").find(piece.type) != std::string_view::npos) {
    return ReadText(piece, after_line);
  }
  if (std::string_view("*~%>").find(piece.type) != std::string_view::npos) {
    RETURN_IF_ERROR(OpenListOf(piece));
    return true;
  }
  ASSIGN_OR_RETURN(RedisReply reply, SimpleReply(piece));
  at_ += after_line;
  reply_bytes_ += after_line;
  Add(std::move(reply));
  return true;
}

// "$5\r\nhello\r\n"; "=" is a text with its format before it: "txt:hello".
StatusOr<bool> ReplyReader::ReadText(const Piece& piece, size_t after_line) {
  const std::optional<int64_t> size = ParseInteger(piece.line);
  if (!size || *size < -1 || *size > static_cast<int64_t>(limits_.bytes)) {
    return NotRedis(fmt::format("a text of {} bytes", Printable(piece.line)));
  }
  RedisReply reply;
  size_t taken = after_line;
  if (*size >= 0) {
    const auto length = static_cast<size_t>(*size);
    const std::string_view rest = std::string_view(buffer_).substr(at_ + after_line);
    if (rest.size() < length + kLineEnd.size()) {
      return false;
    }
    if (rest.substr(length, kLineEnd.size()) != kLineEnd) {
      return NotRedis("a text without an end");
    }
    constexpr size_t kFormat = 4;
    reply.kind = piece.type == '!' ? RedisReply::Kind::kError : RedisReply::Kind::kText;
    reply.text = rest.substr(0, length);
    if (piece.type == '=') {
      reply.text.erase(0, kFormat);
    }
    taken += length + kLineEnd.size();
  }
  at_ += taken;
  reply_bytes_ += taken;
  Add(std::move(reply));
  return true;
}

Status ReplyReader::OpenListOf(const Piece& piece) {
  const std::optional<int64_t> count = ParseInteger(piece.line);
  const size_t factor = piece.type == '%' ? 2 : 1;
  if (!count || *count < -1 || *count > static_cast<int64_t>(limits_.items)) {
    return NotRedis(fmt::format("a list of {} items", Printable(piece.line)));
  }
  const size_t items = *count < 0 ? 0 : static_cast<size_t>(*count) * factor;
  reply_items_ += items;
  if (open_.size() >= limits_.depth || reply_items_ > limits_.items) {
    return NotRedis("more lists in lists than allowed");
  }
  const size_t taken = 1 + piece.line.size() + kLineEnd.size();
  at_ += taken;
  reply_bytes_ += taken;
  RedisReply reply;
  if (*count >= 0) {
    reply.kind = piece.type == '>' ? RedisReply::Kind::kPush : RedisReply::Kind::kList;
  }
  if (items == 0) {
    Add(std::move(reply));
  } else {
    open_.push_back({.reply = std::move(reply), .left = items});
  }
  return OkStatus();
}

StatusOr<RedisReply> ReplyReader::SimpleReply(const Piece& piece) const {
  using Kind = RedisReply::Kind;
  switch (piece.type) {
    case '+':
    case ',':
    case '(':
      return RedisReply{.kind = Kind::kText, .text = std::string(piece.line)};
    case '-':
      return RedisReply{.kind = Kind::kError, .text = std::string(piece.line)};
    case '_':
      return RedisReply{};
    case '#':
      return RedisReply{.kind = Kind::kNumber, .number = piece.line == "t" ? 1 : 0};
    case ':': {
      const std::optional<int64_t> number = ParseInteger(piece.line);
      if (!number) {
        return NotRedis(fmt::format("{} as a number", Printable(piece.line)));
      }
      return RedisReply{.kind = Kind::kNumber, .number = *number};
    }
    default:
      return NotRedis(fmt::format("a reply of type {}", Printable({&piece.type, 1})));
  }
}

// Closes the lists that it completes.
void ReplyReader::Add(RedisReply reply) {
  while (!open_.empty()) {
    OpenList& list = open_.back();
    list.reply.items.push_back(std::move(reply));
    if (--list.left > 0) {
      return;
    }
    reply = std::move(list.reply);
    open_.pop_back();
  }
  ready_.push_back(std::move(reply));
  reply_bytes_ = 0;
  reply_items_ = 0;
}

}  // namespace kgpu::functions
