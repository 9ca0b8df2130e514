#include "src/container/engine/find.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/container/engine/test_engine_host.h"

namespace kgpu::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Engine> Find(EngineHost& host, const FindOptions& options = {}) {
  return FindEngines(host.root(), host.runner(), options);
}

TEST(FindEnginesTest, AnEmptyHostHasNone) {
  EngineHost host;

  EXPECT_THAT(Find(host), IsEmpty());
}

TEST(FindEnginesTest, TellsVersionFilesAndUnit) {
  EngineHost host;
  host.AddProgram("/usr/sbin/dockerd", "Docker version 20.10.24+dfsg1, build 297e128\n");
  host.AddSystemd({"docker.service"});

  const auto engines = Find(host);

  ASSERT_THAT(engines, SizeIs(1));
  EXPECT_EQ(engines[0].Id(), "docker");
  EXPECT_EQ(engines[0].program, "/usr/sbin/dockerd");
  EXPECT_EQ(engines[0].version_text, "20.10.24+dfsg1");
  EXPECT_EQ(engines[0].cdi, CdiSupport::kAbsent);
  EXPECT_EQ(engines[0].config_file, "/etc/docker/daemon.json");
  EXPECT_EQ(engines[0].socket, "/run/docker.sock");
  EXPECT_EQ(engines[0].unit, "docker.service");
  EXPECT_FALSE(engines[0].daemon.has_value());
}

TEST(FindEnginesTest, AsksTheDaemonForItsFiles) {
  EngineHost host;
  host.AddProgram("/usr/bin/containerd", "containerd containerd.io 1.7.24 88bf19b\n");
  host.AddProcess(42, "containerd",
                  {"/usr/bin/containerd", "--config", "/srv/c.toml", "--address=/srv/c.sock"});

  const auto engines = Find(host);

  ASSERT_THAT(engines, SizeIs(1));
  const auto& daemon = engines[0].daemon;
  ASSERT_TRUE(daemon.has_value());
  EXPECT_EQ(daemon->pid, 42);
  EXPECT_EQ(engines[0].config_file, "/srv/c.toml");
  EXPECT_EQ(engines[0].socket, "/srv/c.sock");
  EXPECT_EQ(engines[0].cdi, CdiSupport::kOptIn);
}

// It does not run: the next start counts.
TEST(FindEnginesTest, AsksTheUnitForItsFiles) {
  EngineHost host;
  host.AddSystemd({});
  host.AddProgram("/usr/bin/containerd", "containerd containerd.io 1.7.24 88bf19b\n");
  host.AddProgram("/usr/bin/crio", "crio version 1.30.1\n");
  host.folder().WriteFile("usr/lib/systemd/system/containerd.service",
                          "[Service]\nExecStart=/usr/bin/containerd\n");
  host.folder().WriteFile(
      "etc/systemd/system/containerd.service.d/x.conf",
      "[Service]\nExecStart=\nExecStart=/usr/bin/containerd --config /srv/c.toml\n");
  host.folder().WriteFile("usr/lib/systemd/system/crio.service",
                          "[Service]\nExecStart=/usr/bin/crio --config-dir=/srv/crio.d\n");

  const auto engines = Find(host);

  ASSERT_THAT(engines, SizeIs(2));
  EXPECT_EQ(engines[0].config_file, "/srv/c.toml");
  EXPECT_EQ(engines[0].drop_in_folder, "/srv/conf.d");
  EXPECT_EQ(engines[1].config_file, "/etc/crio/crio.conf");
  EXPECT_EQ(engines[1].drop_in_folder, "/srv/crio.d");
}

// Its unit starts k0s, whose own --config is no file of containerd's.
TEST(FindEnginesTest, TheFlagsOfADistributionAreItsOwn) {
  EngineHost host;
  host.AddSystemd({});
  host.AddProgram("/var/lib/k0s/bin/containerd", "containerd x v1.7.20 y\n");
  host.folder().WriteFile(
      "etc/systemd/system/k0sworker.service",
      "[Service]\nExecStart=/usr/local/bin/k0s worker --config /etc/k0s.yaml\n");

  EXPECT_EQ(Find(host).at(0).config_file, "/etc/k0s/containerd.toml");
}

TEST(FindEnginesTest, ReadsWhereItListens) {
  EngineHost host;
  host.AddProgram("/usr/bin/dockerd", "Docker version 20.10.24, build x\n");
  host.AddProgram("/usr/bin/containerd", "containerd x 1.6.20 y\n");
  host.AddProgram("/usr/bin/crio", "crio version 1.30.1\n");
  host.folder().WriteFile("etc/docker/daemon.json",
                          R"({"hosts": ["tcp://127.0.0.1:2375", "unix:///srv/d.sock"]})");
  host.folder().WriteFile("etc/containerd/config.toml", "[grpc]\naddress = \"/srv/c.sock\"\n");
  host.folder().WriteFile("etc/crio/crio.conf", "[crio.api]\nlisten = \"/srv/o.sock\"\n");

  const auto engines = Find(host);

  ASSERT_THAT(engines, SizeIs(3));
  EXPECT_EQ(engines[0].socket, "/srv/d.sock");
  EXPECT_EQ(engines[1].socket, "/srv/c.sock");
  EXPECT_EQ(engines[2].socket, "/srv/o.sock");
}

TEST(FindEnginesTest, KnowsWhenNobodyCanBeAsked) {
  EngineHost host;
  host.AddProgram("/usr/bin/dockerd", "Docker version 20.10.24, build x\n");
  host.AddProcess(5, "dockerd", {"dockerd", "-H", "tcp://127.0.0.1:2375"});

  const auto engines = Find(host);

  ASSERT_THAT(engines, SizeIs(1));
  EXPECT_EQ(engines[0].socket, "");
  EXPECT_THAT(engines[0].note, HasSubstr("network"));
}

TEST(FindEnginesTest, SystemdHandsTheUsualSocketOver) {
  EngineHost host;
  host.AddProgram("/usr/bin/dockerd", "Docker version 20.10.24, build x\n");
  host.AddProcess(5, "dockerd", {"dockerd", "-H", "fd://", "--containerd=/run/c.sock"});

  const auto engines = Find(host);

  ASSERT_THAT(engines, SizeIs(1));
  EXPECT_EQ(engines[0].socket, "/run/docker.sock");
}

TEST(FindEnginesTest, LeavesDockersOwnContainerdToDocker) {
  EngineHost host;
  host.AddProcess(42, "containerd",
                  {"containerd", "--config", "/var/run/docker/containerd/containerd.toml"});

  EXPECT_THAT(Find(host), IsEmpty());
}

TEST(FindEnginesTest, TakesTheDaemonStartedWithTheFileNamed) {
  EngineHost host;
  host.AddProgram("/usr/sbin/dockerd", "Docker version 20.10.24, build 1\n");
  host.AddProcess(5, "dockerd", {"dockerd"});
  host.AddProcess(6, "dockerd", {"dockerd", "--config-file=/t/d.json", "-H", "unix:///t/d.sock"});

  const auto engines = Find(host, {.only = Kind::kDocker, .config_file = "/t/d.json"});

  ASSERT_THAT(engines, SizeIs(1));
  const auto& daemon = engines[0].daemon;
  ASSERT_TRUE(daemon.has_value());
  EXPECT_EQ(daemon->pid, 6);
  EXPECT_EQ(engines[0].socket, "/t/d.sock");
  EXPECT_EQ(engines[0].config_file, "/t/d.json");
}

TEST(FindEnginesTest, KnowsK3sBesideAContainerdOfItsOwn) {
  EngineHost host;
  host.AddProgram("/usr/bin/containerd", "containerd x 1.6.20 y\n");
  host.AddProgram("/var/lib/rancher/k3s/data/current/bin/containerd",
                  "containerd github.com/k3s-io/containerd v2.0.4-k3s2 x\n");
  host.AddProcess(3, "containerd",
                  {"containerd", "-c", "/var/lib/rancher/k3s/agent/etc/containerd/config.toml"});

  const auto engines = Find(host);

  ASSERT_THAT(engines, SizeIs(2));
  EXPECT_EQ(engines[0].Id(), "containerd");
  EXPECT_FALSE(engines[0].daemon.has_value());
  EXPECT_EQ(engines[1].Id(), "containerd-k3s");
  EXPECT_TRUE(engines[1].daemon.has_value());
  EXPECT_EQ(engines[1].version_text, "2.0.4-k3s2");
  EXPECT_TRUE(engines[1].is_template);
  EXPECT_EQ(engines[1].config_file,
            "/var/lib/rancher/k3s/agent/etc/containerd/config-v3.toml.tmpl");
}

TEST(FindEnginesTest, OneDistributionCanBeAskedFor) {
  EngineHost host;
  host.AddProgram("/usr/bin/containerd", "containerd x 1.6.20 y\n");
  host.AddProgram("/var/lib/rancher/k3s/data/current/bin/containerd", "containerd x 1.7.20 y\n");
  host.AddProgram("/var/lib/rancher/rke2/bin/containerd", "containerd x 1.7.20 y\n");

  const auto engines = Find(host, {.only = Kind::kContainerd, .distribution = "rke2"});

  ASSERT_THAT(engines, SizeIs(1));
  EXPECT_EQ(engines[0].Id(), "containerd-rke2");
}

TEST(FindEnginesTest, WithoutAVersionTheTemplateThatIsThereIsEdited) {
  EngineHost host;
  const std::string folder = "var/lib/rancher/k3s/agent/etc/containerd/";
  host.AddProcess(3, "containerd",
                  {"containerd", "-c", "/var/lib/rancher/k3s/agent/etc/containerd/config.toml"});
  EXPECT_EQ(Find(host).at(0).config_file, "/" + folder + "config.toml.tmpl");
  host.folder().WriteFile(folder + "config-v3.toml.tmpl", "{{ template \"base\" . }}\n");
  EXPECT_EQ(Find(host).at(0).config_file, "/" + folder + "config-v3.toml.tmpl");
}

TEST(FindEnginesTest, EditsAFileOfK3sForK3sOnly) {
  EngineHost host;
  const std::string file = "/var/lib/rancher/k3s/agent/etc/containerd/config.toml.tmpl";
  host.AddProgram("/usr/bin/containerd", "containerd x 1.6.20 y\n");
  host.AddProgram("/var/lib/rancher/k3s/data/current/bin/containerd", "containerd x 1.7.20 y\n");

  const auto engines = Find(host, {.only = Kind::kContainerd, .config_file = file});

  ASSERT_THAT(engines, SizeIs(1));
  EXPECT_EQ(engines[0].Id(), "containerd-k3s");
  EXPECT_EQ(engines[0].config_file, file);
}

TEST(FindEnginesTest, SaysWhyAVersionIsUnknown) {
  EngineHost host;
  host.AddProgram("/usr/bin/podman", "");
  host.runner().Answer("/usr/bin/podman --version", "", 125, "cannot find a home\n");

  const auto engines = Find(host);

  ASSERT_THAT(engines, SizeIs(1));
  EXPECT_EQ(engines[0].cdi, CdiSupport::kUnknown);
  EXPECT_THAT(engines[0].note, HasSubstr("cannot find a home"));
}

TEST(FindEnginesTest, FindsAllFourInOrder) {
  EngineHost host;
  host.AddProgram("/usr/bin/podman", "podman version 4.3.1\n");
  host.AddProgram("/usr/bin/crio", "crio version 1.30.1\nVersion: 1.30.1\n");
  host.AddProgram("/usr/bin/containerd", "containerd x v2.1.0 y\n");
  host.AddProgram("/usr/bin/dockerd", "Docker version 28.3.0, build x\n");

  std::vector<std::string> ids;
  for (const Engine& engine : Find(host)) {
    ids.push_back(fmt::format("{} {}", engine.Id(), ToString(engine.cdi)));
  }

  EXPECT_THAT(ids,
              ElementsAre("docker by default", "containerd by default", "crio yes", "podman yes"));
}

}  // namespace
}  // namespace kgpu::engine
