#include "src/cli/fn/fn_check_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <string_view>

#include "src/cli/fn/fn_view.h"
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

// Pods have a number of GPUs, replicas of this machine their UUIDs.
TEST(FunctionsTableTest, CountsGpusOfPodsAndOfThisMachine) {
  const boost::json::value list = boost::json::parse(R"({"Functions": [
      {"Name": "pods", "Kgpu": {"replicaList": [{"gpuCount": 2}, {"gpuCount": 2}]}},
      {"Name": "own", "Kgpu": {"replicaList": [{"gpus": ["GPU-1"]}, {}]}}]})");
  const std::string table = FunctionsTable(list);
  EXPECT_THAT(table, ::testing::ContainsRegex("pods +[^ ]* +[^ ]* +4 "));
  EXPECT_THAT(table, ::testing::ContainsRegex("own +[^ ]* +[^ ]* +1 "));
}

// The author of a handler decides what it prints before it fails.
TEST(FunctionsTableTest, AProblemIsOneLineAndHarmless) {
  const boost::json::value list = boost::json::parse(R"({"Functions": [{"Name": "bad", "Kgpu":
      {"problem": "does not start: exit code 1:\nFile \"a\"\nError: \u001b[2J no disk\n"}}]})");
  EXPECT_THAT(FunctionsTable(list),
              HasSubstr("does not start: exit code 1: … Error: \\x1b[2J no disk\n"));
}

TEST(FnCheckViewTest, CredentialsAreNotShown) {
  const std::string shown = boost::json::serialize(
      FunctionsJson(FileOf("functions: {a: {image: a, registry_auth: dXNlcjpwYXNz}}")));
  EXPECT_THAT(shown, Not(HasSubstr("dXNlcjpwYXNz")));
  EXPECT_THAT(shown, HasSubstr("(set)"));
}

}  // namespace
}  // namespace kgpu::cli
