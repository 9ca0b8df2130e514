#include "src/container/engine/apply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "src/container/engine/find.h"
#include "src/container/engine/test_engine_host.h"
#include "src/host/change/test_mortal_disk.h"
#include "testing/fake_clock.h"
#include "testing/status_matchers.h"

namespace kgpu::engine {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kDaemonJson = "{\r\n\t\"debug\" : true , \r\n\t\"labels\": [ ]\r\n}";

// A host with Docker 20.10 running, and all that the work on it takes.
class ApplyTest : public ::testing::Test {
 protected:
  ApplyTest() : disk_(host_.root()) {
    host_.AddProgram("/usr/bin/dockerd", "Docker version 20.10.24, build x\n");
    host_.AddProcess(5, "dockerd", {"dockerd"});
    host_.folder().MakeDir("var/lib/kgpu");
    host_.folder().WriteFile("etc/docker/daemon.json", kDaemonJson);
    api_.SetAnswer([this] { return Facts(); });
  }

  // Docker says what its file said at the last reload.
  StatusOr<LiveFacts> Facts() {
    LiveFacts facts;
    facts.runtimes = {"runc"};
    facts.default_runtime = "runc";
    if (DaemonJson().find("kgpu-runtime") != std::string::npos) {
      facts.runtimes.emplace_back("nvidia");
    }
    return facts;
  }

  std::string DaemonJson() { return host_.folder().ReadFile("etc/docker/daemon.json"); }
  Engine Docker() {
    auto engines = FindEngines(host_.root(), host_.runner(), {.only = Kind::kDocker});
    return engines.empty() ? Engine{} : std::move(engines[0]);
  }
  Dependencies With(change::Disk& disk) {
    return {host_.root(), disk, host_.runner(), control_, api_, clock_};
  }

  StatusOr<Outcome> Configure(change::Disk& disk, const Request& request = {},
                              bool restart = true) {
    const auto lock = LockEngines(With(disk));
    if (!lock.ok()) {
      return lock.status();
    }
    const Engine docker = Docker();
    auto plan = PlanEngine(host_.root(), docker, request);
    return plan.ok() ? Apply(*plan, {.restart = restart}, With(disk)) : plan.status();
  }
  StatusOr<Outcome> Undo(change::Disk& disk, bool restart = true) {
    const auto lock = LockEngines(With(disk));
    if (!lock.ok()) {
      return lock.status();
    }
    const auto state = ReadState(host_.root());
    if (!state.ok() || !state->contains("docker")) {
      return state.ok() ? StatusOr<Outcome>(Outcome{}) : state.status();
    }
    const Engine docker = Docker();
    auto plan = PlanRevert(host_.root(), "docker", state->at("docker"), &docker);
    return plan.ok() ? Revert(*plan, {.restart = restart}, With(disk)) : plan.status();
  }

  // Every path below /etc and /var of the host, with the bytes of files.
  std::map<std::string, std::string> Tree() {
    std::map<std::string, std::string> tree;
    for (const char* top : {"etc", "var"}) {
      for (const auto& entry : fs::recursive_directory_iterator(host_.folder().At(top))) {
        const std::string path = fs::relative(entry.path(), host_.folder().path());
        tree[path] = entry.is_directory() ? "" : host_.folder().ReadFile(path);
      }
    }
    return tree;
  }

  EngineHost host_;
  change::HostDisk disk_;
  FakeControl control_;
  FakeApi api_;
  FakeClock clock_;
};

TEST_F(ApplyTest, ConfiguresReloadsAndRevertsToTheSameBytes) {
  const auto before = Tree();

  const auto configured = Configure(disk_);

  ASSERT_OK(configured);
  EXPECT_THAT(configured->done, ElementsAre(HasSubstr("changed "), HasSubstr("reloaded docker")));
  EXPECT_THAT(configured->notes, IsEmpty());
  EXPECT_EQ(control_.reloads(), 1);
  EXPECT_EQ(control_.restarts(), 0);

  const auto reverted = Undo(disk_);

  ASSERT_OK(reverted);
  EXPECT_EQ(control_.reloads(), 1);
  EXPECT_EQ(control_.restarts(), 1);  // SIGHUP does not make dockerd forget a runtime
  EXPECT_EQ(Tree(), before);
}

TEST_F(ApplyTest, RevertReloadsWhereOtherRuntimesStay) {
  host_.folder().WriteFile("etc/docker/daemon.json", R"({"runtimes": {"crun": {"path": "crun"}}})");
  ASSERT_OK(Configure(disk_));

  ASSERT_OK(Undo(disk_));

  EXPECT_EQ(control_.reloads(), 2);
  EXPECT_EQ(control_.restarts(), 0);
}

TEST_F(ApplyTest, DoesNothingTheSecondTime) {
  ASSERT_OK(Configure(disk_));
  const auto before = Tree();

  const auto again = Configure(disk_);

  ASSERT_OK(again);
  EXPECT_THAT(again->done, IsEmpty());
  EXPECT_EQ(control_.reloads(), 1);
  EXPECT_EQ(Tree(), before);
}

TEST_F(ApplyTest, TouchesTheEngineOnlyWhenAsked) {
  const auto outcome = Configure(disk_, {}, false);

  ASSERT_OK(outcome);
  EXPECT_EQ(control_.reloads(), 0);
  EXPECT_THAT(outcome->notes,
              ElementsAre(AllOf(HasSubstr("not applied yet"), HasSubstr("kill -HUP 5"))));
}

TEST_F(ApplyTest, BringsIntoForceWhatWasLeftPending) {
  clock_.Advance(std::chrono::hours(1));  // dockerd was started before
  ASSERT_OK(Configure(disk_, {}, false));

  const auto outcome = Configure(disk_, {}, true);

  ASSERT_OK(outcome);
  EXPECT_EQ(control_.reloads(), 1);
  EXPECT_THAT(outcome->done, ElementsAre(HasSubstr("reloaded docker")));
}

TEST_F(ApplyTest, GoesBackWhenTheEngineDoesNotShowTheChange) {
  const auto before = Tree();
  api_.SetAnswer([] {
    LiveFacts facts;
    facts.runtimes = {"runc"};
    return facts;
  });

  const auto outcome = Configure(disk_);

  EXPECT_THAT(outcome, StatusIs(StatusCode::kFailedPrecondition,
                                AllOf(HasSubstr("did not report the runtime \"nvidia\""),
                                      HasSubstr("all files are as before, and docker uses"))));
  EXPECT_EQ(control_.reloads(), 2);
  EXPECT_EQ(Tree(), before);
}

TEST_F(ApplyTest, GoesBackWhenTheEngineDoesNotStart) {
  host_.AddProgram("/usr/bin/dockerd", "Docker version 25.0.1, build x\n");
  host_.runner().Answer("/usr/bin/dockerd --validate", "configuration OK\n");
  control_.FailRestartsAfter(0);
  const auto before = Tree();

  const auto outcome = Configure(disk_);

  EXPECT_THAT(outcome,
              StatusIs(StatusCode::kUnavailable, AllOf(HasSubstr("systemctl restart: exit code 1"),
                                                       HasSubstr("but docker does not answer"))));
  EXPECT_EQ(control_.restarts(), 2);
  EXPECT_EQ(Tree(), before);
}

TEST_F(ApplyTest, GoesBackWhenTheEngineRefusesTheFile) {
  host_.AddProgram("/usr/bin/dockerd", "Docker version 25.0.1, build x\n");
  host_.runner().Answer("/usr/bin/dockerd --validate", "", 1, "unable to configure: no\n");
  const auto before = Tree();

  const auto outcome = Configure(disk_);

  EXPECT_THAT(outcome,
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no; all files are as")));
  EXPECT_EQ(control_.restarts(), 0);
  EXPECT_EQ(Tree(), before);
}

TEST_F(ApplyTest, ChangesNothingWhenItCannotRestart) {
  host_.AddProgram("/usr/bin/dockerd", "Docker version 25.0.1, build x\n");
  control_.SetWay(FailedPrecondition("docker is not run by a service manager"));
  const auto before = Tree();

  EXPECT_THAT(Configure(disk_),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("run by a service")));
  EXPECT_EQ(Tree(), before);
}

TEST_F(ApplyTest, MakesAndRemovesFilesAndFolders) {
  fs::remove_all(host_.folder().At("etc/docker"));
  host_.folder().MakeDir("etc");
  const auto before = Tree();

  ASSERT_OK(Configure(disk_));
  EXPECT_THAT(DaemonJson(), HasSubstr("nvidia"));
  ASSERT_OK(Undo(disk_));

  EXPECT_EQ(Tree(), before);
}

TEST_F(ApplyTest, RevertSaysWhyItRestartsAndNotWhyConfigureDid) {
  Request request;
  request.set_default = true;
  ASSERT_OK(Configure(disk_, request, false));
  const auto state = ReadState(host_.root());
  ASSERT_OK(state);
  ASSERT_THAT(state->at("docker").reach_reason, HasSubstr("nvidia-container-runtime-hook"));
  const Engine docker = Docker();

  const auto plan = PlanRevert(host_.root(), "docker", state->at("docker"), &docker);

  ASSERT_OK(plan);
  EXPECT_EQ(plan->reach, Reach::kRestart);
  EXPECT_EQ(plan->reach_reason, "dockerd forgets a runtime only when it restarts");
}

TEST_F(ApplyTest, RevertTakesAwayWhatAKillInAWriteLeft) {
  const auto before = Tree();
  ASSERT_OK(Configure(disk_));
  host_.folder().WriteFile("etc/docker/.daemon.json.tmp0", "{");
  host_.folder().WriteFile("var/lib/kgpu/.engines.json.tmp0", "{");

  ASSERT_OK(Undo(disk_));

  EXPECT_EQ(Tree(), before);
}

TEST_F(ApplyTest, APasswordIsNeitherShownByARevertNorOpenedWhenThatFails) {
  host_.AddSystemd({"docker.service"});
  Request request;
  request.proxies.http = "http://user:s3cret@proxy:3128";
  ASSERT_OK(Configure(disk_, request));
  const std::string drop_in = "etc/systemd/system/docker.service.d/kgpu-proxy.conf";
  ASSERT_THAT(host_.folder().ReadFile(drop_in), HasSubstr("s3cret"));
  const auto state = ReadState(host_.root());
  ASSERT_OK(state);
  const Engine docker = Docker();

  const auto plan = PlanRevert(host_.root(), "docker", state->at("docker"), &docker);

  ASSERT_OK(plan);
  EXPECT_THAT(Print(*plan), AllOf(HasSubstr("kgpu-proxy.conf\n+++ /dev/null\n(not shown"),
                                  Not(HasSubstr("s3cret"))));

  control_.FailRestartsAfter(1);
  EXPECT_FALSE(Undo(disk_).ok());
  EXPECT_THAT(host_.folder().ReadFile(drop_in), HasSubstr("s3cret"));
  EXPECT_EQ(fs::status(host_.folder().At(drop_in)).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(ApplyTest, RevertKeepsWhatOthersEditedMeanwhile) {
  ASSERT_OK(Configure(disk_));
  std::string text = DaemonJson();
  text.replace(text.find("\"debug\" : true"), 14, "\"debug\" : false");
  host_.folder().WriteFile("etc/docker/daemon.json", text);

  ASSERT_OK(Undo(disk_));

  std::string wanted = kDaemonJson;
  wanted.replace(wanted.find("true"), 4, "false");
  EXPECT_EQ(DaemonJson(), wanted);
}

TEST_F(ApplyTest, RevertUndoesSeveralConfigures) {
  const auto before = Tree();
  ASSERT_OK(Configure(disk_));
  Request more;
  more.set_default = true;
  more.registries.insecure = {"reg.example:5000"};
  api_.SetAnswer([] { return LiveFacts{}; });
  ASSERT_OK(Configure(disk_, more));
  EXPECT_THAT(DaemonJson(), AllOf(HasSubstr("default-runtime"), HasSubstr("reg.example")));

  ASSERT_OK(Undo(disk_));

  EXPECT_EQ(Tree(), before);
}

TEST_F(ApplyTest, RevertAfterOthersEditsBetweenTwoConfigures) {
  ASSERT_OK(Configure(disk_));
  std::string text = DaemonJson();
  text.replace(text.find("\"debug\" : true"), 14, "\"debug\" : false");
  host_.folder().WriteFile("etc/docker/daemon.json", text);
  Request more;
  more.registries.insecure = {"reg.example:5000"};
  ASSERT_OK(Configure(disk_, more));

  ASSERT_OK(Undo(disk_));

  std::string wanted = kDaemonJson;
  wanted.replace(wanted.find("true"), 4, "false");
  EXPECT_EQ(DaemonJson(), wanted);
}

TEST_F(ApplyTest, AFileThatWasRemovedSinceStaysAway) {
  ASSERT_OK(Configure(disk_));
  fs::remove(host_.folder().At("etc/docker/daemon.json"));

  const auto outcome = Undo(disk_);

  ASSERT_OK(outcome);
  EXPECT_THAT(outcome->notes, Contains(HasSubstr("was removed since")));
  EXPECT_FALSE(host_.root().Exists("etc/docker/daemon.json"));
}

TEST_F(ApplyTest, AKillAtAnyPointCanBeResumed) {
  ASSERT_OK(Configure(disk_));
  const auto wanted = Tree();
  ASSERT_OK(Undo(disk_));
  for (int lives = 0;; ++lives) {
    change::Fate dying_fate(change::Fate::End::kDead, lives);
    change::MortalDisk dying(disk_, dying_fate);
    const bool is_done = Configure(dying).ok();

    ASSERT_OK(Configure(disk_)) << "after " << lives << " writes";

    ASSERT_EQ(Tree(), wanted) << "after " << lives << " writes";
    ASSERT_OK(Undo(disk_));
    if (is_done) {
      EXPECT_GT(lives, 7);
      return;
    }
  }
}

TEST_F(ApplyTest, AKillAtAnyPointCanBeReverted) {
  const auto before = Tree();
  for (int lives = 0;; ++lives) {
    change::Fate dying_fate(change::Fate::End::kDead, lives);
    change::MortalDisk dying(disk_, dying_fate);
    const bool is_done = Configure(dying).ok();

    ASSERT_OK(Undo(disk_)) << "after " << lives << " writes";
    ASSERT_OK(Configure(disk_));
    ASSERT_OK(Undo(disk_));

    ASSERT_EQ(Tree(), before) << "after " << lives << " writes";
    if (is_done) {
      return;
    }
  }
}

TEST_F(ApplyTest, AKillWhileRevertingCanBeReverted) {
  const auto before = Tree();
  for (int lives = 0;; ++lives) {
    ASSERT_OK(Configure(disk_));
    change::Fate dying_fate(change::Fate::End::kDead, lives);
    change::MortalDisk dying(disk_, dying_fate);
    const bool is_done = Undo(dying).ok();

    ASSERT_OK(Undo(disk_)) << "after " << lives << " writes";

    ASSERT_EQ(Tree(), before) << "after " << lives << " writes";
    if (is_done) {
      return;
    }
  }
}

TEST_F(ApplyTest, AKillBeforeTheRestartOfARevertStillRestarts) {
  ASSERT_OK(Configure(disk_));
  for (int lives = 0;; ++lives) {
    change::Fate dying_fate(change::Fate::End::kDead, lives);
    change::MortalDisk dying(disk_, dying_fate);
    if (!Undo(dying).ok() && DaemonJson() == kDaemonJson) {
      break;  // the file is done, the record is still there
    }
    ASSERT_LT(lives, 20);
  }

  const int restarts = control_.restarts();
  ASSERT_OK(Undo(disk_));

  EXPECT_EQ(control_.restarts(), restarts + 1);
}

TEST_F(ApplyTest, AProxyIsADropInOfTheUnitThatIsReadAgain) {
  host_.AddSystemd({"docker.service"});
  host_.folder().MakeDir("etc/systemd/system");
  const auto before = Tree();
  Request request;
  request.proxies.http = "http://user:word@proxy:3128";

  ASSERT_OK(Configure(disk_, request));

  const std::string path = "etc/systemd/system/docker.service.d/kgpu-proxy.conf";
  EXPECT_THAT(host_.folder().ReadFile(path), HasSubstr("HTTP_PROXY=http://user:word@proxy:3128"));
  EXPECT_EQ(fs::status(host_.folder().At(path)).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(control_.unit_reloads(), 1);
  EXPECT_EQ(control_.restarts(), 1);

  ASSERT_OK(Undo(disk_));
  EXPECT_EQ(control_.unit_reloads(), 2);
  EXPECT_EQ(Tree(), before);
}

TEST_F(ApplyTest, OnlyOneWorksAtATime) {
  const Dependencies deps = With(disk_);
  const auto first = LockEngines(deps);
  ASSERT_OK(first);

  EXPECT_THAT(LockEngines(deps), StatusIs(StatusCode::kUnavailable, HasSubstr("another kgpu")));
}

TEST_F(ApplyTest, AnEngineThatDoesNotRunReadsItLater) {
  fs::remove_all(host_.folder().At("proc/5"));

  const auto outcome = Configure(disk_);

  ASSERT_OK(outcome);
  EXPECT_EQ(control_.reloads(), 0);
  EXPECT_THAT(outcome->notes, ElementsAre(HasSubstr("is not running")));
}

}  // namespace
}  // namespace kgpu::engine
