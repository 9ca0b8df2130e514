#include "src/container/engine/engine_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/container/engine/test_engine_host.h"
#include "testing/status_matchers.h"

namespace kgpu::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DockerInfoTest, TellsRuntimesAndDefault) {
  const auto facts =
      ReadDockerInfo(R"({"ServerVersion":"20.10.24","DefaultRuntime":"runc",)"
                     R"("Runtimes":{"nvidia":{"path":"/x"},"runc":{"path":"runc"}}})");

  ASSERT_OK(facts);
  EXPECT_EQ(facts->version, "20.10.24");
  EXPECT_THAT(facts->runtimes, ElementsAre("nvidia", "runc"));
  EXPECT_EQ(facts->default_runtime, "runc");
  EXPECT_EQ(facts->reads_cdi, false);
}

TEST(DockerInfoTest, TellsWhetherCdiIsOn) {
  const auto on = ReadDockerInfo(R"({"ServerVersion":"28.2.1","CDISpecDirs":["/etc/cdi"]})");
  const auto off = ReadDockerInfo(R"({"ServerVersion":"25.0.1","CDISpecDirs":null})");

  ASSERT_OK(on);
  ASSERT_OK(off);
  EXPECT_EQ(on->reads_cdi, true);
  EXPECT_EQ(off->reads_cdi, false);
}

TEST(DockerInfoTest, RefusesWhatIsNoObject) {
  EXPECT_THAT(ReadDockerInfo("[]"), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(ReadDockerInfo("not json"), StatusIs(StatusCode::kInvalidArgument));
}

TEST(SocketApiTest, SaysThatNobodyAnswers) {
  EngineHost host;
  SocketApi api(host.root());
  Engine engine;
  engine.socket = "/run/docker.sock";

  EXPECT_THAT(api.Ask(engine, std::chrono::milliseconds(1), "an answer",
                      [](const LiveFacts&) { return true; }),
              StatusIs(StatusCode::kNotFound, HasSubstr("docker.sock")));
}

}  // namespace
}  // namespace kgpu::engine
