#include "src/cli/fn/queue_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "src/platform/base/status_macros.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class QueueOptionsTest : public ::testing::Test {
 protected:
  Status Make(const QueueCommandOptions& options) {
    const StatusOr<functions::QueueMaker> maker = QueueMakerOf(loop_, options, dir_.At("queue"));
    RETURN_IF_ERROR(maker.status());
    return (*maker)([](const functions::CallRecord&, const functions::CallQueue::Ended&) {})
        .status();
  }

  TempDir dir_;
  FakeLoop loop_;
};

TEST_F(QueueOptionsTest, MakesBothQueues) {
  EXPECT_OK(Make({}));
  EXPECT_OK(Make({.queue = "redis", .redis_url = "unix://" + dir_.At("redis.sock")}))
      << "whether a server answers or not";
}

TEST_F(QueueOptionsTest, NamesTheFlagThatDoesNotFit) {
  dir_.WriteFile("two", "secret\nmore\n");
  struct Case {
    QueueCommandOptions options;
    std::string problem;
  };
  const std::string url = "redis://127.0.0.1";
  for (const Case& wrong : std::vector<Case>{
           {{.queue = "nats"}, "--queue: nats must be sqlite or redis"},
           {{.redis_url = url}, "--redis-url: is for --queue redis"},
           {{.queue = "redis"}, "needs --redis-url"},
           {{.queue = "redis", .redis_url = "http://a"}, "--redis-url: http://a"},
           {{.queue = "redis", .redis_url = url, .redis_credentials = dir_.At("none")},
            "--redis-credentials"},
           {{.queue = "redis", .redis_url = url, .redis_credentials = dir_.At("two")},
            "must be one line"},
           {{.queue = "redis", .redis_url = url, .redis_ca = dir_.At("none")}, "use rediss://"},
           {{.queue = "redis", .redis_url = "rediss://a", .redis_ca = dir_.At("none")},
            "--redis-ca"},
           {{.queue = "redis", .redis_url = url, .redis_name = "a b"}, "--redis-name"}}) {
    EXPECT_THAT(Message(Make(wrong.options)),
                AllOf(HasSubstr(wrong.problem), Not(HasSubstr("secret"))));
  }
}

}  // namespace
}  // namespace kgpu::cli
