#include "src/agent/config_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "src/agent/status_view.h"
#include "src/agent/test_state.h"

namespace kgpu::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

AgentState StateWithChoice() {
  AgentState state = TestState();
  state.config = std::make_shared<const config::NodeConfig>(config::DefaultNodeConfig());
  state.config_file = "/etc/kgpu/configs/mig.yaml";
  state.config_report = {.is_running = true,
                         .name = "mig",
                         .from = "kgpu-configs",
                         .file = state.config_file,
                         .why = "label kgpu.dev/config=mig"};
  return state;
}

TEST(ConfigViewTest, ShowsTheWholeConfigurationAndWhy) {
  EXPECT_THAT(ConfigTable(StateWithChoice()),
              AllOf(HasSubstr("runs       mig from kgpu-configs\n"),
                    HasSubstr("chosen by  label kgpu.dev/config=mig\n"),
                    HasSubstr("\n\napiVersion: kgpu.dev/v1\nkind: NodeConfig\n")));
  const boost::json::value json = ConfigJson(StateWithChoice());
  EXPECT_EQ(json.at("name").as_string(), "mig");
  EXPECT_EQ(json.at("running").at("kind").as_string(), "NodeConfig");
}

TEST(ConfigViewTest, ANodeMayRunNothing) {
  AgentState state = StateWithChoice();
  state.config = nullptr;
  state.config_report = {.state = choice::State::kUnknown, .problem = "label x: unknown"};
  EXPECT_THAT(ConfigTable(state),
              AllOf(HasSubstr("runs       none\n"), HasSubstr("problem    label x: unknown\n"),
                    Not(HasSubstr("NodeConfig"))));
  EXPECT_TRUE(ConfigJson(state).at("running").is_null());
}

TEST(ConfigViewTest, TheStatusSaysWhichOneRuns) {
  AgentState state = StateWithChoice();
  EXPECT_THAT(StatusTable(state, {}, "1"), HasSubstr("config    /etc/kgpu/configs/mig.yaml\n"));
  state.config_report.is_chosen_by_node = true;
  EXPECT_THAT(StatusTable(state, {}, "1"),
              HasSubstr("config    mig from kgpu-configs (label kgpu.dev/config=mig)\n"));
  state.config_problem = state.config_report.problem = "mig.yaml:1: fix it";
  EXPECT_THAT(StatusTable(state, {}, "1"),
              HasSubstr("config    rejected: mig.yaml:1: fix it\n"
                        "config    mig from kgpu-configs (label kgpu.dev/config=mig)\n"));
  state.config_report.state = choice::State::kWaiting;
  EXPECT_THAT(StatusTable(state, {}, "1"), HasSubstr("config    waiting: mig.yaml:1: fix it\n"));
}

}  // namespace
}  // namespace kgpu::agent
