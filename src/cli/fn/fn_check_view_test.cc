#include "src/cli/fn/fn_check_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <string_view>

#include "src/functions/spec/functions_file.h"
#include "testing/status_matchers.h"

namespace kgpu::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

functions::FunctionsFile FileOf(std::string_view text) {
  auto file = functions::ParseFunctionsFile(text, "config.yaml");
  EXPECT_OK(file);
  return file.ok() ? *std::move(file) : functions::FunctionsFile{};
}

TEST(FnCheckViewTest, TheTableSaysWhatAReplicaGets) {
  EXPECT_EQ(
      FunctionsTable(FileOf(
          "functions: {a: {runtime: go, replicas: {min: 0, max: 3}, timeout: 90s}, "
          "b: {image: reg/b, requests: {gpu: {model: [H100-SXM5-80GB, T4], memory: 8Gi}}}}")),
      "NAME  RUNTIME  HANDLER           GPUS                              REPLICAS  "
      "CONCURRENCY  TIMEOUT\n"
      "a     go       ./src/handler.go  0                                 0-3       1         "
      "   90s\n"
      "b     -        -                 1 of H100-SXM5-80GB, T4 with 8Gi  1         1         "
      "   1m\n");
}

TEST(FnCheckViewTest, CredentialsAreNotShown) {
  const std::string shown = boost::json::serialize(
      FunctionsJson(FileOf("functions: {a: {image: a, registry_auth: dXNlcjpwYXNz}}")));
  EXPECT_THAT(shown, Not(HasSubstr("dXNlcjpwYXNz")));
  EXPECT_THAT(shown, HasSubstr("(set)"));
}

}  // namespace
}  // namespace kgpu::cli
