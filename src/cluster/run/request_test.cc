#include "src/cluster/run/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::run {
namespace {

using ::testing::HasSubstr;

RunRequest Good() {
  return {.name = "train", .image = "docker.io/a/b:1", .models = {"A100-SXM4-80GB"}};
}

TEST(RunRequestTest, AcceptsWhatAClusterAccepts) {
  EXPECT_OK(CheckRequest(Good()));
}

TEST(RunRequestTest, NamesTheFlagThatIsWrong) {
  const auto refused = [](auto change) {
    RunRequest request = Good();
    change(request);
    const Status status = CheckRequest(request);
    return std::string(Message(status));
  };
  EXPECT_THAT(refused([](auto& r) { r.name = "Train"; }), HasSubstr("--name: \"Train\""));
  EXPECT_THAT(refused([](auto& r) { r.name = std::string(41, 'a'); }), HasSubstr("--name"));
  EXPECT_THAT(refused([](auto& r) { r.space = "a/b"; }), HasSubstr("--namespace"));
  EXPECT_THAT(refused([](auto& r) { r.image = ""; }), HasSubstr("IMAGE"));
  EXPECT_THAT(refused([](auto& r) { r.gpus = 0; }), HasSubstr("--gpus: 0"));
  EXPECT_THAT(refused([](auto& r) { r.models = {"A100,H100"}; }), HasSubstr("--model"));
  EXPECT_THAT(refused([](auto& r) { r.cuda = "new"; }), HasSubstr("--cuda"));
  EXPECT_THAT(refused([](auto& r) {
                r.kind = RunKind::kJupyter;
                r.node_port = 80;
              }),
              HasSubstr("--node-port: 80"));
}

TEST(RunRequestTest, MemoryIsRoundedUpToMiB) {
  const std::vector<std::pair<const char*, int64_t>> cases = {
      {"40Gi", 40960}, {"80G", 76294}, {"1Ti", 1048576}, {"40960Mi", 40960}, {"1M", 1}};
  for (const auto& [text, mib] : cases) {
    EXPECT_THAT(ParseGpuMemory("--memory", text), IsOkAndHolds(mib)) << text;
  }
  for (const char* text : {"", "40", "Gi", "-1Gi", "1.5Gi", "0Gi", "40GB", "99999999999999Ti"}) {
    EXPECT_THAT(ParseGpuMemory("--memory", text),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("--memory")))
        << text;
  }
}

TEST(RunRequestTest, VariablesAndVolumes) {
  const auto variable = ParseVariable("A=b=c");
  ASSERT_OK(variable);
  EXPECT_EQ(variable->first, "A");
  EXPECT_EQ(variable->second, "b=c");
  EXPECT_THAT(ParseVariable("1A=b"), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseVariable("A"), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseMount("data:/data", "/work"), IsOkAndHolds(Mount{"data", "/data"}));
  EXPECT_THAT(ParseMount("data", "/work"), IsOkAndHolds(Mount{"data", "/work"}));
  EXPECT_THAT(ParseMount("data", ""), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseMount("Data:/x", ""), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseMount("data:x", ""), StatusIs(StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace kgpu::run
