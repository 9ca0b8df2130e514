#include "testing/simhost/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/gpu/nvml/abi.h"
#include "src/host/inspect/installed_kernels.h"
#include "testing/driver/faults.h"
#include "testing/driver/mig.h"
#include "testing/driver/state_mig.h"
#include "testing/golden.h"
#include "testing/simhost/host_state.h"
#include "testing/simhost/tree_writer.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::simhost {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsNull;
using ::testing::NotNull;

// A profile with its state, changed at will, and the tree that shows it.
class SimulatedHost {
 public:
  explicit SimulatedHost(std::string_view profile_name) {
    StatusOr<Profile> parsed =
        ParseProfile(BuiltinProfiles().at(profile_name), profile_name, BuiltinModelText);
    EXPECT_OK(parsed);
    profile = *std::move(parsed);
    settings.profile = profile.name;
    settings.driver_version = profile.driver.version;
    settings.majors = FreeMajors("");
    StatusOr<std::unique_ptr<sim::SimState>> initial = InitialState(profile, settings);
    EXPECT_OK(initial);
    state = *std::move(initial);
  }

  Tree tree() const { return PlanTree(ViewOf(profile, settings, *state)); }
  std::string Text(std::string_view path) const {
    const Tree planned = tree();
    const Node* node = planned.Find(path);
    return node == nullptr || node->bytes == nullptr ? "" : *node->bytes;
  }
  bool Has(std::string_view path) const { return tree().Find(path) != nullptr; }
  std::string Target(std::string_view path) const {
    const Tree planned = tree();
    const Node* node = planned.Find(path);
    return node == nullptr ? "" : node->target;
  }

  Profile profile;
  HostSettings settings;
  std::unique_ptr<sim::SimState> state;
};

TEST(PlanGoldenTest, ListsADebianWorkstationWith32BitLibraries) {
  SimulatedHost host("1xQuadro-K620");
  host.settings.has_32bit = true;
  ExpectGolden("testing/simhost/golden/1xQuadro-K620.debian.txt", Listing(host.tree()));
}

TEST(PlanGoldenTest, ListsARhelServerWithMig) {
  SimulatedHost host("mixed");
  host.settings.distro = Distro::kRhel;
  ExpectGolden("testing/simhost/golden/mixed.rhel.txt", Listing(host.tree()));
}

TEST(PlanTest, PutsLibrariesWhereEachDistributionDoes) {
  struct Case {
    Distro distro;
    Arch arch;
    std::string_view library;
  };
  const Case cases[] = {
      {Distro::kDebian, Arch::kX86_64,
       "usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.535.104.05"},
      {Distro::kDebian, Arch::kAarch64,
       "usr/lib/aarch64-linux-gnu/nvidia/current/libcuda.so.535.104.05"},
      {Distro::kUbuntu, Arch::kX86_64, "usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05"},
      {Distro::kRhel, Arch::kX86_64, "usr/lib64/libcuda.so.535.104.05"},
      {Distro::kSuse, Arch::kAarch64, "usr/lib64/libcuda.so.535.104.05"},
  };
  SimulatedHost host("4xT4");
  for (const Case& wanted : cases) {
    host.settings.distro = wanted.distro;
    host.settings.arch = wanted.arch;
    EXPECT_TRUE(host.Has(wanted.library)) << wanted.library;
  }
}

TEST(PlanTest, DebianAlternativesLeadToTheLibrary) {
  const SimulatedHost host("4xT4");
  EXPECT_EQ(host.Target("usr/lib/x86_64-linux-gnu/libcuda.so.1"),
            "/etc/alternatives/nvidia--libcuda.so.1-x86_64-linux-gnu");
  EXPECT_EQ(host.Target("etc/alternatives/nvidia--libcuda.so.1-x86_64-linux-gnu"),
            "/usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.1");
  EXPECT_EQ(host.Target("usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.1"),
            "libcuda.so.535.104.05");
}

TEST(PlanTest, HasTheDeviceNodesOfADriver) {
  const SimulatedHost host("8xA100-SXM4-80GB");
  const Tree tree = host.tree();
  ASSERT_THAT(tree.Find("dev/nvidia7"), NotNull());
  EXPECT_EQ(tree.Find("dev/nvidia7")->major, 195U);
  EXPECT_EQ(tree.Find("dev/nvidia7")->minor, 7U);
  EXPECT_EQ(tree.Find("dev/nvidiactl")->minor, 255U);
  EXPECT_EQ(tree.Find("dev/nvidia-uvm-tools")->minor, 1U);
  EXPECT_EQ(tree.Find("dev/nvidia-nvswitch5")->minor, 5U);
  EXPECT_EQ(tree.Find("dev/char/195:255")->target, "../nvidiactl");
}

TEST(PlanTest, FreeMajorsKeepClearOfRealOnes) {
  const DynamicMajors majors = FreeMajors("Character devices:\n511 taken\n509 taken\n");
  EXPECT_EQ(majors.uvm, 510U);
  EXPECT_EQ(majors.caps, 508U);
}

TEST(PlanTest, TellsOpenModulesFromProprietary) {
  EXPECT_THAT(SimulatedHost("8xH100-SXM5-80GB").Text("proc/driver/nvidia/version"),
              HasSubstr("Open Kernel Module for x86_64  550.54.15  "));
  EXPECT_THAT(SimulatedHost("4xK80").Text("proc/driver/nvidia/version"),
              HasSubstr("NVIDIA UNIX x86_64 Kernel Module  470.223.02  "));
}

TEST(PlanTest, SysfsDescribesEachGpu) {
  const SimulatedHost host("8xA100-SXM4-80GB");
  const std::string link = host.Target("sys/bus/pci/devices/0000:0f:00.0");
  ASSERT_TRUE(link.starts_with("../../../devices/")) << link;
  const std::string folder = "sys/" + link.substr(9);
  EXPECT_EQ(host.Text(folder + "/vendor"), "0x10de\n");
  EXPECT_EQ(host.Text(folder + "/device"), "0x20b2\n");
  EXPECT_EQ(host.Text(folder + "/class"), "0x030200\n");
  EXPECT_EQ(host.Text(folder + "/numa_node"), "3\n");
  EXPECT_EQ(host.Text(folder + "/local_cpulist"), "48-63,176-191\n");
  const std::string config = host.Text(folder + "/config");
  ASSERT_EQ(config.size(), 256U);
  EXPECT_EQ(config.substr(0, 4), "\xde\x10\xb2\x20");
  EXPECT_EQ(config.substr(0x2c, 4), "\xde\x10\x63\x14");
}

TEST(PlanTest, GpusOnOneSwitchShareItsUpstreamPort) {
  const SimulatedHost host("8xA100-SXM4-80GB");
  const std::string one = host.Target("sys/bus/pci/devices/0000:07:00.0");
  const std::string two = host.Target("sys/bus/pci/devices/0000:0f:00.0");
  const std::string upstream = "/0000:04:01.0/0000:05:00.0/";
  EXPECT_THAT(one, HasSubstr(upstream));
  EXPECT_THAT(two, HasSubstr(upstream));
}

TEST(PlanTest, MigInstancesHaveCapabilitiesAndNodes) {
  SimulatedHost host("8xA100-SXM4-80GB");
  EXPECT_FALSE(host.Has("proc/driver/nvidia/capabilities/gpu1/mig"));
  ASSERT_OK(sim::SetMigMode(*host.state, 1, true));
  sim::ApplyPendingMigMode(*host.state, 1);
  const StatusOr<uint32_t> instance = sim::MigCreate(*host.state, 1, "3g.40gb");
  ASSERT_OK(instance);
  const unsigned minor = sim::GpuInstanceCapMinor(1, *instance);
  EXPECT_EQ(
      host.Text(fmt::format("proc/driver/nvidia/capabilities/gpu1/mig/gi{}/access", *instance)),
      fmt::format("DeviceFileMinor: {}\nDeviceFileMode: 292\nDeviceFileModify: 1\n", minor));
  EXPECT_TRUE(host.Has(fmt::format("dev/nvidia-caps/nvidia-cap{}", minor)));
  EXPECT_TRUE(host.Has(fmt::format("dev/nvidia-caps/nvidia-cap{}", minor + 1)));
  ASSERT_OK(sim::MigDestroy(*host.state, 1, std::nullopt));
  EXPECT_FALSE(host.Has(fmt::format("dev/nvidia-caps/nvidia-cap{}", minor)));
}

TEST(PlanTest, AnUnloadedModuleLeavesPciAndLibraries) {
  SimulatedHost host("4xT4");
  ASSERT_OK(sim::Unload(*host.state));
  EXPECT_FALSE(host.Has("dev/nvidia0"));
  EXPECT_FALSE(host.Has("dev/nvidiactl"));
  EXPECT_FALSE(host.Has("proc/driver/nvidia/version"));
  EXPECT_FALSE(host.Has("sys/module/nvidia"));
  EXPECT_TRUE(host.Has("sys/bus/pci/devices/0000:00:04.0"));
  EXPECT_TRUE(host.Has("usr/lib/x86_64-linux-gnu/libcuda.so.1"));
  EXPECT_EQ(host.Target("sys/devices/pci0000:00/0000:00:04.0/driver"), "");
}

TEST(PlanTest, AModuleOfAnotherVersionLeavesTheLibraries) {
  SimulatedHost host("4xT4");
  ASSERT_OK(sim::Unload(*host.state));
  ASSERT_OK(sim::Load(*host.state, "550.54.15", 0));
  EXPECT_THAT(host.Text("proc/driver/nvidia/version"), HasSubstr("550.54.15"));
  EXPECT_EQ(host.Text("sys/module/nvidia/version"), "550.54.15\n");
  EXPECT_TRUE(host.Has("usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.535.104.05"));
  EXPECT_THAT(host.Text("proc/devices"), HasSubstr("195 nvidiactl\n"));
}

TEST(PlanTest, NouveauLeavesNoDriver) {
  SimulatedHost host("4xT4");
  host.settings.is_nouveau = true;
  EXPECT_FALSE(host.Has("dev/nvidia0"));
  EXPECT_TRUE(host.Has("dev/dri/card0"));
  EXPECT_FALSE(host.Has("usr/lib/x86_64-linux-gnu/libcuda.so.1"));
  EXPECT_THAT(host.Text("proc/modules"), HasSubstr("nouveau "));
  EXPECT_EQ(host.Target("sys/devices/pci0000:00/0000:00:04.0/driver"),
            "../../../bus/pci/drivers/nouveau");
}

TEST(PlanTest, ALostGpuStaysAndReadsAsOnes) {
  SimulatedHost host("4xT4");
  ASSERT_OK(sim::Lose(*host.state, 2));
  EXPECT_TRUE(host.Has("dev/nvidia2"));
  EXPECT_EQ(host.Text("sys/devices/pci0000:00/0000:00:06.0/config"), std::string(256, '\xff'));
  ASSERT_OK(sim::Heal(*host.state, 2));
  EXPECT_EQ(host.Text("sys/devices/pci0000:00/0000:00:06.0/config").substr(0, 2), "\xde\x10");
}

TEST(PlanTest, ARemovedGpuIsGoneAndAnAddedOneIsThere) {
  SimulatedHost host("4xT4");
  ASSERT_OK(sim::RemoveGpu(*host.state, 1));
  EXPECT_FALSE(host.Has("dev/nvidia1"));
  EXPECT_FALSE(host.Has("sys/bus/pci/devices/0000:00:05.0"));
  EXPECT_FALSE(host.Has("proc/driver/nvidia/gpus/0000:00:05.0"));
  const StatusOr<GpuModel> model = ParseGpuModel(BuiltinModels().at("L40S"), "L40S");
  ASSERT_OK(model);
  const auto gpu = NewGpu(*model, host.settings, *host.state);
  ASSERT_OK(gpu);
  ASSERT_OK(sim::AddGpu(*host.state, **gpu));
  EXPECT_TRUE(host.Has("dev/nvidia1"));
  EXPECT_THAT(host.Text("proc/driver/nvidia/gpus/0000:eb:00.0/information"),
              HasSubstr("NVIDIA L40S"));
}

// What driver plan, driver verify and doctor read of the kernels that are installed.
std::vector<host::InstalledKernel> InstalledKernels(const SimulatedHost& host) {
  const TempDir dir;
  const TempDir ours;
  EXPECT_OK(Reconcile(dir.path(), ours.At("manifest"), host.tree()));
  const auto root = sys::Root::Open(dir.path());
  EXPECT_OK(root);
  return root.ok() ? host::ReadInstalledKernels(*root) : std::vector<host::InstalledKernel>();
}

TEST(PlanTest, TheKernelHasItsModulesAndTheDrivers) {
  SimulatedHost host("4xT4");
  const std::string release = host.profile.kernel_release;
  EXPECT_THAT(
      InstalledKernels(host),
      ElementsAre(host::InstalledKernel{
          .release = release,
          .nvidia_file = fmt::format("/lib/modules/{}/updates/dkms/nvidia-current.ko", release),
          .has_headers = true}));
  const std::string folder = fmt::format("usr/lib/modules/{}", release);
  EXPECT_TRUE(host.Has(folder + "/updates/dkms/nvidia-current-uvm.ko"));
  host.settings.distro = Distro::kRhel;
  ASSERT_OK(sim::Unload(*host.state));
  EXPECT_TRUE(host.Has(folder + "/extra/nvidia.ko")) << "installed, and not loaded";
}

TEST(PlanTest, AKernelWithoutADriverHasNoModuleOfIt) {
  for (const std::string_view profile : {"none", "4xT4"}) {
    SimulatedHost host(profile);
    host.settings.is_nouveau = profile == "4xT4";
    EXPECT_THAT(InstalledKernels(host),
                ElementsAre(Field(&host::InstalledKernel::nvidia_file, "")));
  }
}

TEST(PlanTest, AHostWithoutGpusHasNoDriver) {
  const SimulatedHost host("none");
  const Tree tree = host.tree();
  EXPECT_THAT(tree.Find("dev/nvidiactl"), IsNull());
  EXPECT_THAT(tree.Find("usr/lib/x86_64-linux-gnu/libcuda.so.1"), IsNull());
  EXPECT_THAT(tree.Find("etc/ld.so.cache"), NotNull());
}

TEST(PlanTest, UuidsAreTheSameEverywhereAndDifferBySeed) {
  EXPECT_EQ(GpuUuid("8xA100-SXM4-80GB", 0, 0), "GPU-5c464ea2-48c9-c007-2c20-3ea7af4f36c8");
  EXPECT_NE(GpuUuid("8xA100-SXM4-80GB", 1, 0), GpuUuid("8xA100-SXM4-80GB", 0, 0));
  EXPECT_NE(GpuUuid("8xA100-SXM4-80GB", 0, 1), GpuUuid("8xA100-SXM4-80GB", 0, 0));
}

TEST(InitialStateTest, TheModelSaysWhatAContextCosts) {
  SimulatedHost host("4xT4");
  EXPECT_EQ(sim::ContextBytes(host.state->gpus[0]), uint64_t{308} << 20);
  host.profile.models.at("T4").context_mib = 120;
  const auto state = InitialState(host.profile, host.settings);
  ASSERT_OK(state);
  EXPECT_EQ(sim::ContextBytes((*state)->gpus[0]), uint64_t{120} << 20);
}

TEST(InitialStateTest, OnlyMigCapableGpusTellOfMigChanges) {
  const SimulatedHost host("mixed");  // two A100, two T4
  EXPECT_NE(host.state->gpus[0].supported_events & nvml::kEventMigConfig, 0U);
  EXPECT_EQ(host.state->gpus[2].supported_events & nvml::kEventMigConfig, 0U);
}

}  // namespace
}  // namespace kgpu::simhost
