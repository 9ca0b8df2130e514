// kgpu runtime on real engines that run with flags of their own, or with a file that another
// program makes at each start, as k3s and MicroK8s do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "testing/status_matchers.h"
#include "tests/e2e/sim_host.h"
#include "tests/engines/boxed_engine.h"
#include "tests/engines/cri_client.h"
#include "tests/engines/image.h"
#include "tests/engines/matchers.h"
#include "tests/engines/report.h"

namespace kgpu::engines {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A host with four GPUs.
class OwnFlagsTest : public ::testing::TestWithParam<Origin> {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNot({"dockerd", "docker", "containerd", "ctr"}, Needed());
        !reason.empty()) {
      GTEST_SKIP() << reason;
    }
    const e2e::Result generated = sim_.Kgpu({"cdi", "generate"});
    ASSERT_EQ(generated.code, 0) << generated.err;
    host_.box().ShareRun(sim_.path());
  }
  // The suite whose docker is used: forky has only a containerd.
  static Origin Needed() { return GetParam() == Origin::kForky ? Origin::kTrixie : GetParam(); }

  e2e::SimHost sim_{"4xT4"};
  BoxedEngine host_;
};

class DockerFlagsTest : public OwnFlagsTest {
 protected:
  void StartDocker(const std::string& flags) {
    host_.box().WriteEtc("docker/daemon.json", kDaemonJson);
    ASSERT_NO_FATAL_FAILURE(
        host_.Start(FindProgram("dockerd", GetParam()) + " " + flags, "docker.sock", GetParam()));
    ASSERT_EQ(Docker({"load", "--input", image_.archive()}).code, 0);
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
  e2e::Result Configure(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"configure", "--engine",       "docker",
                                      "--restart", "--restart-with", host_.Restart()};
    words.insert(words.end(), more.begin(), more.end());
    return host_.Kgpu(words);
  }

  static constexpr const char* kDaemonJson =
      R"({"bridge":"none","iptables":false,"ip6tables":false})";
  Image image_;
};
INSTANTIATE_TEST_SUITE_P(Docker, DockerFlagsTest,
                         ::testing::Values(Origin::kMachine, Origin::kTrixie), OriginName());

TEST_P(DockerFlagsTest, AKeyThatIsAFlagIsNotWrittenAndTheRestStarts) {
  ASSERT_NO_FATAL_FAILURE(StartDocker("--default-runtime=runc --add-runtime=other=/usr/sbin/runc"));

  const e2e::Result refused = Configure({"--set-default"});

  EXPECT_EQ(refused.code, 6) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("dockerd is started with --default-runtime=runc"));
  EXPECT_EQ(host_.Read("/etc/docker/daemon.json"), kDaemonJson);
  EXPECT_THAT(host_.Leftovers(), IsEmpty());

  const e2e::Result done = Configure({"--runtime"});

  ASSERT_EQ(done.code, 0) << done.err << host_.Log();
  ASSERT_EQ(host_.box().Enter({host_.Restart()}).code, 0);  // not by SIGHUP alone
  ASSERT_TRUE(host_.box().WaitForSocket(host_.box().At("run/docker.sock"))) << host_.Log();
  // Docker's --gpus is the request; runc alone would refuse it.
  const e2e::Result run = Run({"--runtime=nvidia", "--gpus=device=1"});
  EXPECT_THAT(ParseReport(run.out), HasGpus(Gpus{1})) << run.err << host_.Log();
  EXPECT_THAT(ParseReport(Run({"--runtime=other"}).out), HasGpus(Gpus{}));
}

TEST_P(DockerFlagsTest, ARuntimeOfAFlagIsAdoptedByTheFile) {
  ASSERT_NO_FATAL_FAILURE(
      StartDocker("--add-runtime=nvidia=/usr/bin/nvidia-container-runtime --debug"));
  EXPECT_EQ(Configure({"--runtime"}).code, 6);

  const e2e::Result done = Configure({"--runtime", "--adopt", "--accept-env=no"});

  ASSERT_EQ(done.code, 0) << done.err << host_.Log();
  ASSERT_EQ(host_.box().Enter({host_.Restart()}).code, 0);
  ASSERT_TRUE(host_.box().WaitForSocket(host_.box().At("run/docker.sock"))) << host_.Log();
  EXPECT_THAT(Docker({"info", "--format", "{{json .Runtimes}}"}).out,
              HasSubstr("\"/usr/local/bin/kgpu-runtime\""));
}

// Makes the file as k3s does: of a template, or of its base alone. {0}: the folder, {1}: the
// template.
constexpr const char* kRender = R"(
if [ -e {0}/{1} ]; then
  sed -e '/template "base"/{{r {0}/base' -e 'd}}' -e 's/{{{{ .SystemdCgroup }}}}/false/' {0}/{1} >{0}/config.toml
else
  cp {0}/base {0}/config.toml
fi
)";

// {0}: the box's folder, {1}: the image, {2}: imports.
constexpr const char* kBase2 =
    R"(# File generated by k3s. DO NOT EDIT. Use config.toml.tmpl instead.
version = 2
root = "{0}/root"
state = "{0}/state"
[plugins."io.containerd.internal.v1.opt"]
  path = "{0}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true
  sandbox_image = "{1}"
  disable_tcp_service = true
[plugins."io.containerd.grpc.v1.cri".cni]
  conf_dir = "{0}/cni"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = false
)";
constexpr const char* kBase3 =
    R"(# File generated by k3s. DO NOT EDIT. Use config-v3.toml.tmpl instead.
version = 3
imports = ["{2}/config-v3.toml.d/*.toml"]
root = "{0}/root"
state = "{0}/state"
[plugins.'io.containerd.internal.v1.opt']
  path = "{0}/opt"
[plugins.'io.containerd.grpc.v1.cri']
  disable_tcp_service = true
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "{1}"
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
  conf_dir = "{0}/cni"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
  SystemdCgroup = false
)";
// The table that k3s adds by itself.
constexpr const char* kNvidia3 = R"(
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.'nvidia']
  runtime_type = "io.containerd.runc.v2"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.'nvidia'.options]
  BinaryName = "/usr/local/nvidia/toolkit/nvidia-container-runtime"
  SystemdCgroup = false
)";

class DistributionTest : public OwnFlagsTest {
 protected:
  bool IsNew() const { return GetParam() == Origin::kForky; }

  // The distribution's own programs in `folder` of the box's /var/lib.
  void AddPrograms(const std::string& folder) const {
    const std::string path = host_.box().At("varlib/" + folder);
    fs::create_directories(path);
    for (const char* name : {"containerd", "containerd-shim-runc-v2"}) {
      fs::copy_file(FindProgram(name, GetParam()), path + "/" + name);
    }
    fs::copy_file(FindProgram("runc"), path + "/runc");
  }
  void Load(const std::string& socket, Image& image) const {
    const e2e::Result loaded =
        e2e::RunProgram({FindProgram("ctr", GetParam()), "--address", host_.box().At(socket),
                         "--namespace", "k8s.io", "images", "import", image.archive()});
    ASSERT_EQ(loaded.code, 0) << loaded.err << host_.Log();
  }
  // The GPUs of a container with that handler, which requests one by a mount of nothing.
  Report RunPod(const std::string& socket, const std::string& handler) const {
    auto cri = CriClient::Connect(host_.box().At(socket), host_.box().cgroup_parent());
    EXPECT_THAT(cri, IsOk());
    if (!cri.ok()) {
      return {};
    }
    CriClient::Container container{.image = kImageName, .runtime_handler = handler};
    if (!handler.empty()) {
      container.options.mounts.push_back(
          {.container_path = "/var/run/nvidia-container-devices/1", .host_path = "/dev/null"});
    }
    const auto run = (*cri)->Run(container, {"/bin/sh", "/report"});
    EXPECT_THAT(run, IsOk()) << host_.Log();
    return ParseReport(run.ok() ? run->out : "");
  }
};

class K3sTest : public DistributionTest {
 protected:
  void StartK3s(const std::string& more = "") {
    AddPrograms("rancher/k3s/data/current/bin");
    host_.box().dir().WriteFile("varlib/rancher/k3s/agent/etc/containerd/base",
                                fmt::format(fmt::runtime(IsNew() ? kBase3 : kBase2),
                                            host_.box().dir().path(), kImageName, kFolder) +
                                    more);
    ASSERT_NO_FATAL_FAILURE(host_.Start(
        fmt::format("/var/lib/rancher/k3s/data/current/bin/containerd -c {}/config.toml -a "
                    "/run/k3s/containerd/containerd.sock",
                    kFolder),
        kSocket, GetParam(), Render()));
    ASSERT_NO_FATAL_FAILURE(Load(std::string("run/") + kSocket, image_));
  }
  std::string Render() const {
    return fmt::format(fmt::runtime(kRender), kFolder,
                       IsNew() ? "config-v3.toml.tmpl" : "config.toml.tmpl");
  }
  e2e::Result Configure(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"configure", "--engine",       "k3s",          "--runtime",
                                      "--restart", "--restart-with", host_.Restart()};
    words.insert(words.end(), more.begin(), more.end());
    return host_.Kgpu(words);
  }

  static constexpr const char* kFolder = "/var/lib/rancher/k3s/agent/etc/containerd";
  static constexpr const char* kSocket = "k3s/containerd/containerd.sock";
  Image image_;
};
INSTANTIATE_TEST_SUITE_P(K3s, K3sTest,
                         ::testing::Values(Origin::kMachine, Origin::kTrixie, Origin::kForky),
                         OriginName());

TEST_P(K3sTest, ItsTemplateOrItsFolderTakesTheRuntimeAndItsContainersStart) {
  ASSERT_NO_FATAL_FAILURE(StartK3s());

  const e2e::Result done = Configure({});

  ASSERT_EQ(done.code, 0) << done.err << host_.Log();
  EXPECT_THAT(done.out, HasSubstr(IsNew() ? "config-v3.toml.d/99-kgpu.toml" : "config.toml.tmpl"));
  EXPECT_THAT(done.out, HasSubstr("restarted containerd (k3s); it reports the runtime \"nvidia\""));
  EXPECT_THAT(RunPod(std::string("run/") + kSocket, "nvidia"), HasGpus(Gpus{1})) << host_.Log();
  EXPECT_THAT(RunPod(std::string("run/") + kSocket, ""), HasGpus(Gpus{}));

  ASSERT_EQ(host_.Kgpu({"revert", "--restart", "--restart-with", host_.Restart()}).code, 0);
  EXPECT_THAT(host_.Leftovers(), IsEmpty());
  EXPECT_THAT(host_.Read(std::string(kFolder) + "/config.toml"), Not(HasSubstr("nvidia")));
}

TEST_P(K3sTest, NvidiasRuntimeThatItFindsDoesNotStopIt) {
  if (!IsNew()) {
    GTEST_SKIP() << "the unit tests have the refusal, which starts nothing";
  }
  ASSERT_NO_FATAL_FAILURE(StartK3s(kNvidia3));
  EXPECT_EQ(Configure({}).code, 6);

  const e2e::Result done = Configure({"--adopt", "--accept-env=no"});

  ASSERT_EQ(done.code, 0) << done.err << host_.Log();
  EXPECT_THAT(RunPod(std::string("run/") + kSocket, "nvidia"), HasGpus(Gpus{1})) << host_.Log();
}

// Their runc is in no folder of the host's.
TEST_P(K3sTest, ItsOwnRuncIsTheOneThatKgpuRuntimeStarts) {
  host_.box().AddPrologue(
      "mount --bind /dev/null /usr/sbin/runc; mount --bind /dev/null /usr/bin/crun");
  ASSERT_NO_FATAL_FAILURE(StartK3s());

  const e2e::Result done = Configure({});

  ASSERT_EQ(done.code, 0) << done.err << host_.Log();
  EXPECT_THAT(host_.Read("/etc/kgpu/runtime.json"),
              HasSubstr("\"/var/lib/rancher/k3s/data/current/bin/runc\""));
  EXPECT_THAT(RunPod(std::string("run/") + kSocket, "nvidia"), HasGpus(Gpus{1})) << host_.Log();
  const e2e::Result check = host_.Kgpu({"check", "--engine", "k3s"});
  EXPECT_EQ(check.out, "containerd (k3s): everything is ok\n") << check.err;
}

class ContainerdFlagsTest : public DistributionTest {};
INSTANTIATE_TEST_SUITE_P(Containerd, ContainerdFlagsTest,
                         ::testing::Values(Origin::kMachine, Origin::kTrixie, Origin::kForky),
                         OriginName());

TEST_P(ContainerdFlagsTest, TheFileThatItWasStartedWithIsEdited) {
  Image image;
  const std::string config =
      fmt::format(fmt::runtime(kBase2), host_.box().dir().path(), kImageName);
  host_.box().WriteEtc("srv/c.toml", config.substr(config.find('\n') + 1));  // without k3s's line
  ASSERT_NO_FATAL_FAILURE(
      host_.Start(FindProgram("containerd", GetParam()) +
                      " --config /etc/srv/c.toml --address /run/c.sock --log-level warn",
                  "c.sock", GetParam()));
  ASSERT_NO_FATAL_FAILURE(Load("run/c.sock", image));

  const e2e::Result done =
      host_.Kgpu({"configure", "--engine", "containerd", "--runtime", "--set-default", "--restart",
                  "--restart-with", host_.Restart()});

  ASSERT_EQ(done.code, 0) << done.err << host_.Log();
  EXPECT_THAT(host_.Read("/etc/srv/c.toml"), HasSubstr(IsNew() ? "imports" : "kgpu-runtime"));
  EXPECT_EQ(host_.Read("/etc/containerd/config.toml"), "");
  EXPECT_THAT(RunPod("run/c.sock", "nvidia"), HasGpus(Gpus{1})) << host_.Log();
  EXPECT_THAT(RunPod("run/c.sock", ""), HasGpus(Gpus{}));
}

}  // namespace
}  // namespace kgpu::engines
