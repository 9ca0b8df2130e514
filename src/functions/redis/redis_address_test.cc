#include "src/functions/redis/redis_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testing/status_matchers.h"

namespace kgpu::functions {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

net::Endpoint At(const std::string& host, uint16_t port) {
  return {.kind = net::Endpoint::Kind::kPlain, .host = host, .port = port};
}

TEST(RedisAddressTest, ReadsServersWithAndWithoutPorts) {
  const auto one = ParseRedisUrl("redis://redis.kgpu.svc");
  ASSERT_OK(one);
  EXPECT_FALSE(one->is_tls);
  EXPECT_THAT(one->servers, ::testing::ElementsAre(At("redis.kgpu.svc", 6'379)));
  const auto several = ParseRedisUrl("rediss://a:7000,10.0.0.1,[::1]:7001,[fd00::2]/");
  ASSERT_OK(several);
  EXPECT_TRUE(several->is_tls);
  EXPECT_THAT(several->servers, ::testing::ElementsAre(At("a", 7'000), At("10.0.0.1", 6'379),
                                                       At("::1", 7'001), At("fd00::2", 6'379)));
  const auto socket = ParseRedisUrl("unix:///run/redis.sock");
  ASSERT_OK(socket);
  EXPECT_EQ(socket->servers[0].kind, net::Endpoint::Kind::kUnix);
  EXPECT_EQ(socket->servers[0].host, "/run/redis.sock");
}

TEST(RedisAddressTest, RefusesWhatItWouldIgnore) {
  for (const char* url : {"", "http://a", "redis://", "redis://a:0", "redis://a:70000",
                          "redis://a:", "redis://a,", "redis://[::1", "redis://[x]", "redis://a b",
                          "redis://a/0", "redis://a?x=y", "unix://run/redis.sock"}) {
    EXPECT_THAT(ParseRedisUrl(url),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("--redis-url")))
        << url;
  }
}

TEST(RedisAddressTest, NeverShowsAPassword) {
  EXPECT_THAT(Message(ParseRedisUrl("redis://user:secret@host").status()),
              ::testing::AllOf(HasSubstr("--redis-credentials"), Not(HasSubstr("secret"))));
  EXPECT_THAT(Message(ParseRedisLogin("secret\nmore").status()), Not(HasSubstr("secret")));
}

TEST(RedisAddressTest, ReadsPasswordsWithAndWithoutUsers) {
  const auto plain = ParseRedisLogin("secret\n");
  ASSERT_OK(plain);
  EXPECT_EQ(plain->user, "");
  EXPECT_EQ(plain->password, "secret");
  const auto named = ParseRedisLogin("kgpu:se:cret");
  ASSERT_OK(named);
  EXPECT_EQ(named->user, "kgpu");
  EXPECT_EQ(named->password, "se:cret");
  EXPECT_FALSE(ParseRedisLogin("").ok());
  EXPECT_FALSE(ParseRedisLogin("a\nb").ok());
}

}  // namespace
}  // namespace kgpu::functions
