#include "src/functions/provider/replica_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <string>

#include "src/platform/sys/child_process.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::functions {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ReplicaRecordTest : public ::testing::Test {
 protected:
  ReplicaRecordTest() { dir_.MakeDir("4f1c"); }
  static sys::ChildProcess Sleeper() {
    return sys::ChildProcess::Spawn({.argv = {"/bin/sleep", "1000"}, .environment = {}, .fds = {}})
        .value();
  }
  FoundContainer Container(int64_t pid) const {
    return {.name = "kgpu-fn-hello-4f1c",
            .function = "hello",
            .replica = "4f1c",
            .loan = "l1",
            .hash = "h",
            .is_running = pid != 0,
            .pid = pid};
  }
  static void AwaitEnd(const sys::ChildProcess& process) {
    pollfd ended = {.fd = process.pidfd(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&ended, 1, 10'000), 1);
  }

  TempDir dir_;
  const ProviderFolders folders_{.run = dir_.path(), .secrets = "", .logs = ""};
};

TEST_F(ReplicaRecordTest, NamesAContainerThatIsNotStartedYet) {
  ASSERT_OK(WriteReplicaRecord(folders_, Container(0)));
  EXPECT_THAT(RecordedContainers(folders_), ::testing::ElementsAre(Container(0)));
  EXPECT_EQ(StateOfRecorded(folders_, "4f1c"), RecordedProcess::kUnknown);
  EXPECT_EQ(StateOfRecorded(folders_, "none"), RecordedProcess::kUnknown);
  KillRecorded(folders_, "4f1c");
}

TEST_F(ReplicaRecordTest, KnowsWhetherItsProcessRuns) {
  sys::ChildProcess process = Sleeper();
  ASSERT_OK(WriteReplicaRecord(folders_, Container(process.pid())));
  EXPECT_THAT(RecordedContainers(folders_), ::testing::ElementsAre(Container(process.pid())));
  EXPECT_EQ(StateOfRecorded(folders_, "4f1c"), RecordedProcess::kRuns);
  KillRecorded(folders_, "4f1c");
  AwaitEnd(process);
  EXPECT_EQ(StateOfRecorded(folders_, "4f1c"), RecordedProcess::kGone);
  const auto containers = RecordedContainers(folders_);
  ASSERT_THAT(containers, SizeIs(1));
  EXPECT_FALSE(containers[0].is_running);
}

TEST_F(ReplicaRecordTest, TakesNoOtherProcessWithTheNumberForIt) {
  sys::ChildProcess process = Sleeper();
  ASSERT_OK(WriteReplicaRecord(folders_, Container(process.pid())));
  std::string text = dir_.ReadFile("4f1c/container.json");
  const size_t at = text.find("\"startTime\":") + 12;
  text.insert(at, "1");
  dir_.WriteFile("4f1c/container.json", text);
  EXPECT_EQ(StateOfRecorded(folders_, "4f1c"), RecordedProcess::kGone);
  KillRecorded(folders_, "4f1c");
  pollfd ended = {.fd = process.pidfd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&ended, 1, 50), 0) << "it is another one's";
  ASSERT_OK(process.Kill());
}

TEST_F(ReplicaRecordTest, IgnoresWhatIsNoRecord) {
  for (
      const char* text :
      {"", "{}", "[]", R"({"name":1})",
       R"({"name":"n","function":"f","replica":"other","loan":"","hash":"","pid":0,"startTime":0})"}) {
    dir_.WriteFile("4f1c/container.json", text);
    EXPECT_THAT(RecordedContainers(folders_), IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace kgpu::functions
