#include "src/container/engine/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "src/container/engine/find.h"
#include "src/container/engine/test_engine_host.h"
#include "src/container/inject/index.h"

namespace kgpu::engine {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using report::Finding;

auto Says(const std::string& text, const std::string& fix) {
  return AllOf(Field(&Finding::message, HasSubstr(text)),
               Field(&Finding::fix, Field(&report::Fix::commands, Contains(HasSubstr(fix)))));
}

// Docker 20.10 with kgpu's runtime, all of it as it should be.
class CheckTest : public ::testing::Test {
 protected:
  CheckTest() {
    host_.AddProgram("/usr/bin/dockerd", "Docker version 20.10.24, build x\n");
    host_.AddProgram("/usr/local/bin/kgpu-runtime", "runc version 1.1.5\n");
    host_.AddProcess(5, "dockerd", {"dockerd"});
    host_.folder().WriteFile(
        "etc/docker/daemon.json",
        R"({"runtimes": {"nvidia": {"path": "/usr/local/bin/kgpu-runtime"}}})");
    host_.folder().WriteFile("run/kgpu/injection.json", inject::PrintIndex({}));
    record_.phase = Phase::kApplied;
    record_.expected.runtime = "nvidia";
    record_.reach = Reach::kReload;
    record_.reach_reason = "dockerd reads it at SIGHUP";
    facts_.runtimes = {"nvidia", "runc"};
  }

  std::vector<Finding> Check(Kind kind = Kind::kDocker) {
    const auto engines = FindEngines(host_.root(), host_.runner(), {.only = kind});
    if (engines.empty()) {
      return {{.message = "no engine"}};
    }
    CheckInput input;
    input.engine = &engines[0];
    input.record = has_record_ ? &record_ : nullptr;
    if (engines[0].daemon) {
      input.live = facts_;
    }
    return CheckEngine(host_.root(), host_.runner(), input);
  }

  EngineHost host_;
  Record record_;
  bool has_record_ = true;
  LiveFacts facts_;
};

TEST_F(CheckTest, FindsNothingOnAHealthyHost) {
  EXPECT_THAT(Check(), IsEmpty());
}

TEST_F(CheckTest, DoesNotSayWhatAnEngineOfUnknownVersionCannotDo) {
  host_.folder().WriteFile("etc/docker/daemon.json", "{}");
  host_.AddProgram("/usr/bin/dockerd", "");
  has_record_ = false;

  EXPECT_THAT(Check(), Contains(Says(": CDI support is unknown, and it has no kgpu runtime",
                                     "kgpu runtime configure")));
}

TEST_F(CheckTest, NamesTheLineOfABrokenFile) {
  host_.folder().WriteFile("etc/docker/daemon.json", "{\n\"a\": }\n");

  EXPECT_THAT(Check(), Contains(Says("/etc/docker/daemon.json:2:", "fix the file")));
}

TEST_F(CheckTest, MissesTheRuntimesProgram) {
  host_.folder().WriteFile("etc/docker/daemon.json",
                           R"({"runtimes": {"nvidia": {"path": "/opt/kgpu-runtime"}}})");

  EXPECT_THAT(Check(),
              ElementsAre(Says("/opt/kgpu-runtime is configured as a runtime but does not exist",
                               "kgpu runtime configure --engine docker")));
}

TEST_F(CheckTest, TriesTheRuntime) {
  host_.runner().Answer("/usr/local/bin/kgpu-runtime --version", "", 1, "no runc or crun\n");

  EXPECT_THAT(Check(), ElementsAre(Says("does not run: exit code 1: no runc or crun", "runc")));
}

TEST_F(CheckTest, SeesThatTheEngineRunsWithoutTheChange) {
  facts_.runtimes = {"runc"};
  record_.pending = Reach::kReload;

  EXPECT_THAT(Check(), ElementsAre(Says("runs without settings from its files", "kill -HUP 5")));
}

TEST_F(CheckTest, SeesThatOthersChangedWhatKgpuWrote) {
  FileRecord file;
  file.path = "/etc/docker/daemon.json";
  file.kind = TextKind::kJson;
  file.changes.push_back({.kind = edit::ChangeKind::kValue,
                          .key = {"default-runtime"},
                          .before = std::nullopt,
                          .after = "\"nvidia\"",
                          .removed = "",
                          .inserted = "\"default-runtime\": \"nvidia\", ",
                          .offset = 1});
  record_.files.push_back(file);
  record_.expected.is_default = true;
  host_.folder().WriteFile(
      "etc/docker/daemon.json",
      R"({"default-runtime": "kata", "runtimes": {"kata": {"path": "/opt/kata"}, )"
      R"("nvidia": {"path": "/usr/local/bin/kgpu-runtime"}}})");
  host_.AddExecutable("/opt/kata");

  EXPECT_THAT(Check(),
              ElementsAre(Says("default-runtime has since been changed to \"kata\"",
                               "kgpu runtime configure --engine docker   # sets it again")));
}

TEST_F(CheckTest, MissesTheInjectionIndex) {
  host_.folder().WriteFile("run/kgpu/injection.json", "{}");

  EXPECT_THAT(Check(), ElementsAre(Says("injection.json", "kgpu cdi generate")));
}

TEST_F(CheckTest, TellsOfAChangeThatWasCutOff) {
  record_.phase = Phase::kApplying;

  EXPECT_THAT(Check(),
              ElementsAre(Says("was interrupted", "# or undo it with kgpu runtime revert")));
}

TEST_F(CheckTest, AnOldEngineWithoutTheRuntimeHasNoGpus) {
  host_.folder().WriteFile("etc/docker/daemon.json", "{}");
  has_record_ = false;

  EXPECT_THAT(Check(), ElementsAre(Says("its containers get no GPU", "kgpu runtime configure")));
}

TEST_F(CheckTest, CdiNeedsASpec) {
  host_.AddProgram("/usr/bin/podman", "podman version 4.3.1\n");
  has_record_ = false;

  EXPECT_THAT(Check(Kind::kPodman),
              ElementsAre(AllOf(Says("no CDI spec declares a GPU, and", "kgpu cdi"),
                                Field(&Finding::severity, report::Severity::kInfo))));
  host_.folder().WriteFile("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
  EXPECT_THAT(Check(Kind::kPodman),
              ElementsAre(AllOf(Says("no CDI spec declares a GPU", "kgpu cdi"),
                                Field(&Finding::severity, report::Severity::kError))));
}

TEST_F(CheckTest, CdiSpecsMustFitTheHost) {
  host_.AddProgram("/usr/bin/podman", "podman version 4.3.1\n");
  host_.folder().WriteFile("etc/cdi/x.json",
                           R"({"cdiVersion": "0.5.0", "kind": "kgpu.dev/gpu", "devices": [{"name":
      "0", "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia0"}]}}]})");
  has_record_ = false;

  EXPECT_THAT(Check(Kind::kPodman),
              ElementsAre(Says("/etc/cdi/x.json: device node /dev/nvidia0", "kgpu cdi")));
}

TEST_F(CheckTest, AnEngineThatDoesNotRunIsReported) {
  host_.AddProgram("/usr/bin/crio", "crio version 1.30.0\n");
  host_.runner().Answer("/usr/bin/crio --config-dir", "");
  host_.AddSystemd({"crio.service"});
  has_record_ = false;

  EXPECT_THAT(Check(Kind::kCrio), Contains(Says("crio is not running", "systemctl start crio")));
}

TEST_F(CheckTest, OneThatNobodyMissesIsARemark) {
  host_.AddProgram("/usr/bin/containerd", "containerd x v2.1.0 x\n");
  host_.runner().Answer("/usr/bin/containerd --config", "");
  const auto engines = FindEngines(host_.root(), host_.runner(), {});
  ASSERT_THAT(engines, ::testing::SizeIs(2));
  CheckInput input;
  input.engine = &engines[1];

  EXPECT_THAT(
      CheckEngine(host_.root(), host_.runner(), input),
      Contains(AllOf(Says("containerd is not running, which is fine", "/usr/bin/containerd"),
                     Field(&Finding::severity, report::Severity::kInfo))));
  host_.folder().WriteFile("var/lib/kubelet/config.yaml", "");
  EXPECT_FALSE(FindEngines(host_.root(), host_.runner(), {})[1].is_spare)
      << "a kubelet cannot use docker in its place";
}

TEST_F(CheckTest, WithoutAProcfsSaysWhatCannotBeChecked) {
  std::filesystem::remove_all(host_.folder().At("proc"));
  host_.runner().Answer("/usr/local/bin/kgpu-runtime --version", "", 1, "open /proc/self/exe\n");
  has_record_ = false;

  const std::vector<Finding> findings = Check();

  ASSERT_THAT(findings, ::testing::SizeIs(1));
  EXPECT_EQ(findings[0].id, "not-checked");
  EXPECT_EQ(findings[0].severity, report::Severity::kInfo);
  EXPECT_THAT(findings[0].message, HasSubstr(host_.folder().path() + "/proc"));
  EXPECT_THAT(findings[0].evidence,
              ElementsAre(HasSubstr("whether /usr/local/bin/kgpu-runtime runs: exit code 1"),
                          HasSubstr("whether docker runs")));
}

TEST_F(CheckTest, AFlagBesideItsKeyIsReported) {
  host_.AddProcess(5, "dockerd", {"dockerd", "--add-runtime=x=y", "--log-driver", "local"});
  EXPECT_THAT(Check(), IsEmpty());
  host_.folder().WriteFile(
      "etc/docker/daemon.json",
      R"({"log-driver": "local", "runtimes": {"nvidia": {"path": "/usr/local/bin/kgpu-runtime"}}})");

  EXPECT_THAT(Check(), ElementsAre(Says("--log-driver=local and log-driver of /etc/docker/",
                                        "remove one of them")));
}

TEST_F(CheckTest, ADefaultRuntimeThatIsNotThereIsReported) {
  host_.folder().WriteFile("etc/docker/daemon.json",
                           R"({"default-runtime": "mine", "runtimes": {"mine": {"path": "/opt/x"},
 "nvidia": {"path": "/usr/local/bin/kgpu-runtime"}}})");

  EXPECT_THAT(Check(), ElementsAre(Says("the default runtime mine is /opt/x, which does not exist",
                                        "install it")));
  host_.AddExecutable("/opt/x");
  EXPECT_THAT(Check(), IsEmpty());
}

// Without a path, the engine takes what its kind of runtime is called.
TEST_F(CheckTest, ADefaultRuntimeWithoutAPathIsLookedForByItsName) {
  const std::string ours = R"("nvidia": {"path": "/usr/local/bin/kgpu-runtime"})";
  const auto write = [&](const std::string& name, const std::string& more) {
    host_.folder().WriteFile(
        "etc/docker/daemon.json",
        fmt::format(R"({{"default-runtime": "{}", "runtimes": {{{}{}}}}})", name, ours, more));
  };
  write("mine", "");
  EXPECT_THAT(Check(), ElementsAre(Says("the default runtime mine is not defined", "install it")));
  write("kata", R"(, "kata": {"runtimeType": "io.containerd.kata.v2"})");
  EXPECT_THAT(Check(),
              ElementsAre(Says("is containerd-shim-kata-v2, which does not exist", "install it")));
  host_.AddExecutable("/usr/bin/containerd-shim-kata-v2");
  EXPECT_THAT(Check(), IsEmpty());
  write("wasm", R"(, "wasm": {"runtimeType": "/opt/wasm-shim"})");
  EXPECT_THAT(Check(), ElementsAre(Says("is /opt/wasm-shim, which does not exist", "install it")));
  write("runc", "");
  host_.AddExecutable("/usr/bin/runc");
  EXPECT_THAT(Check(), IsEmpty());
}

TEST_F(CheckTest, AContainerdOfDockersAloneIsARemark) {
  host_.AddProgram("/usr/bin/containerd", "containerd x 1.7.24 x\n");
  host_.runner().Answer("/usr/bin/containerd --config", "");
  host_.AddProcess(6, "containerd", {"containerd"});
  host_.folder().WriteFile("etc/containerd/config.toml", "disabled_plugins = [\"cri\"]\n");
  std::filesystem::last_write_time(host_.folder().At("etc/containerd/config.toml"),
                                   std::filesystem::file_time_type::min());
  has_record_ = false;

  const std::vector<Finding> findings = Check(Kind::kContainerd);

  EXPECT_THAT(findings,
              ElementsAre(AllOf(Says("/etc/containerd/config.toml:1", "remove the plugin"),
                                Field(&Finding::severity, report::Severity::kInfo))));
  host_.folder().WriteFile("var/lib/kubelet/config.yaml", "");
  std::filesystem::remove_all(host_.folder().At("proc/5"));  // docker is gone
  EXPECT_EQ(Check(Kind::kContainerd).at(0).severity, report::Severity::kError);
}

// NVIDIA/aicr#1688: the toolkit wrote a file of the newest version beside AKS's own of version 2.
TEST_F(CheckTest, AnImportThatIsNewerThanTheMainFileIsReported) {
  has_record_ = false;
  host_.runner().Answer("/usr/bin/containerd --config", "");
  const auto check = [this](const std::string& version, int of_import) {
    host_.AddProgram("/usr/bin/containerd", fmt::format("containerd x v{} y\n", version));
    host_.folder().WriteFile("etc/containerd/config.toml",
                             "version = 2\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n");
    host_.folder().WriteFile("etc/containerd/conf.d/99-nvidia.toml",
                             fmt::format("version = {}\n", of_import));
    return Check(Kind::kContainerd);
  };
  const auto finding = Says(
      "/etc/containerd/conf.d/99-nvidia.toml:1:1: config version 4 is higher than the 2 of "
      "/etc/containerd/config.toml: containerd 2.3.2 does not start",
      "containerd config migrate");
  EXPECT_THAT(check("2.3.2", 4), Contains(finding));
  EXPECT_THAT(check("2.3.2", 2), Not(Contains(finding)));
  EXPECT_THAT(check("2.2.6", 4), Not(Contains(Says("is higher than", "migrate"))));
}

// NVIDIA/nvidia-container-toolkit#1404, #1829: files beside the folder that the engine reads.
TEST_F(CheckTest, AFileThatTheEngineDoesNotReadIsReported) {
  has_record_ = false;
  host_.runner().Answer("/usr/bin/containerd --config", "");
  host_.AddProgram("/usr/bin/containerd", "containerd x v2.1.0 y\n");
  host_.folder().WriteFile("etc/containerd/config.toml", "version = 3\n");
  host_.folder().WriteFile("etc/containerd/config.d/99-nvidia.toml", "version = 3\n");
  const auto finding = Says("/etc/containerd/config.d/99-nvidia.toml: containerd does not read",
                            "move it to /etc/containerd/conf.d");
  EXPECT_THAT(Check(Kind::kContainerd), Contains(finding));
  host_.folder().WriteFile("etc/containerd/config.toml",
                           "version = 3\nimports = [\"/etc/containerd/config.d/*.toml\"]\n");
  EXPECT_THAT(Check(Kind::kContainerd), Not(Contains(finding)));

  host_.AddProgram("/usr/bin/crio", "crio version 1.31.1\n");
  host_.folder().WriteFile("etc/crio/conf.d/99-nvidia.toml", "");
  EXPECT_THAT(Check(Kind::kCrio), Contains(Says("/etc/crio/conf.d/99-nvidia.toml: crio does not",
                                                "move it to /etc/crio/crio.conf.d")));
}

// The toolkit was installed after kgpu.
TEST_F(CheckTest, ARuntimeThatK3sWillAddBesideOursIsReported) {
  host_.AddProgram("/var/lib/rancher/k3s/data/current/bin/containerd", "containerd x v1.7.20\n");
  host_.folder().WriteFile(
      "var/lib/rancher/k3s/agent/etc/containerd/config.toml.tmpl",
      "{{ template \"base\" . }}\n"
      "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.nvidia.options]\n"
      "BinaryName = \"/usr/local/bin/kgpu-runtime\"\n");
  EXPECT_THAT(Check(Kind::kContainerd),
              ::testing::Not(Contains(Field(&Finding::id, "runtime-twice"))));
  host_.AddExecutable("/usr/bin/nvidia-container-runtime");

  EXPECT_THAT(
      Check(Kind::kContainerd),
      Contains(AllOf(Field(&Finding::id, "runtime-twice"),
                     Says("k3s adds a runtime nvidia", "kgpu runtime revert --engine k3s"))));
}

TEST_F(CheckTest, TheShimsOwnConfigurationIsChecked) {
  EXPECT_THAT(CheckShim(host_.root()), IsEmpty());
  host_.folder().WriteFile("etc/kgpu/runtime.json", R"({"acceptEnvs": true})");
  EXPECT_THAT(CheckShim(host_.root()), ElementsAre(Says("acceptEnvs", "fix the file")));
}

TEST_F(CheckTest, ContainerdOlderThanItsFileIsReported) {
  host_.AddProgram("/usr/bin/containerd", "containerd x v2.1.0 x\n");
  host_.runner().Answer("/usr/bin/containerd --config", "");
  host_.AddProcess(6, "containerd", {"containerd"});
  host_.folder().WriteFile("etc/containerd/config.toml", "version = 3\n");  // now; it: long ago
  has_record_ = false;

  EXPECT_THAT(Check(Kind::kContainerd), Contains(Says("was started before", "restart containerd")));
}

}  // namespace
}  // namespace kgpu::engine
