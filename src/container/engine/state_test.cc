#include "src/container/engine/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/container/engine/test_engine_host.h"
#include "src/host/change/fingerprint.h"
#include "testing/status_matchers.h"

namespace kgpu::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

State Example() {
  FileRecord file;
  file.path = "/etc/docker/daemon.json";
  file.backup = "/var/lib/kgpu/backup/x-daemon.json";
  file.kind = TextKind::kJson;
  file.changes.push_back({.kind = edit::ChangeKind::kValue,
                          .key = {"features", "cdi"},
                          .before = "false",
                          .after = "true",
                          .removed = "false",
                          .inserted = "true",
                          .offset = 0});
  file.ours = {change::Fingerprint("a"), change::Fingerprint("b")};
  FileRecord whole;
  whole.path = "/etc/kgpu/runtime.json";
  Record record;
  record.phase = Phase::kReverting;
  record.files = {file, whole};
  record.links = {{"/usr/local/bin/hook", "kgpu-runtime"}};
  record.made_folders = {"/etc/docker"};
  record.uses_runtime = true;
  record.reach = Reach::kRestart;
  record.pending = Reach::kReload;
  record.reach_reason = "because";
  record.changed_at = 1'700'000'000;
  record.expected = {.runtime = "nvidia", .is_default = true, .cdi = false};
  return {{"docker", record}, {"kgpu-runtime", Record{}}};
}

TEST(StateTest, ReadsBackWhatItPrints) {
  EXPECT_THAT(ParseState(PrintState(Example()), "engines.json"), IsOkAndHolds(Example()));
}

TEST(StateTest, NamesTheFieldThatIsWrong) {
  std::string text = PrintState(Example());
  text.replace(text.find("\"reverting\""), 11, "\"dancing\"");

  EXPECT_THAT(
      ParseState(text, "engines.json"),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("engines.json: docker.phase: \"dancing\"")));
}

TEST(StateTest, RefusesAnotherFormat) {
  EXPECT_THAT(ParseState(R"({"format": 2, "engines": {}})", "engines.json"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("another version of kgpu")));
}

TEST(StateTest, RefusesWhatIsCutOff) {
  const std::string text = PrintState(Example());
  for (size_t length = 0; length < text.size() - 2; length += 7) {
    EXPECT_FALSE(ParseState(text.substr(0, length), "engines.json").ok()) << length;
  }
}

TEST(StateTest, TellsWhatToDoWithARecordThatCannotBeRead) {
  EngineHost host;
  host.folder().WriteFile("var/lib/kgpu/engines.json", "{");

  EXPECT_THAT(ReadState(host.root()),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("engines.json:1:2"), HasSubstr("remove it"),
                             HasSubstr("/var/lib/kgpu/backup"))));
}

}  // namespace
}  // namespace kgpu::engine
