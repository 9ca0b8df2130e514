#include "src/kube/api/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/platform/base/log.h"
#include "src/platform/base/time_text.h"
#include "testing/fake_loop.h"
#include "testing/run_until.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "testing/tls/certificates.h"

namespace kgpu::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

using Fields = std::vector<std::pair<std::string, std::string>>;

class CredentialsTest : public ::testing::Test {
 protected:
  CredentialsTest() {
    SetLogSink([this](LogLevel, std::string_view line) { lines_.emplace_back(line); });
  }
  ~CredentialsTest() override { SetLogSink({}); }

  Credentials& credentials() {
    if (!credentials_) {
      credentials_.emplace(loop_, random_, root_, cluster_, user_,
                           std::vector<std::string>{"PATH=/usr/bin:/bin"});
    }
    return *credentials_;
  }
  StatusOr<Fields> Ask() {
    std::optional<StatusOr<http::Headers>> result;
    credentials().Authenticate([&](StatusOr<http::Headers> headers) { result = headers; });
    EXPECT_TRUE(RunUntil(loop_, [&] { return result.has_value(); }));
    if (!result || !result->ok()) {
      return result ? result->status() : Internal("no result");
    }
    return (*result)->fields();
  }
  static Fields Bearer(const std::string& token) { return {{"Authorization", "Bearer " + token}}; }

  TempDir dir_;
  sys::Root root_ = sys::Root::Open(dir_.path()).value();
  FakeLoop loop_;
  Random random_{1};
  ClusterSpec cluster_;
  UserSpec user_;
  std::optional<Credentials> credentials_;
  std::vector<std::string> lines_;
};

TEST_F(CredentialsTest, GiveATokenOrAPassword) {
  user_.token = "t";
  EXPECT_THAT(Ask(), IsOkAndHolds(Bearer("t")));
  credentials_.reset();
  user_ = {.username = "jane", .password = "pass"};
  EXPECT_THAT(Ask(), IsOkAndHolds(Fields{{"Authorization", "Basic amFuZTpwYXNz"}}));
  credentials_.reset();
  user_ = {};
  EXPECT_THAT(Ask(), IsOkAndHolds(IsEmpty()));
}

TEST_F(CredentialsTest, ActAsSomebodyElse) {
  user_.as_user = "jane";
  user_.as_uid = "7";
  user_.as_groups = {"a", "b"};
  user_.as_extra = {{"Scopes.Test/x", {"view", "edit"}}};
  EXPECT_THAT(Ask(), IsOkAndHolds(
                         ElementsAre(Pair("Impersonate-User", "jane"), Pair("Impersonate-Uid", "7"),
                                     Pair("Impersonate-Group", "a"), Pair("Impersonate-Group", "b"),
                                     Pair("Impersonate-Extra-scopes.test%2Fx", "view"),
                                     Pair("Impersonate-Extra-scopes.test%2Fx", "edit"))));
}

TEST_F(CredentialsTest, ATokenOfAFileIsReadAgain) {
  // As the kubelet swaps it: a link of the folder.
  dir_.WriteFile("run/v1/token", "t1\n");
  dir_.WriteFile("run/v2/token", "t2\n");
  dir_.Symlink("v1", "run/data");
  dir_.Symlink("data/token", "run/token");
  user_.token_file = "/run/token";
  EXPECT_THAT(Ask(), IsOkAndHolds(Bearer("t1")));
  ASSERT_EQ(unlink(dir_.At("run/data").c_str()), 0);
  dir_.Symlink("v2", "run/data");
  loop_.Advance(milliseconds(59'999));
  EXPECT_THAT(Ask(), IsOkAndHolds(Bearer("t1")));
  loop_.Advance(milliseconds(1));
  EXPECT_THAT(Ask(), IsOkAndHolds(Bearer("t2")));
}

TEST_F(CredentialsTest, ARejectedTokenIsReadAtOnce) {
  dir_.WriteFile("token", "t1");
  user_.token_file = "/token";
  EXPECT_THAT(Ask(), IsOkAndHolds(Bearer("t1")));
  dir_.WriteFile("token", "t2");
  credentials().Reject();
  EXPECT_THAT(Ask(), IsOkAndHolds(Bearer("t2")));
  // A file that is gone for a moment does no harm.
  ASSERT_EQ(unlink(dir_.At("token").c_str()), 0);
  loop_.Advance(minutes(5));
  EXPECT_THAT(Ask(), IsOkAndHolds(Bearer("t2")));
}

TEST_F(CredentialsTest, ATokenFileComesBeforeATokenWhenItCanBeRead) {
  user_.token = "written";
  user_.token_file = "/token";
  EXPECT_THAT(Ask(), IsOkAndHolds(Bearer("written")));
  dir_.WriteFile("token", "read");
  EXPECT_THAT(Ask(), IsOkAndHolds(Bearer("read")));
}

TEST_F(CredentialsTest, SayWhatIsWrongWithATokenFileAndNothingOfIt) {
  user_.token_file = "/token";
  EXPECT_THAT(Ask(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("/token")));
  dir_.WriteFile("token", "secret secret");
  EXPECT_THAT(Ask(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("contains no token")));
  dir_.WriteFile("token", std::string(70'000, 's'));
  credentials_.reset();
  EXPECT_THAT(Ask(), StatusIs(StatusCode::kFailedPrecondition, Not(HasSubstr("sss"))));
}

class PluginCredentialsTest : public CredentialsTest {
 protected:
  // Prints a token with the number of the run.
  void UsePlugin(std::string_view expires, std::string_view more = "") {
    dir_.WriteFile(
        "plugin",
        fmt::format(R"sh(#!/bin/sh
{1}
echo x >> {0}/runs
cat <<END
{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",
 "status":{{"token":"t$(wc -l < {0}/runs)","expirationTimestamp":{2}}}}}
END
)sh",
                    dir_.path(), more, expires.empty() ? "null" : fmt::format("\"{}\"", expires)));
    ASSERT_EQ(chmod(dir_.At("plugin").c_str(), 0755), 0);
    user_.exec =
        ExecSpec{.api_version = "client.authentication.k8s.io/v1", .command = dir_.At("plugin")};
  }
  size_t Runs() const { return dir_.ReadFile("runs").size() / 2; }
};

TEST_F(PluginCredentialsTest, APluginRunsOnce) {
  UsePlugin("");
  EXPECT_THAT(Ask(), IsOkAndHolds(Bearer("t1")));
  loop_.Advance(std::chrono::hours(100));
  EXPECT_THAT(Ask(), IsOkAndHolds(Bearer("t1")));
}

TEST_F(PluginCredentialsTest, ManyWaitForOneRun) {
  UsePlugin("");
  int answers = 0;
  for (int i = 0; i < 5; ++i) {
    credentials().Authenticate([&](const StatusOr<http::Headers>& headers) {
      EXPECT_OK(headers);
      ++answers;
    });
  }
  EXPECT_EQ(answers, 0);
  EXPECT_TRUE(RunUntil(loop_, [&] { return answers == 5; }));
  EXPECT_EQ(Runs(), 1U);
}

TEST_F(PluginCredentialsTest, AnExpiredCredentialIsReplacedInTime) {
  UsePlugin(FormatTime(loop_.clock().WallNow() + minutes(10)));
  EXPECT_THAT(Ask(), IsOkAndHolds(Bearer("t1")));
  loop_.Advance(minutes(9));
  EXPECT_THAT(Ask(), IsOkAndHolds(Bearer("t1")));
  loop_.Advance(seconds(50));
  EXPECT_THAT(Ask(), IsOkAndHolds(Bearer("t2")));
}

TEST_F(PluginCredentialsTest, ARejectedCredentialIsReplaced) {
  UsePlugin("");
  EXPECT_THAT(Ask(), IsOkAndHolds(Bearer("t1")));
  credentials().Reject();
  EXPECT_THAT(Ask(), IsOkAndHolds(Bearer("t2")));
  EXPECT_THAT(Ask(), IsOkAndHolds(Bearer("t2")));
}

TEST_F(PluginCredentialsTest, ARejectedCredentialStaysRejectedWhenThePluginFails) {
  UsePlugin("", fmt::format("[ ! -e {0}/broken ] || exit 1", dir_.path()));
  EXPECT_THAT(Ask(), IsOkAndHolds(Bearer("t1")));
  credentials().Reject();
  dir_.WriteFile("broken", "");
  EXPECT_THAT(Ask(), StatusIs(StatusCode::kFailedPrecondition));
  EXPECT_THAT(Ask(), StatusIs(StatusCode::kFailedPrecondition));
  ASSERT_EQ(unlink(dir_.At("broken").c_str()), 0);
  loop_.Advance(seconds(3));
  EXPECT_THAT(Ask(), IsOkAndHolds(Bearer("t2")));
}

TEST_F(PluginCredentialsTest, WhatIsRejectedWhileThePluginRunsIsWhatItReplaces) {
  UsePlugin("");
  EXPECT_THAT(Ask(), IsOkAndHolds(Bearer("t1")));
  credentials().Reject();
  std::optional<StatusOr<http::Headers>> result;
  credentials().Authenticate([&](StatusOr<http::Headers> headers) { result = headers; });
  // Of a second request with the old one.
  credentials().Reject();
  EXPECT_TRUE(RunUntil(loop_, [&] { return result.has_value(); }));
  EXPECT_THAT(Ask(), IsOkAndHolds(Bearer("t2")));
}

TEST_F(PluginCredentialsTest, OneThatFailsIsNotRunForEveryRequest) {
  UsePlugin("", fmt::format("echo x >> {}/runs; exit 1", dir_.path()));
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(Ask(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("exit code 1")));
  }
  EXPECT_EQ(Runs(), 1U);
  loop_.Advance(seconds(3));
  EXPECT_THAT(Ask(), StatusIs(StatusCode::kFailedPrecondition));
  EXPECT_EQ(Runs(), 2U);
}

class TrustTest : public CredentialsTest {
 protected:
  uint64_t Generation() {
    const auto trust = credentials().CurrentTrust();
    EXPECT_OK(trust);
    return trust.ok() ? trust->generation : 0;
  }
  const TestAuthority authority_;
};

TEST_F(TrustTest, AnAuthorityOfAFileIsReadAgain) {
  cluster_.ca_file = "/ca.crt";
  dir_.WriteFile("ca.crt", authority_.certificate_pem());
  EXPECT_EQ(Generation(), 1U);
  loop_.Advance(minutes(5));
  EXPECT_EQ(Generation(), 1U);
  const TestAuthority next;
  dir_.WriteFile("ca.crt", next.certificate_pem());
  EXPECT_EQ(Generation(), 1U);
  loop_.Advance(minutes(5));
  EXPECT_EQ(Generation(), 2U);
}

TEST_F(TrustTest, ACertificateIsReadAgain) {
  cluster_.ca_pem = authority_.certificate_pem();
  user_.certificate_file = "/c.crt";
  user_.key_file = "/c.key";
  const auto write = [&] {
    const TestCertificate leaf = authority_.Issue({.is_client = true});
    dir_.WriteFile("c.crt", leaf.certificate_pem);
    dir_.WriteFile("c.key", leaf.key_pem);
  };
  write();
  EXPECT_EQ(Generation(), 1U);
  write();
  credentials().Reject();
  EXPECT_EQ(Generation(), 2U);
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(TrustTest, HalfOfARotationDoesNoHarm) {
  cluster_.ca_pem = authority_.certificate_pem();
  user_.certificate_file = "/c.crt";
  user_.key_file = "/c.key";
  const TestCertificate first = authority_.Issue({.is_client = true});
  const TestCertificate second = authority_.Issue({.is_client = true});
  dir_.WriteFile("c.crt", first.certificate_pem);
  dir_.WriteFile("c.key", first.key_pem);
  EXPECT_EQ(Generation(), 1U);
  dir_.WriteFile("c.crt", second.certificate_pem);
  for (int i = 0; i < 3; ++i) {
    credentials().Reject();
    EXPECT_EQ(Generation(), 1U);
  }
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("does not belong")));
  dir_.WriteFile("c.key", second.key_pem);
  credentials().Reject();
  EXPECT_EQ(Generation(), 2U);
}

TEST_F(TrustTest, TheSystemsAuthoritiesAreUsedWhenNoneIsGiven) {
  EXPECT_THAT(credentials().CurrentTrust(),
              StatusIs(StatusCode::kNotFound, HasSubstr("/etc/ssl/certs/ca-certificates.crt")));
  credentials_.reset();
  dir_.WriteFile("etc/pki/tls/certs/ca-bundle.crt", authority_.certificate_pem());
  EXPECT_EQ(Generation(), 1U);
}

TEST_F(TrustTest, SaysWhichFileIsWrong) {
  cluster_.ca_file = "/ca.crt";
  dir_.WriteFile("ca.crt", "nothing");
  EXPECT_THAT(
      credentials().CurrentTrust(),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("/ca.crt: the certificate authority")));
}

}  // namespace
}  // namespace kgpu::kube
