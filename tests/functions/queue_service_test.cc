// The built function service and `kgpu fn queue`: an asynchronous call outlives a service that is
// killed. Its engine is a script that starts no container: the call waits as long as the test
// likes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/platform/net/http/client.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "tests/e2e/program.h"

namespace kgpu::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kEngine[] = R"(#!/bin/sh
case $1 in
  ps) echo '[]' ;;
  image) echo 0123456789ab ;;
  run) echo 'Error: no such program' >&2; exit 125 ;;
esac
)";

class QueueService {
 public:
  QueueService() {
    dir_.WriteFile("podman", kEngine);
    EXPECT_EQ(chmod(dir_.At("podman").c_str(), 0700), 0);
    dir_.MakeDir("run");
  }

  // Also after a SIGKILL, which the service before gets.
  void Start() {
    service_.reset();
    service_.emplace(std::vector<std::string>{
        "/bin/sh", "-c", "exec \"$@\" 2>&1", "sh", ProgramPath("kgpu"), "fn", "serve", "--podman",
        dir_.At("podman"), "--run-dir", dir_.At("run"), "--state-dir", dir_.At("state")});
    ASSERT_TRUE(service_->WaitFor("function service started")) << service_->out();
  }
  sys::ExitState Stop() { return service_->Stop(); }

  http::Response Ask(const http::Request& request) const {
    const auto response = http::Fetch(dir_.At("run/functions.sock"), request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.value_or(http::Response{.code = 0});
  }
  Result Queue(std::vector<std::string> words) const {
    std::vector<std::string> argv = {"kgpu", "fn", "queue"};
    argv.insert(argv.end(), words.begin(), words.end());
    argv.insert(argv.end(), {"--run-dir", dir_.At("run")});
    return RunProgram(argv);
  }
  // By asking again and again: the service tells nobody.
  bool Until(const std::function<bool()>& holds) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) {
        return false;
      }
    }
    return true;
  }

  void Deploy() const {
    http::Request deploy{.method = "POST", .target = "/system/functions"};
    deploy.body = R"({"Service":"hello","Image":"localhost/kgpu-fn/hello"})";
    const http::Response deployed = Ask(deploy);
    ASSERT_EQ(deployed.code, 200) << deployed.body;
  }

 private:
  TempDir dir_;
  std::optional<Background> service_;
};

TEST(QueueServiceTest, ACallOutlivesItsServiceAndCanBePurged) {
  QueueService service;
  service.Start();
  service.Deploy();
  http::Request call{.method = "POST", .target = "/async-function/hello"};
  call.headers.Add("X-Call-Id", "order-1");
  ASSERT_EQ(service.Ask(call).code, 202);
  const auto list = [&] { return service.Queue({"list", "hello"}); };
  ASSERT_TRUE(service.Until([&] {
    return list().out.find("no such program") != std::string::npos;
  })) << list().out;

  service.Start();
  EXPECT_THAT(list().out, AllOf(HasSubstr("order-1"), HasSubstr("hello")));
  EXPECT_EQ(service.Queue({"list", "other"}).out.find("order-1"), std::string::npos);
  EXPECT_EQ(service.Queue({"purge"}).code, 2) << "of what?";
  EXPECT_EQ(service.Queue({"purge", "--id", "order-2"}).code, 3);
  // Attempts are short; between them it waits.
  ASSERT_TRUE(service.Until([&] {
    return service.Queue({"purge", "hello", "--state", "waiting", "--dry-run"}).out ==
           "1 call would be removed\n";
  }));
  ASSERT_TRUE(service.Until([&] {
    const Result purged = service.Queue({"purge", "--id", "order-1", "--state", "waiting"});
    return purged.code == 0 && purged.out == "1 call removed\n";
  }));
  EXPECT_THAT(list().out, Not(HasSubstr("order-1")));
  EXPECT_EQ(service.Stop().code, 0);
}

}  // namespace
}  // namespace kgpu::e2e
