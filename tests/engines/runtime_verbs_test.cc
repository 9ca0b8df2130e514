// kgpu runtime on real engines: they run in a box that looks like a host of their own, with their
// files where they always are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/e2e/sim_host.h"
#include "tests/engines/boxed_engine.h"
#include "tests/engines/image.h"
#include "tests/engines/matchers.h"
#include "tests/engines/programs.h"
#include "tests/engines/report.h"

namespace kgpu::engines {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Every byte odd, and all of it needed here.
constexpr const char* kDaemonJson =
    "{\r\n\t\"bridge\" :\"none\",\r\n   \"iptables\": false , \"ip6tables\":false,\r\n"
    "\"labels\":[ ],\r\n\t\"log-level\": \"warn\"}";

class RuntimeVerbsOnDocker : public ::testing::TestWithParam<Origin> {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNot({"dockerd", "docker", "containerd"}, GetParam());
        !reason.empty()) {
      GTEST_SKIP() << reason;
    }
    host_.box().WriteEtc("docker/daemon.json", FirstDaemonJson());
    ASSERT_NO_FATAL_FAILURE(
        host_.Start(FindProgram("dockerd", GetParam()), "docker.sock", GetParam()));
  }
  std::string Info(const std::string& format) const {
    return host_.box().Enter({FindProgram("docker", GetParam()), "info", "--format", format}).out;
  }
  virtual std::string FirstDaemonJson() const { return kDaemonJson; }
  std::string DaemonJson() const { return host_.Read("/etc/docker/daemon.json"); }

  BoxedEngine host_;
};

// From nothing to a container with a GPU, and back.
class RuntimeVerbsForGpus : public RuntimeVerbsOnDocker {
 protected:
  void SetUp() override {
    const e2e::Result generated = sim_.Kgpu({"cdi", "generate"});
    ASSERT_EQ(generated.code, 0) << generated.err;
    host_.box().ShareRun(sim_.path());
    RuntimeVerbsOnDocker::SetUp();
  }
  e2e::Result Docker(std::vector<std::string> words) const {
    std::vector<std::string> argv = {FindProgram("docker", GetParam()), "--config",
                                     host_.box().At("client"), "--host",
                                     "unix://" + host_.box().At("run/docker.sock")};
    argv.insert(argv.end(), words.begin(), words.end());
    return e2e::RunProgram(std::move(argv));
  }
  e2e::Result Run(const std::vector<std::string>& flags) const {
    std::vector<std::string> words = {"run", "--rm", "--network=none",
                                      "--cgroup-parent=" + host_.box().cgroup_parent(),
                                      "--entrypoint=/bin/sh"};
    words.insert(words.end(), flags.begin(), flags.end());
    words.insert(words.end(), {kImageName, "/report"});
    return Docker(std::move(words));
  }

  e2e::SimHost sim_{"4xT4"};
};
INSTANTIATE_TEST_SUITE_P(Docker, RuntimeVerbsForGpus,
                         ::testing::Values(Origin::kMachine, Origin::kTrixie), OriginName());

TEST_P(RuntimeVerbsForGpus, SetDefaultMakesDockerTakeTheGpusFlag) {
  Image image;
  ASSERT_EQ(Docker({"load", "--input", image.archive()}).code, 0);
  ASSERT_NE(Run({"--gpus", "device=1"}).code, 0);

  const e2e::Result done = host_.Kgpu({"configure", "--engine", "docker", "--set-default",
                                       "--restart", "--restart-with", host_.Restart()});

  ASSERT_EQ(done.code, 0) << done.err << host_.Log();
  const e2e::Result run = Run({"--gpus", "device=1"});
  EXPECT_THAT(ParseReport(run.out), HasGpus(Gpus{1})) << run.err;
  EXPECT_THAT(ParseReport(Run({}).out), HasGpus(Gpus{}));
  const e2e::Result check = host_.Kgpu({"check", "--engine", "docker"});
  EXPECT_EQ(check.out, "docker: everything is ok\n") << check.err;

  ASSERT_EQ(host_.Kgpu({"revert", "--restart", "--restart-with", host_.Restart()}).code, 0);
  EXPECT_EQ(DaemonJson(), kDaemonJson);
  EXPECT_NE(Run({"--gpus", "device=1"}).code, 0);
  EXPECT_THAT(ParseReport(Run({}).out), HasGpus(Gpus{}));
}

// Docker's own containers outlive its restart.
class RuntimeVerbsWithLiveRestore : public RuntimeVerbsForGpus {
 protected:
  std::string FirstDaemonJson() const override {
    return R"({"bridge":"none","iptables":false,"ip6tables":false,"live-restore":true})";
  }
};
INSTANTIATE_TEST_SUITE_P(Docker, RuntimeVerbsWithLiveRestore,
                         ::testing::Values(Origin::kMachine, Origin::kTrixie), OriginName());

TEST_P(RuntimeVerbsWithLiveRestore, RevertLeavesWhatAContainerNeedsToStop) {
  Image image;
  ASSERT_EQ(Docker({"load", "--input", image.archive()}).code, 0);
  ASSERT_EQ(host_.Kgpu({"configure", "--engine", "docker", "--runtime", "--restart"}).code, 0);
  const e2e::Result started =
      Docker({"run", "--detach", "--network=none", "--runtime=nvidia", "--name=stays",
              "--cgroup-parent=" + host_.box().cgroup_parent(), kImageName});
  ASSERT_EQ(started.code, 0) << started.err;

  const e2e::Result reverted =
      host_.Kgpu({"revert", "--restart", "--restart-with", host_.Restart()});

  EXPECT_EQ(reverted.code, 0) << reverted.err << host_.Log();
  EXPECT_THAT(reverted.err, HasSubstr("kgpu-runtime is kept: 1 container started by it"));
  EXPECT_EQ(DaemonJson(), FirstDaemonJson());
  EXPECT_EQ(Docker({"rm", "--force", "stays"}).code, 0) << host_.Log();
  ASSERT_EQ(host_.Kgpu({"revert"}).code, 0);
  EXPECT_THAT(host_.Leftovers(), IsEmpty());
}

class RuntimeVerbsOnOldDocker : public RuntimeVerbsOnDocker {};
INSTANTIATE_TEST_SUITE_P(Docker, RuntimeVerbsOnOldDocker, ::testing::Values(Origin::kMachine),
                         OriginName());

TEST_P(RuntimeVerbsOnOldDocker, ConfigureBySighupAndRevert) {
  const e2e::Result dry = host_.Kgpu({"configure", "--engine", "docker", "--dry-run"});
  EXPECT_THAT(dry.out, AllOf(HasSubstr("+++ /etc/docker/daemon.json"), HasSubstr("step: reload")));
  EXPECT_EQ(DaemonJson(), kDaemonJson);

  const e2e::Result done = host_.Kgpu({"configure", "--engine", "docker", "--restart"});

  ASSERT_EQ(done.code, 0) << done.err << host_.Log();
  EXPECT_THAT(done.out, HasSubstr("reloaded docker; it reports the runtime \"nvidia\""));
  EXPECT_THAT(Info("{{json .Runtimes}}"), HasSubstr("/usr/local/bin/kgpu-runtime"));
  EXPECT_THAT(host_.Leftovers(), AllOf(HasSubstr("/usr/local/bin/nvidia-container-runtime-hook"),
                                       HasSubstr("/etc/kgpu/runtime.json")));
  EXPECT_THAT(host_.Kgpu({"status"}).out, HasSubstr("nvidia"));
  EXPECT_THAT(host_.Kgpu({"configure", "--engine", "docker", "--restart"}).out,
              HasSubstr("docker: nothing to change"));

  const e2e::Result reverted =
      host_.Kgpu({"revert", "--restart", "--restart-with", host_.Restart()});

  ASSERT_EQ(reverted.code, 0) << reverted.err << host_.Log();
  EXPECT_EQ(DaemonJson(), kDaemonJson);
  EXPECT_THAT(Info("{{json .Runtimes}}"), Not(HasSubstr("nvidia")));
  EXPECT_THAT(host_.Leftovers(), IsEmpty());
}

TEST_P(RuntimeVerbsOnOldDocker, AutoIsEveryEngine) {
  host_.box().Enter({"/bin/sh", "-c", "echo 'version = 2 # mine' >/etc/containerd/config.toml"});

  const e2e::Result done = host_.Kgpu({"configure", "--restart"});

  ASSERT_EQ(done.code, 0) << done.err << host_.Log();
  EXPECT_THAT(done.out, AllOf(HasSubstr("docker: reloaded"),
                              HasSubstr("containerd: changed /etc/containerd/config.toml"),
                              HasSubstr("podman: nothing to change")));
  EXPECT_THAT(done.err,
              HasSubstr("containerd is not running; the change takes effect when it starts"));

  ASSERT_EQ(host_.Kgpu({"revert", "--engine", "containerd"}).code, 0);
  EXPECT_EQ(host_.Read("/etc/containerd/config.toml"), "version = 2 # mine\n");
  EXPECT_THAT(host_.Leftovers(), HasSubstr("/usr/local/bin/kgpu-runtime"));  // docker has it still

  EXPECT_THAT(host_.Kgpu({"revert"}).err, HasSubstr("kgpu-runtime is kept"));
  EXPECT_EQ(DaemonJson(), kDaemonJson);
  ASSERT_EQ(host_.box().Enter({host_.Restart()}).code, 0);
  ASSERT_EQ(host_.Kgpu({"revert"}).code, 0);
  EXPECT_THAT(host_.Leftovers(), IsEmpty());
}

TEST_P(RuntimeVerbsOnOldDocker, PodmanGetsTheRuntimeWhenAsked) {
  if (FindProgram("podman").empty()) {
    GTEST_SKIP() << "podman is not installed: run scripts/setup.sh";
  }
  ASSERT_EQ(host_.Kgpu({"configure", "--engine", "podman", "--runtime"}).code, 0);

  const e2e::Result info = host_.box().Enter(
      {FindProgram("podman"), "--runtime=nvidia", "info", "--format", "{{.Host.OCIRuntime.Path}}"});

  EXPECT_EQ(info.out, "/usr/local/bin/kgpu-runtime\n") << info.err;
  ASSERT_EQ(host_.Kgpu({"revert"}).code, 0);
  EXPECT_NE(host_.box().Enter({FindProgram("podman"), "--runtime=nvidia", "info"}).code, 0);
  EXPECT_THAT(host_.Leftovers(), IsEmpty());
}

TEST_P(RuntimeVerbsOnOldDocker, AHostInAFolderIsAsGood) {
  const std::string host = host_.box().At("host");
  ASSERT_EQ(host_.box().Enter({"/bin/sh", "-c", "mkdir $1 && mount --rbind / $1", "sh", host}).code,
            0);

  const e2e::Result done =
      host_.Kgpu({"configure", "--host-root", host, "--engine", "docker", "--restart"});

  ASSERT_EQ(done.code, 0) << done.err << host_.Log();
  EXPECT_THAT(Info("{{json .Runtimes}}"), HasSubstr("\"/usr/local/bin/kgpu-runtime\""));
  EXPECT_THAT(host_.Kgpu({"status", "--host-root", host}).out, HasSubstr("20.10"));
  ASSERT_EQ(host_.Kgpu({"revert", "--host-root", host}).code, 0);
  EXPECT_EQ(DaemonJson(), kDaemonJson);
}

TEST_P(RuntimeVerbsOnOldDocker, ALinkStaysOne) {
  ASSERT_EQ(host_.box()
                .Enter({"/bin/sh", "-c",
                        "mv /etc/docker/daemon.json /etc/real.json && ln -s ../real.json "
                        "/etc/docker/daemon.json"})
                .code,
            0);

  ASSERT_EQ(host_.Kgpu({"configure", "--engine", "docker", "--restart"}).code, 0);

  EXPECT_EQ(host_.box().Enter({"/bin/readlink", "/etc/docker/daemon.json"}).out, "../real.json\n");
  EXPECT_THAT(host_.Read("/etc/real.json"), HasSubstr("kgpu-runtime"));
  ASSERT_EQ(host_.Kgpu({"revert"}).code, 0);
  EXPECT_EQ(host_.Read("/etc/real.json"), kDaemonJson);
}

class RuntimeVerbsOnCdiDocker : public RuntimeVerbsOnDocker {};
INSTANTIATE_TEST_SUITE_P(Docker, RuntimeVerbsOnCdiDocker, ::testing::Values(Origin::kTrixie),
                         OriginName());

TEST_P(RuntimeVerbsOnCdiDocker, SwitchesCdiOnByARestart) {
  const e2e::Result done = host_.Kgpu(
      {"configure", "--engine", "docker", "--restart", "--restart-with", host_.Restart()});

  ASSERT_EQ(done.code, 0) << done.err << host_.Log();
  EXPECT_THAT(done.out, HasSubstr("restarted docker; it reports CDI on"));
  EXPECT_THAT(Info("{{json .CDISpecDirs}}"), HasSubstr("/var/run/cdi"));
  EXPECT_THAT(host_.Leftovers(), Not(HasSubstr("kgpu-runtime")));

  ASSERT_EQ(host_.Kgpu({"revert", "--restart", "--restart-with", host_.Restart()}).code, 0);
  EXPECT_EQ(DaemonJson(), kDaemonJson);
  EXPECT_THAT(Info("{{json .CDISpecDirs}}"), Not(HasSubstr("cdi")));
}

TEST_P(RuntimeVerbsOnCdiDocker, WhatItsValidatorRefusesIsTakenBack) {
  // Sound JSON of the right types, yet no address: only dockerd itself can know.
  std::string broken = kDaemonJson;
  broken.replace(broken.find("\"labels\":[ ]"), 12, "\"dns\": [\"not an address\"]");
  host_.box().Enter({"/bin/sh", "-c", "printf %s \"$1\" >/etc/docker/daemon.json", "sh", broken});

  for (const char* way : {"--cdi", "--runtime"}) {
    const e2e::Result done = host_.Kgpu(
        {"configure", "--engine", "docker", way, "--restart", "--restart-with", host_.Restart()});

    EXPECT_EQ(done.code, 6) << done.out;
    EXPECT_THAT(done.err, AllOf(HasSubstr("not an address"), HasSubstr("all files are as before"),
                                Not(HasSubstr("stays"))));
    EXPECT_THAT(done.out, Not(HasSubstr("kgpu-runtime")));
    EXPECT_EQ(DaemonJson(), broken);
    EXPECT_THAT(host_.Leftovers(), IsEmpty()) << way;
  }
}

class RuntimeVerbsOnContainerd : public ::testing::TestWithParam<Origin> {
 protected:
  static constexpr const char* kConfig =
      "# kept as it is\nversion = 2\n\n[plugins]\n  [plugins.\"io.containerd.grpc.v1.cri\"]   # "
      "ours\n"
      "    restrict_oom_score_adj=true\n\n[debug]\n\tlevel = 'warn'\n";

  void SetUp() override {
    if (const std::string reason = WhyNot({"containerd"}, GetParam()); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
    host_.box().WriteEtc("containerd/config.toml", kConfig);
    ASSERT_NO_FATAL_FAILURE(host_.Start(FindProgram("containerd", GetParam()),
                                        "containerd/containerd.sock", GetParam()));
  }
  std::string Config() const { return host_.Read("/etc/containerd/config.toml"); }
  e2e::Result Configure(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"configure", "--engine",       "containerd",
                                      "--restart", "--restart-with", host_.Restart()};
    words.insert(words.end(), more.begin(), more.end());
    return host_.Kgpu(words);
  }
  e2e::Result Revert() const {
    return host_.Kgpu({"revert", "--restart", "--restart-with", host_.Restart()});
  }

  BoxedEngine host_;
};
INSTANTIATE_TEST_SUITE_P(Containerd, RuntimeVerbsOnContainerd,
                         ::testing::Values(Origin::kMachine, Origin::kTrixie, Origin::kForky),
                         OriginName());

TEST_P(RuntimeVerbsOnContainerd, TheRuntimeComesAndGoes) {
  const e2e::Result done = Configure({"--runtime"});

  ASSERT_EQ(done.code, 0) << done.err << host_.Log();
  EXPECT_THAT(done.out, HasSubstr("restarted containerd; it reports the runtime \"nvidia\""));
  EXPECT_THAT(host_.Kgpu({"status", "--output", "json"}).out, HasSubstr("\"runtime\": \"nvidia\""));
  EXPECT_THAT(Configure({"--runtime"}).out, HasSubstr("containerd: nothing to change"));

  const e2e::Result reverted = Revert();

  ASSERT_EQ(reverted.code, 0) << reverted.err << host_.Log();
  EXPECT_EQ(Config(), kConfig);
  EXPECT_THAT(host_.Leftovers(), IsEmpty());
  EXPECT_THAT(host_.Kgpu({"status", "--output", "json"}).out, HasSubstr("\"runtime\": null"));
}

TEST_P(RuntimeVerbsOnContainerd, OneThatDoesNotStartGetsItsOldFileBack) {
  host_.WriteRestart("! grep -rq kgpu-runtime /etc/containerd || exit 1");

  const e2e::Result done = Configure({"--runtime"});

  EXPECT_EQ(done.code, 4) << done.out;
  EXPECT_THAT(done.err, HasSubstr("all files are as before, and containerd uses them"));
  EXPECT_EQ(Config(), kConfig);
  EXPECT_THAT(host_.Leftovers(), IsEmpty());
  EXPECT_THAT(host_.Kgpu({"status"}).out, Not(HasSubstr("does not answer")));
}

TEST_P(RuntimeVerbsOnContainerd, KilledAtTheRestartItGoesOnOrBack) {
  host_.WriteRestart("kill -9 $PPID");
  ASSERT_EQ(Configure({"--runtime"}).code, 137);
  host_.WriteRestart("");
  EXPECT_THAT(host_.Kgpu({"status"}).out, HasSubstr("interrupted"));

  const e2e::Result again = Configure({"--runtime"});

  ASSERT_EQ(again.code, 0) << again.err << host_.Log();
  EXPECT_THAT(host_.Kgpu({"status"}).out, HasSubstr("nvidia"));

  host_.WriteRestart("kill -9 $PPID");
  ASSERT_EQ(Revert().code, 137);
  host_.WriteRestart("");
  const e2e::Result reverted = Revert();

  ASSERT_EQ(reverted.code, 0) << reverted.err << host_.Log();
  EXPECT_EQ(Config(), kConfig);
  EXPECT_THAT(host_.Leftovers(), IsEmpty());
}

}  // namespace
}  // namespace kgpu::engines
