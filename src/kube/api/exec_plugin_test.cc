#include "src/kube/api/exec_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>

#include "testing/fake_loop.h"
#include "testing/run_until.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::kube {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ExecPluginTest : public ::testing::Test {
 protected:
  // A shell script as the plugin.
  std::string Script(std::string_view name, std::string_view text) {
    dir_.WriteFile(name, fmt::format("#!/bin/sh\n{}\n", text));
    EXPECT_EQ(chmod(dir_.At(name).c_str(), 0755), 0);
    return dir_.At(name);
  }
  static std::string Credential(std::string_view token) {
    return fmt::format(
        R"(echo "{{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{{\"token\":\"{}\"}}}}")",
        token);
  }
  void Begin(std::string command, std::vector<std::string> args = {}) {
    result_.reset();
    request_.spec.api_version = "client.authentication.k8s.io/v1";
    request_.spec.command = std::move(command);
    request_.spec.args = std::move(args);
    run_ = ExecRun::Start(loop_, request_, [this](StatusOr<ExecCredential> result) {
      result_ = std::move(result);
      run_.reset();
    });
    EXPECT_FALSE(result_.has_value());
  }
  StatusOr<ExecCredential> Run(std::string command, std::vector<std::string> args = {}) {
    Begin(std::move(command), std::move(args));
    EXPECT_TRUE(RunUntil(loop_, [this] { return result_.has_value(); }));
    EXPECT_EQ(loop_.watches(), 0U);
    EXPECT_EQ(loop_.timers(), 0U);
    return result_.value_or(Internal("no result"));
  }

  TempDir dir_;
  FakeLoop loop_;
  ExecRequest request_{.environment = {"PATH=/usr/bin:/bin", "KEPT=kept", "A=ours"}};
  std::unique_ptr<ExecRun> run_;
  std::optional<StatusOr<ExecCredential>> result_;
};

TEST_F(ExecPluginTest, GivesThePluginItsArgumentsAndEnvironment) {
  request_.spec.environment = {{"A", "theirs"}};
  request_.info = "info";
  const auto credential =
      Run(Script("p", Credential("$1,$2,$A,$KEPT,$KUBERNETES_EXEC_INFO")), {"one", "two"});
  ASSERT_OK(credential);
  EXPECT_EQ(credential->token, "one,two,theirs,kept,info");
}

TEST_F(ExecPluginTest, LooksForItInPath) {
  Script("bin/login", Credential("t"));
  request_.environment = {"PATH=/none::" + dir_.At("bin") + ":/bin"};
  EXPECT_OK(Run("login"));
  request_.spec.install_hint = "get it from the shop";
  EXPECT_THAT(Run("logout"),
              StatusIs(StatusCode::kNotFound, AllOf(HasSubstr("logout: not found in PATH"),
                                                    HasSubstr("get it from the shop"))));
  EXPECT_THAT(Run(dir_.At("none")), StatusIs(StatusCode::kNotFound));
}

TEST_F(ExecPluginTest, SaysHowItEnded) {
  EXPECT_THAT(Run(Script("p", "echo secret; exit 3")),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("exit code 3"), Not(HasSubstr("secret")))));
  EXPECT_THAT(Run(Script("q", "kill -9 $$")),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("signal 9")));
  EXPECT_THAT(Run(Script("r", "echo secret")),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("not a JSON"), Not(HasSubstr("secret")))));
}

TEST_F(ExecPluginTest, DoesNotWaitForEver) {
  Begin(Script("p", "exec sleep 1000"));
  loop_.RunUntilIdle();
  loop_.Advance(std::chrono::seconds(60));
  ASSERT_TRUE(RunUntil(loop_, [this] { return result_.has_value(); }));
  EXPECT_THAT(*result_, StatusIs(StatusCode::kDeadlineExceeded, HasSubstr("within 60 s")));
  EXPECT_EQ(loop_.watches(), 0U);
}

TEST_F(ExecPluginTest, TakesOnlySoMuch) {
  EXPECT_THAT(Run(Script("p", "head -c 3000000 /dev/zero")),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("printed more than")));
}

TEST_F(ExecPluginTest, HasNoTerminal) {
  request_.spec.needs_terminal = true;
  EXPECT_THAT(Run(Script("p", Credential("t"))),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no terminal")));
}

}  // namespace
}  // namespace kgpu::kube
