#include "src/host/facts/daemons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/platform/base/strings.h"
#include "testing/temp_dir.h"

namespace kgpu::host {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class ProcHost {
 public:
  ProcHost() { folder_.WriteFile("proc/stat", "cpu 1\nbtime 1700000000\n"); }

  const sys::Root& root() const { return root_; }
  const TempDir& folder() const { return folder_; }

  void AddProcess(int pid, const std::string& name, const std::vector<std::string>& argv,
                  int after_boot = 100, const std::string& namespaces = "") const {
    const std::string at = fmt::format("proc/{}/", pid);
    folder_.WriteFile(at + "comm", name + "\n");
    folder_.WriteFile(at + "cmdline", Join(argv, std::string(1, '\0')) + '\0');
    folder_.WriteFile(at + "status",
                      fmt::format("Name:\t{}\nNSpid:\t{}{}\n", name, pid, namespaces));
    folder_.WriteFile(at + "stat", fmt::format("{} (x) y) S 1 1 1 0 -1 4194560 1 1 1 1 1 1 1 1 20 "
                                               "0 9 0 {} 1 1\n",
                                               pid, after_boot * 100));
  }

 private:
  TempDir folder_;
  sys::Root root_ = sys::Root::Open(folder_.path()).value();
};

TEST(DaemonsTest, AreFoundByNameWithArgumentsAndStart) {
  const ProcHost host;
  host.AddProcess(7, "dockerd", {"/usr/bin/dockerd", "-H", "fd://"}, 250);
  host.AddProcess(8, "bash", {"bash"});
  host.folder().Symlink("/usr/bin/dockerd", "proc/7/exe");

  const auto found = FindDaemons(host.root(), {"dockerd"});

  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].pid, 7);
  EXPECT_EQ(found[0].program, "/usr/bin/dockerd");
  EXPECT_THAT(found[0].argv, ElementsAre("/usr/bin/dockerd", "-H", "fd://"));
  EXPECT_EQ(found[0].started, WallTime(std::chrono::seconds(1'700'000'250)));
}

TEST(DaemonsTest, OfContainersAreLeftOut) {
  const ProcHost host;
  host.AddProcess(9, "containerd", {"containerd"}, 1, "\t1");

  EXPECT_THAT(FindDaemons(host.root(), {"containerd"}), SizeIs(0));
}

TEST(DaemonsTest, OfOtherUsersAreNotOfTheSystem) {
  const ProcHost host;
  host.AddProcess(7, "dockerd", {"dockerd"});
  host.AddProcess(8, "dockerd", {"/home/u/dockerd"});
  host.folder().WriteFile("proc/7/status", "Name:\tdockerd\nUid:\t0\t0\t0\t0\n");
  host.folder().WriteFile("proc/8/status", "Name:\tdockerd\nUid:\t4321\t0\t0\t0\n");

  const auto found = FindSystemDaemons(host.root(), {"dockerd"});

  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].pid, 7);
  EXPECT_THAT(FindDaemons(host.root(), {"dockerd"}), SizeIs(2));
}

TEST(DaemonsTest, KnowTheirUnit) {
  const ProcHost host;
  host.AddProcess(7, "kubelet", {"kubelet"});
  EXPECT_FALSE(FindDaemons(host.root(), {"kubelet"}).at(0).unit.has_value());
  host.folder().WriteFile("proc/7/cgroup", "0::/system.slice/rke2-server.service\n");
  EXPECT_EQ(FindDaemons(host.root(), {"kubelet"}).at(0).unit, "rke2-server.service");
}

TEST(UnitOfTest, IsTheServiceOfTheSystem) {
  EXPECT_EQ(UnitOf("0::/system.slice/snap.microk8s.daemon-kubelite.service\n"),
            "snap.microk8s.daemon-kubelite.service");
  EXPECT_EQ(UnitOf("12:cpu:/x\n1:name=systemd:/system.slice/kubelet.service\n0::/\n"),
            "kubelet.service");
  EXPECT_EQ(UnitOf("0::/system.slice/k3s.service/init\n"), "k3s.service");
  EXPECT_EQ(UnitOf("0::/system.slice/docker-0123.scope\n"), "");
  EXPECT_EQ(UnitOf("0::/system.slice/docker.service/docker-0123.scope\n"), "");
  EXPECT_EQ(UnitOf("0::/user.slice/user-1.slice/user@1.service/app.slice/x.service\n"), "");
  EXPECT_EQ(UnitOf("0::/\n"), "");
  EXPECT_EQ(UnitOf(""), "");
}

TEST(DaemonsTest, ReportTheirFlags) {
  Daemon daemon;
  daemon.argv = {"containerd", "--config", "/a", "--log-level=debug", "-a"};

  EXPECT_EQ(daemon.Flag({"--config", "-c"}), "/a");
  EXPECT_EQ(daemon.Flag({"--log-level"}), "debug");
  EXPECT_EQ(daemon.Flag({"-a"}), "");
  EXPECT_EQ(daemon.Flag({"--state"}), "");
}

TEST(DaemonsTest, AHostWithoutProcHasNone) {
  const TempDir empty;
  const auto root = sys::Root::Open(empty.path());
  ASSERT_TRUE(root.ok());

  EXPECT_THAT(FindDaemons(*root, {"dockerd"}), SizeIs(0));
  EXPECT_FALSE(ShowsProcesses(*root));
  empty.WriteFile("proc/modules", "");  // as a folder with a host's files has it
  EXPECT_FALSE(ShowsProcesses(*root));
  empty.WriteFile("proc/stat", "cpu 1 2\n");
  EXPECT_TRUE(ShowsProcesses(*root));
}

}  // namespace
}  // namespace kgpu::host
