#include "src/cli/runtime/runtime_view.h"

#include <boost/json/value.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/node/report/format.h"

namespace kgpu::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

EngineStatus Docker() {
  EngineStatus status;
  status.engine.version_text = "20.10.24";
  status.engine.version = engine::Version{20, 10, 24};
  status.engine.cdi = engine::CdiSupport::kAbsent;
  status.engine.config_file = "/etc/docker/daemon.json";
  host::Daemon daemon;
  daemon.pid = 42;
  status.engine.daemon = daemon;
  return status;
}

engine::LiveFacts Facts() {
  engine::LiveFacts facts;
  facts.runtimes = {"nvidia", "runc"};
  facts.default_runtime = "nvidia";
  facts.reads_cdi = false;
  return facts;
}

TEST(RuntimeViewTest, ShowsWhatARunningEngineSays) {
  EngineStatus status = Docker();
  status.live = Facts();
  status.record = engine::Record{};
  status.record->phase = engine::Phase::kApplied;

  EXPECT_EQ(EnginesTable({status}),
            "ENGINE  VERSION   RUNS    CDI  RUNTIME           BY KGPU  FILE\n"
            "docker  20.10.24  pid 42  no   nvidia (default)  yes      /etc/docker/daemon.json\n");
}

TEST(RuntimeViewTest, TellsOfOneThatDoesNotAnswer) {
  EngineStatus status = Docker();
  status.live = Unavailable("connection refused");

  EXPECT_THAT(EnginesTable({status}), AllOf(HasSubstr("pid 42, does not answer"),
                                            HasSubstr("docker: connection refused\n")));
}

TEST(RuntimeViewTest, TellsWhatIsPending) {
  EngineStatus status = Docker();
  status.record = engine::Record{};
  status.record->phase = engine::Phase::kApplied;
  status.record->pending = engine::Reach::kRestart;

  EXPECT_THAT(EnginesTable({status}), HasSubstr("yes, restart pending"));

  status.record->phase = engine::Phase::kApplying;
  EXPECT_THAT(EnginesTable({status}), HasSubstr("interrupted"));
}

TEST(RuntimeViewTest, HasTheSameFieldsInJson) {
  EngineStatus status = Docker();
  status.live = Facts();

  const std::string text = report::Render(EnginesJson({status}), report::OutputFormat::kJson);

  EXPECT_THAT(text, AllOf(HasSubstr("\"engine\": \"docker\""), HasSubstr("\"pid\": 42"),
                          HasSubstr("\"runtime\": \"nvidia (default)\""),
                          HasSubstr("\"configured\": \"no\"")));
}

TEST(RuntimeViewTest, ShowsWhatWasDone) {
  engine::Outcome outcome;
  outcome.done = {"changed /f"};

  EXPECT_EQ(DoneText({{"docker", "by CDI", outcome}, {"podman", "by CDI", {}}}),
            "docker: changed /f\n"
            "podman: nothing to change: by CDI\n");
}

}  // namespace
}  // namespace kgpu::cli
