#include "src/functions/redis/redis_reply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "testing/status_matchers.h"

namespace kgpu::functions {
namespace {

using ::testing::HasSubstr;
using Kind = RedisReply::Kind;

RedisReply TextReply(const std::string& text) {
  return {.kind = Kind::kText, .text = text};
}
RedisReply NumberReply(int64_t number) {
  return {.kind = Kind::kNumber, .number = number};
}

TEST(RedisReplyTest, ACommandIsAListOfTexts) {
  EXPECT_EQ(RedisCommand({"SET", "k", std::string_view("a\r\n\0b", 5)}),
            std::string("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\na\r\n\0b\r\n", 31));
}

TEST(RedisReplyTest, ReadsEveryTypeHoweverTheBytesAreSplit) {
  const std::string bytes =
      "+OK\r\n-ERR "
      "bad\r\n:-7\r\n$5\r\nhello\r\n$0\r\n\r\n$-1\r\n_\r\n#t\r\n,1.5\r\n(12345678901234567890\r\n"
      "=7\r\ntxt:abc\r\n!5\r\nSOME!\r\n*2\r\n:1\r\n*1\r\n+in\r\n*0\r\n*-1\r\n%1\r\n+k\r\n:2\r\n~"
      "1\r\n:3\r\n"
      ">2\r\n+message\r\n+x\r\n";
  const RedisReply inner{.kind = Kind::kList, .items = {TextReply("in")}};
  const std::vector<RedisReply> expected = {
      TextReply("OK"),
      {.kind = Kind::kError, .text = "ERR bad"},
      NumberReply(-7),
      TextReply("hello"),
      TextReply(""),
      {},
      {},
      NumberReply(1),
      TextReply("1.5"),
      TextReply("12345678901234567890"),
      TextReply("abc"),
      {.kind = Kind::kError, .text = "SOME!"},
      {.kind = Kind::kList, .items = {NumberReply(1), inner}},
      {.kind = Kind::kList},
      {},
      {.kind = Kind::kList, .items = {TextReply("k"), NumberReply(2)}},
      {.kind = Kind::kList, .items = {NumberReply(3)}},
      {.kind = Kind::kPush, .items = {TextReply("message"), TextReply("x")}}};
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    ReplyReader reader;
    std::vector<RedisReply> replies;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      ASSERT_OK(reader.Feed(std::string_view(bytes).substr(at, piece)));
      while (auto reply = reader.Next()) {
        replies.push_back(*reply);
      }
    }
    EXPECT_EQ(replies, expected) << "in pieces of " << piece;
  }
}

TEST(RedisReplyTest, RefusesWhatIsNoReply) {
  for (const std::string bytes :
       {"HTTP/1.1 400 Bad Request\r\n", "\r\n", ":x\r\n", "$-2\r\n", "$x\r\n", "*x\r\n",
        "$1\r\nabc\r\n", "*9223372036854775807\r\n", "$9223372036854775807\r\n", "|1\r\n"}) {
    ReplyReader reader;
    EXPECT_THAT(reader.Feed(bytes), StatusIs(StatusCode::kUnavailable, HasSubstr("Redis server")))
        << bytes;
  }
}

TEST(RedisReplyTest, HoldsItsLimits) {
  const ReplyLimits limits{.bytes = 100, .items = 5, .depth = 3};
  const auto feed = [&limits](const std::string& bytes) {
    ReplyReader reader(limits);
    return reader.Feed(bytes);
  };
  EXPECT_OK(feed("$90\r\n" + std::string(90, 'x')));
  EXPECT_FALSE(feed("$101\r\n").ok());
  EXPECT_FALSE(
      feed("*3\r\n$60\r\n" + std::string(60, 'x') + "\r\n$60\r\n" + std::string(60, 'x')).ok());
  EXPECT_OK(feed("*5\r\n"));
  EXPECT_FALSE(feed("*6\r\n").ok());
  EXPECT_FALSE(feed("*3\r\n*3\r\n").ok()) << "together";
  EXPECT_FALSE(feed("%3\r\n").ok());
  EXPECT_OK(feed("*1\r\n*1\r\n*1\r\n"));
  EXPECT_FALSE(feed("*1\r\n*1\r\n*1\r\n*1\r\n").ok());
  EXPECT_FALSE(feed(std::string(size_t{70} << 10, '+')).ok()) << "a line without an end";
}

TEST(RedisReplyTest, ErrorsSayWhatToDo) {
  struct Case {
    std::string text;
    StatusCode code;
  };
  for (const Case& known : std::vector<Case>{
           {"OOM command not allowed when used memory > 'maxmemory'.",
            StatusCode::kResourceExhausted},
           {"ERR Error running script: @user_script: 12: -OOM command not allowed",
            StatusCode::kResourceExhausted},
           {"MISCONF Errors writing to the AOF file: No space left on device",
            StatusCode::kResourceExhausted},
           {"MISCONF Errors writing to the AOF file: Input/output error", StatusCode::kUnavailable},
           {"NOSCRIPT No matching script. Please use EVAL.", StatusCode::kNotFound},
           {"NOAUTH HELLO must be called", StatusCode::kPermissionDenied},
           {"WRONGPASS invalid username-password pair", StatusCode::kPermissionDenied},
           {"NOPERM this user has no permissions", StatusCode::kPermissionDenied},
           {"LOADING Redis is loading the dataset in memory", StatusCode::kUnavailable},
           {"READONLY You can't write against a read only replica.", StatusCode::kUnavailable},
           {"NOREPLICAS Not enough good replicas to write.", StatusCode::kUnavailable},
           {"ERR unknown command 'HELLO'", StatusCode::kInternal}}) {
    EXPECT_EQ(StatusOfRedisError(known.text).code(), known.code) << known.text;
  }
}

}  // namespace
}  // namespace kgpu::functions
