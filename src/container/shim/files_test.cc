// The small files around the spec: audit, the runtime's log, the runtime itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "src/container/shim/audit.h"
#include "src/container/shim/real_runtime.h"
#include "src/container/shim/runtime_log.h"
#include "src/container/shim/timestamp.h"
#include "src/platform/base/strings.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::shim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr WallTime kNow{std::chrono::seconds(1'795'273'445)};

TEST(ShimTimestampTest, IsWrittenAsLogsDo) {
  EXPECT_EQ(Timestamp(kNow), "2026-11-21T15:04:05Z");
  EXPECT_EQ(Timestamp(WallTime()), "1970-01-01T00:00:00Z");
}

TEST(ShimAuditTest, ALineHasEveryFieldAndNothingInItBreaksTheLine) {
  EXPECT_EQ(AuditLine({.is_granted = true,
                       .container = "a b",
                       .bundle = "/run/x",
                       .source = "mounts",
                       .asked = "0\nevent=gpu-granted \x1b[2J",
                       .devices = "GPU-1,GPU-2",
                       .reason = "say \"why\""},
                      kNow),
            "time=2026-11-21T15:04:05Z event=gpu-granted container=\"a b\" bundle=/run/x "
            "source=mounts asked=\"0\\x0aevent=gpu-granted \\x1b[2J\" devices=GPU-1,GPU-2 "
            "reason=\"say \\\"why\\\"\"\n");
}

TEST(ShimAuditTest, ABackslashOfAValueDoesNotFreeItsQuote) {
  EXPECT_THAT(AuditLine({.asked = "x\\\" devices=GPU-1 y=\\"}, kNow),
              HasSubstr(R"( asked="x\\\" devices=GPU-1 y=\\" devices="")"));
}

TEST(ShimAuditTest, AValueWithoutEndIsCut) {
  const std::string line = AuditLine({.asked = std::string(100'000, '0')}, kNow);
  EXPECT_LT(line.size(), 5'000U);
}

TEST(ShimAuditTest, AValueIsCutByWhatIsWrittenOfIt) {
  EXPECT_LT(AuditLine({.asked = std::string(5'000, '\x01')}, kNow).size(), 5'000U);
  EXPECT_LT(AuditLine({.asked = std::string(5'000, '"')}, kNow).size(), 5'000U);
  EXPECT_THAT(AuditLine({.asked = std::string(5'000, '\x01')}, kNow), HasSubstr("\\x01…"));
}

TEST(ShimAuditTest, LinesAreAppendedAndFoldersMade) {
  const TempDir dir;
  const std::string path = dir.At("var/log/kgpu/runtime.log");
  ASSERT_OK(AppendAudit(path, "one\n"));
  ASSERT_OK(AppendAudit(path, "two\n"));
  EXPECT_EQ(dir.ReadFile("var/log/kgpu/runtime.log"), "one\ntwo\n");
}

TEST(ShimAuditTest, AFullFileIsPutAsideOnce) {
  const TempDir dir;
  dir.WriteFile("log", std::string(kAuditLimit, 'x'));
  dir.WriteFile("log.1", "older");
  ASSERT_OK(AppendAudit(dir.At("log"), "new\n"));
  EXPECT_EQ(dir.ReadFile("log"), "new\n");
  EXPECT_EQ(dir.ReadFile("log.1").size(), kAuditLimit);
}

TEST(ShimAuditTest, ALinkInItsPlaceIsNotFollowed) {
  const TempDir dir;
  dir.WriteFile("victim", "");
  dir.Symlink(dir.At("victim"), "log");
  EXPECT_FALSE(AppendAudit(dir.At("log"), "line\n").ok());
  EXPECT_EQ(dir.ReadFile("victim"), "");
}

TEST(ShimRuntimeLogTest, EnginesReadTheErrorInBothFormats) {
  EXPECT_EQ(RuntimeLogLine("no \"7\" here\nbye\\", true, kNow),
            "{\"level\":\"error\",\"msg\":\"no \\\"7\\\" here\\nbye\\\\\",\"time\":"
            "\"2026-11-21T15:04:05Z\"}\n");
  EXPECT_EQ(RuntimeLogLine("no\x01", false, kNow),
            "time=\"2026-11-21T15:04:05Z\" level=error msg=\"no\\u0001\"\n");
}

TEST(ShimRuntimeLogTest, TheLogOfTheCallIsAppendedTo) {
  const TempDir dir;
  dir.WriteFile("log.json", "{}\n");
  const std::string path = dir.At("log.json");
  const std::string crun = "file:" + path;
  WriteRuntimeLog({.log = path, .is_log_json = true}, "a", kNow);
  WriteRuntimeLog({.log = crun}, "b", kNow);
  WriteRuntimeLog({.log = "journald:x"}, "c", kNow);
  WriteRuntimeLog({}, "d", kNow);
  EXPECT_THAT(Split(dir.ReadFile("log.json"), '\n'),
              ::testing::ElementsAre("{}", HasSubstr("\"msg\":\"a\""), HasSubstr("msg=\"b\""), ""));
}

class RealRuntimeTest : public ::testing::Test {
 protected:
  void MakeProgram(const std::string& path) const {
    dir_.WriteFile(path, "#!");
    std::filesystem::permissions(dir_.At(path), std::filesystem::perms::all);
  }
  StatusOr<std::string> Find(const std::vector<std::string>& runtimes) const {
    return FindRealRuntime(sys::Root::Open(dir_.path()).value(), runtimes, self_);
  }
  TempDir dir_;
  struct stat self_{};
};

TEST_F(RealRuntimeTest, NamesAreFoundInSystemFoldersInTheirOrder) {
  MakeProgram("usr/bin/crun");
  EXPECT_EQ(Find({"runc", "crun"}).value(), dir_.At("usr/bin/crun"));
  MakeProgram("sbin/runc");
  EXPECT_EQ(Find({"runc", "crun"}).value(), dir_.At("sbin/runc"));
  MakeProgram("opt/runc");
  EXPECT_EQ(Find({"/opt/runc", "crun"}).value(), dir_.At("opt/runc"));
}

// As a process of number `pid` sees it; `marker` is what it would hand on.
Status StartCopy(const std::vector<std::string>& environment, pid_t pid, std::string& marker) {
  std::vector<std::string> texts = environment;
  std::vector<char*> variables;
  for (std::string& text : texts) {
    variables.push_back(text.data());
  }
  variables.push_back(nullptr);
  return MarkedEnvironment(variables.data(), pid, marker).status();
}

TEST(ShimMarkerTest, ACopyOfItselfIsNotStartedAsTheRuntime) {
  std::string marker;
  ASSERT_OK(StartCopy({"PATH=/bin"}, 7, marker));
  const std::vector<std::string> handed_on = {"PATH=/bin", marker};
  EXPECT_THAT(StartCopy(handed_on, 7, marker),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("another copy"), HasSubstr("\"runtimes\""))));
  EXPECT_OK(StartCopy(handed_on, 8, marker));  // another process, started further down
}

TEST(ShimMarkerTest, TheEnvironmentIsHandedOnWithOneMarker) {
  std::string old = "KGPU_RUNTIME_PID=7";
  std::string path = "PATH=/bin";
  std::vector<char*> environment = {old.data(), path.data(), nullptr};
  std::string marker;
  const auto marked = MarkedEnvironment(environment.data(), 8, marker);
  ASSERT_OK(marked);
  EXPECT_THAT(*marked,
              ::testing::ElementsAre(::testing::StrEq("PATH=/bin"),
                                     ::testing::StrEq("KGPU_RUNTIME_PID=8"), ::testing::IsNull()));
}

TEST_F(RealRuntimeTest, ItselfAndWhatIsNoProgramAreNoRuntimes) {
  MakeProgram("usr/bin/runc");
  dir_.WriteFile("usr/local/bin/runc", "not executable");
  dir_.MakeDir("usr/sbin/runc");
  EXPECT_EQ(Find({"runc"}).value(), dir_.At("usr/bin/runc"));
  ASSERT_EQ(::stat(dir_.At("usr/bin/runc").c_str(), &self_), 0);
  EXPECT_THAT(
      Find({"runc", "/opt/none"}).status(),
      StatusIs(StatusCode::kNotFound, AllOf(HasSubstr("runc, /opt/none"), HasSubstr("/usr/bin"),
                                            HasSubstr("/etc/kgpu/runtime.json"))));
}

}  // namespace
}  // namespace kgpu::shim
