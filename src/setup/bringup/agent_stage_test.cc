#include "src/setup/bringup/agent_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "src/container/engine/test_engine_host.h"
#include "src/host/change/test_mortal_disk.h"
#include "src/platform/sys/run.h"
#include "src/setup/bringup/record.h"
#include "testing/status_matchers.h"

namespace kgpu::bringup {
namespace {

using ::testing::HasSubstr;

constexpr char kProgram[] = "usr/local/bin/kgpu";

class AgentStageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"kgpu", "kgpu-probe", "kgpu-cuda"}) {
      ours_.WriteFile(name, std::string("new ") + name);
    }
    host_.folder().WriteFile("usr/bin/systemctl", "");
    host_.folder().MakeDir("usr/local/bin");
    host_.folder().MakeDir("etc/systemd/system");
    host_.folder().MakeDir("run/systemd/system");
    host_.runner().Answer("/usr/bin/systemctl", "");
    Answer("", 4);
    ASSERT_OK(LockRecord(host_.root(), disk_).status());
  }
  // What kgpu status of this host says.
  void Answer(const std::string& out, int code) {
    const std::string run_dir = host_.root().At("/run/kgpu");
    host_.runner().Answer("/kgpu status --run-dir " + run_dir, out, code);
  }
  std::unique_ptr<Stage> Make(change::Disk& disk, bool is_installed = false) {
    return MakeAgentStage(
        {host_.root(), disk, host_.runner(), commands_, ours_.path(), is_installed});
  }
  std::string Text(const std::string& path) { return host_.root().ReadFile(path).value_or(""); }

  engine::EngineHost host_;
  TempDir ours_;
  change::HostDisk disk_{host_.root()};
  Commands commands_{"/kgpu", host_.runner(), [](std::string_view) {}};
};

TEST_F(AgentStageTest, PutsProgramsAndUnitAndStartsThem) {
  const auto stage = Make(disk_);
  EXPECT_EQ(stage->LookAt().condition, Condition::kNeeded);
  ASSERT_OK(stage->Do());
  EXPECT_EQ(Text(kProgram), "new kgpu");
  EXPECT_EQ(Text(std::string(kAgentUnit)), AgentUnitText());
  EXPECT_EQ(host_.runner().Count("/usr/bin/systemctl restart kgpu-agent.service"), 1U);
  EXPECT_EQ(stage->LookAt().condition, Condition::kNeeded) << "it does not answer yet";
  Answer("", 7);
  EXPECT_EQ(stage->LookAt().condition, Condition::kReady);
}

// Any user of the host can have made it before.
TEST(AgentUnitTest, NothingInPlaceOfMpsSharedMemoryKeepsTheAgentFromStarting) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "the unit runs it as root";
  }
  const TempDir dir;
  std::string script(AgentUnitText());
  const std::string_view start = "ExecStartPre=-+/bin/sh -c '";
  ASSERT_NE(script.find(start), std::string::npos);
  script = script.substr(script.find(start) + start.size());
  script = script.substr(0, script.find('\''));
  ASSERT_TRUE(script.starts_with("cd /dev/shm ")) << script;
  script.replace(3, std::string_view("/dev/shm").size(), dir.path());
  const std::string path = dir.At("kgpu-mps");
  const std::vector<std::function<void()>> before = {
      [] {}, [&] { dir.WriteFile("kgpu-mps", ""); }, [&] { dir.Symlink("/etc", "kgpu-mps"); },
      [&] {
        dir.WriteFile("kgpu-mps/in use", "");
        ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
      }};
  for (size_t i = 0; i < before.size(); ++i) {
    std::filesystem::remove_all(path);
    before[i]();
    const auto result = sys::RealRunner().Run({.argv = {"/bin/sh", "-c", script}});
    ASSERT_OK(result);
    EXPECT_TRUE(result->IsSuccess()) << i << sys::Describe(*result);
    struct stat info = {};
    ASSERT_EQ(lstat(path.c_str(), &info), 0) << i;
    EXPECT_TRUE(S_ISDIR(info.st_mode)) << i;
    EXPECT_EQ(info.st_uid, 0U) << i;
  }
  EXPECT_TRUE(std::filesystem::exists(path + "/in use"));
}

TEST_F(AgentStageTest, PutsTheLibraryOfMemorySlicesWhereTheAgentLooksForIt) {
  ours_.WriteFile("libkgpu-share.so", "library");
  const std::string path = "usr/local/lib/kgpu/libkgpu-share.so";
  const auto make = [this] {
    return MakeAgentStage({host_.root(), disk_, host_.runner(), commands_, ours_.path(), false,
                           ours_.At("libkgpu-share.so")});
  };
  ASSERT_OK(make()->Do());
  EXPECT_EQ(Text(path), "library");
  EXPECT_EQ(host_.root().Stat(path)->st_mode & 0777, 0644U);
  EXPECT_THAT(*make()->PreviewUndo(), HasSubstr("remove /usr/local/lib/kgpu/libkgpu-share.so\n"));
  ASSERT_OK(make()->Undo());
  EXPECT_FALSE(host_.root().Exists("usr/local/lib/kgpu"));
  EXPECT_FALSE(make()->HasTraces());
}

TEST_F(AgentStageTest, TheUnitOfAPackageIsEnabledAndStays) {
  const std::string unit = "usr/lib/systemd/system/kgpu-agent.service";
  host_.folder().WriteFile(unit, "packaged");
  const auto stage = Make(disk_, true);
  EXPECT_EQ(stage->LookAt().condition, Condition::kNeeded);
  EXPECT_FALSE(stage->HasTraces());
  ASSERT_OK(stage->Do());
  EXPECT_FALSE(host_.root().Exists(kAgentUnit));
  EXPECT_EQ(host_.runner().Count("/usr/bin/systemctl enable kgpu-agent.service"), 1U);
  Answer("", 7);
  EXPECT_EQ(stage->LookAt().condition, Condition::kReady);
  EXPECT_TRUE(stage->HasTraces());
  ASSERT_OK(stage->Undo());
  EXPECT_EQ(host_.runner().Count("/usr/bin/systemctl disable --now kgpu-agent.service"), 1U);
  EXPECT_EQ(Text(unit), "packaged");
  EXPECT_FALSE(stage->HasTraces());
}

TEST_F(AgentStageTest, AnAgentOfADaemonSetStaysTheOnlyOne) {
  Answer("ready", 0);
  const Look look = Make(disk_)->LookAt();
  EXPECT_EQ(look.condition, Condition::kReady);
  EXPECT_THAT(look.text, HasSubstr("not a service of this host"));
}

TEST_F(AgentStageTest, AnAgentThatRanBeforeTheRestartIsNotDoubled) {
  Answer("ready", 0);
  ASSERT_OK(Make(disk_)->Begin());
  Answer("", 4);  // the host was restarted, and its kubelet is not there yet
  ASSERT_OK(Make(disk_)->Begin());
  const Look look = Make(disk_)->LookAt();
  EXPECT_EQ(look.condition, Condition::kReady);
  EXPECT_THAT(look.text, HasSubstr("will come back by itself"));
  ASSERT_OK(Make(disk_)->End());
  EXPECT_EQ(Make(disk_)->LookAt().condition, Condition::kNeeded) << "the next call puts one";
  EXPECT_FALSE(host_.root().Exists(kRecordFile));
}

TEST_F(AgentStageTest, ItsOwnAgentIsNoneOfOthers) {
  ASSERT_OK(Make(disk_)->Do());
  Answer("ready", 0);
  ASSERT_OK(Make(disk_)->Begin());
  Answer("", 4);
  EXPECT_EQ(Make(disk_)->LookAt().condition, Condition::kNeeded) << "it is not running";
}

TEST_F(AgentStageTest, AnImageOfAHostComesDownWithoutSystemd) {
  ASSERT_OK(Make(disk_)->Do());
  EXPECT_TRUE(Make(disk_)->HasTraces());
  host_.folder().Symlink("../kgpu-agent.service",
                         "etc/systemd/system/multi-user.target.wants/kgpu-agent.service");
  std::filesystem::remove_all(host_.folder().At("run/systemd"));
  std::filesystem::remove(host_.folder().At("usr/bin/systemctl"));
  ASSERT_OK(Make(disk_)->Undo());
  EXPECT_FALSE(host_.root().Exists(kAgentUnit));
  EXPECT_FALSE(std::filesystem::is_symlink(
      host_.folder().At("etc/systemd/system/multi-user.target.wants/kgpu-agent.service")));
  EXPECT_FALSE(Make(disk_)->HasTraces());
}

TEST_F(AgentStageTest, WithoutSystemdItSaysWhatElseThereIs) {
  const TempDir plain;
  const sys::Root host = sys::Root::Open(plain.path()).value();
  const Look look =
      MakeAgentStage({host, disk_, host_.runner(), commands_, ours_.path(), false})->LookAt();
  EXPECT_EQ(look.condition, Condition::kBlocked);
  EXPECT_THAT(look.text, HasSubstr("DaemonSet"));
}

TEST_F(AgentStageTest, SomebodyElsesProgramIsNotReplaced) {
  host_.folder().WriteFile(kProgram, "theirs");
  const auto stage = Make(disk_);
  EXPECT_EQ(stage->LookAt().condition, Condition::kBlocked);
  EXPECT_THAT(stage->Do(), StatusIs(StatusCode::kAlreadyExists, HasSubstr("usr/local/bin/kgpu")));
  EXPECT_EQ(Text(kProgram), "theirs");
}

TEST_F(AgentStageTest, ANewerVersionReplacesOurs) {
  ASSERT_OK(Make(disk_)->Do());
  Answer("", 0);
  ours_.WriteFile("kgpu", "newer kgpu");
  EXPECT_EQ(Make(disk_)->LookAt().condition, Condition::kNeeded);
  ASSERT_OK(Make(disk_)->Do());
  EXPECT_EQ(Text(kProgram), "newer kgpu");
  ASSERT_OK(Make(disk_)->Undo());
  EXPECT_FALSE(host_.root().Exists(kProgram));
}

TEST_F(AgentStageTest, WhatPackagesInstalledIsUsedWhereItLies) {
  const auto stage =
      MakeAgentStage({host_.root(), disk_, host_.runner(), commands_, "/usr/bin", true});
  ASSERT_OK(stage->Do());
  EXPECT_THAT(Text(std::string(kAgentUnit)), HasSubstr("ExecStart=/usr/bin/kgpu agent"));
  EXPECT_FALSE(host_.root().Exists(kProgram));
}

TEST_F(AgentStageTest, UndoTakesAwayWhatItPut) {
  ASSERT_OK(Make(disk_)->Do());
  ASSERT_OK(Make(disk_)->Undo());
  EXPECT_FALSE(host_.root().Exists(kProgram));
  EXPECT_FALSE(host_.root().Exists(kAgentUnit));
  EXPECT_THAT(ReadRecord(host_.root()), IsOkAndHolds(Record{}));
  EXPECT_EQ(host_.runner().Count("/usr/bin/systemctl disable --now kgpu-agent.service"), 1U);
}

TEST_F(AgentStageTest, WhatSomebodyEditedSinceStays) {
  ASSERT_OK(Make(disk_)->Do());
  host_.folder().WriteFile(std::string(kAgentUnit).substr(1), "edited");
  ASSERT_OK(Make(disk_)->Undo());
  EXPECT_EQ(Text(std::string(kAgentUnit)), "edited");
}

TEST_F(AgentStageTest, KilledAtAnyWriteItGoesOnAndComesOffWhole) {
  for (int actions = 0;; ++actions) {
    SCOPED_TRACE(actions);
    ours_.WriteFile("kgpu", "first");
    ASSERT_OK(Make(disk_)->Do());
    ours_.WriteFile("kgpu", "second");
    change::Fate mortal_fate(change::Fate::End::kDead, actions);
    change::MortalDisk mortal(disk_, mortal_fate);
    const bool is_through = Make(mortal)->Do().ok();
    ASSERT_OK(Make(disk_)->Do());
    EXPECT_EQ(Text(kProgram), "second");
    ASSERT_OK(Make(disk_)->Undo());
    EXPECT_FALSE(host_.root().Exists(kProgram));
    change::Fate again_fate(change::Fate::End::kDead, actions);
    change::MortalDisk again(disk_, again_fate);
    const bool is_new_through = Make(again)->Do().ok();
    ASSERT_OK(Make(disk_)->Do());
    ASSERT_OK(Make(disk_)->Undo());
    EXPECT_FALSE(host_.root().Exists(kAgentUnit));
    if (is_through && is_new_through) {
      break;
    }
  }
}

TEST_F(AgentStageTest, KilledAtAnyWriteOfUndoItIsUndoneByTheNext) {
  for (int actions = 0;; ++actions) {
    SCOPED_TRACE(actions);
    ASSERT_OK(Make(disk_)->Do());
    change::Fate mortal_fate(change::Fate::End::kDead, actions);
    change::MortalDisk mortal(disk_, mortal_fate);
    const bool is_through = Make(mortal)->Undo().ok();
    ASSERT_OK(Make(disk_)->Undo());
    EXPECT_FALSE(host_.root().Exists(kProgram));
    EXPECT_FALSE(host_.root().Exists(kAgentUnit));
    EXPECT_THAT(ReadRecord(host_.root()), IsOkAndHolds(Record{}));
    if (is_through) {
      break;
    }
  }
}

}  // namespace
}  // namespace kgpu::bringup
