#include "src/functions/spec/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "src/functions/spec/function_check.h"
#include "testing/status_matchers.h"

namespace kgpu::functions {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Rule {
  std::string_view what;
  Status (*check)(std::string_view text);
  std::vector<std::string> legal;
  std::vector<std::string> illegal;
};

const std::vector<Rule>& Rules() {
  static const std::vector<Rule> kRules = {
      {"name",
       &CheckFunctionName,
       {"a", "hello-2", std::string(63, 'a')},
       {"", "-a", "a-", "A", "a_b", "a.b", "a/b", "a b", std::string(64, 'a'), "a\n"}},
      {"image",
       &CheckImage,
       {"hello", "hello:1", "reg:5000/hello", "reg.example.com/a/b_c:1.2-x", "10.0.0.1:5000/x",
        "Reg:5000/hello", "a@sha256:" + std::string(64, 'a'), "[::1]:5000/a"},
       {"", "Hello", "a//b", "a:", "a:b:c", "reg:0/x", "reg:99999/x", "a@sha256:1", "-a", "a b",
        "a;b", "--privileged", "/a", "a/"}},
      {"registry_auth",
       &CheckRegistryAuth,
       {"dXNlcjpwYXNz", "eDp5", "eDo="},
       {"", "user:pass", "eA==", "OnBhc3M=", "dTpwCg==", "dTpwCnE=", "dXNlcjpwYXNz ",
        "dXNl\ncjpwYXNz", R"(x"},"credHelpers":{"a":"b)"}},
      {"registry", &CheckRegistry, {"reg:5000", "reg.io/team"}, {"reg:x", "a b", "reg/"}},
      {"gateway",
       &CheckGateway,
       {":31113", "a:1", "10.0.0.1:31113", "http://a:1", "https://a.b:443", "[::1]:80"},
       {"", "a", "a:0", "a:65536", "a b:1", "a:1/x", "ftp://a:1"}},
      {"handler.dir", &CheckHandlerDir, {".", "./src", "a/b"}, {"", "/a", "..", "a/../b"}},
      {"secret", &CheckSecretName, {"a", "a-b.c"}, {"", ".", "..", "a..b", "A", "a/b"}},
      {"package",
       &CheckPackage,
       {"g++", "libc6-dev", "a:arm64", "jq=1.6-2.1+b1"},
       {"", "-y", "a b", "A", "a=", "a;b"}},
      {"variable", &CheckVariableName, {"A", "_a", "a.b-c"}, {"", "1a", "a b", "a=b"}},
      {"constraint", &CheckConstraint, {"a=b", "a.b/c="}, {"a", "=b", "a=b=c", "a b=c"}},
  };
  return kRules;
}

TEST(ChecksTest, TakeAndRefuse) {
  for (const Rule& rule : Rules()) {
    for (const std::string& text : rule.legal) {
      EXPECT_OK(rule.check(text)) << rule.what << ": " << text;
    }
    for (const std::string& text : rule.illegal) {
      EXPECT_THAT(rule.check(text), StatusIs(StatusCode::kInvalidArgument))
          << rule.what << ": " << text;
    }
  }
}

TEST(ChecksTest, CpuIsReadAsKubernetesReadsIt) {
  EXPECT_THAT(ParseCpuMillis("50m"), IsOkAndHolds(50));
  EXPECT_THAT(ParseCpuMillis("2"), IsOkAndHolds(2'000));
  EXPECT_THAT(ParseCpuMillis("0.5"), IsOkAndHolds(500));
  EXPECT_THAT(ParseCpuMillis("1.005"), IsOkAndHolds(1'005));
  for (const std::string_view text : {"", "m", "0", "0m", "-1", "1.5m", ".5", "1.", "1.0005", "1e3",
                                      "18446744073709551615", "99999999999999999999"}) {
    EXPECT_THAT(ParseCpuMillis(text), StatusIs(StatusCode::kInvalidArgument)) << text;
  }
  EXPECT_EQ(FormatCpuMillis(2'000), "2");
  EXPECT_EQ(FormatCpuMillis(1'500), "1500m");
}

TEST(CheckFunctionTest, TakesAPlainFunction) {
  EXPECT_OK(CheckFunction({.name = "a", .runtime = "go"}));
}

TEST(CheckFunctionTest, NamesTheFunctionAndEachField) {
  Function function{.name = "a", .runtime = "go"};
  function.scaling.min_replicas = 5;
  function.secrets = {"../x"};
  function.environment = {{"NVIDIA_VISIBLE_DEVICES", "all"}};
  function.gpu.models = {"T4"};
  function.pids = 0;
  EXPECT_THAT(
      CheckFunction(function),
      StatusIs(StatusCode::kInvalidArgument,
               AllOf(HasSubstr("function a: secrets: \"../x\" must be"),
                     HasSubstr("function a: environment: \"NVIDIA_VISIBLE_DEVICES\" is set by"),
                     HasSubstr("function a: pids: 0 must be an integer from 16 to 1000000"),
                     HasSubstr("function a: limits.gpu: count is 0"),
                     HasSubstr("function a: replicas.min: 5 must be at most replicas.max, 1"))));
}

}  // namespace
}  // namespace kgpu::functions
