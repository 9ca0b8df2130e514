// A host on which the doctor finds nothing, for tests that break one thing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/diagnose/doctor/doctor.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/temp_dir.h"
#include "testing/test_host.h"

namespace kgpu::doctor {

inline constexpr std::string_view kRelease = "6.1.0-18-amd64";
inline constexpr std::string_view kGpu = "0000:17:00.0";
inline constexpr std::string_view kSecondGpu = "0000:18:00.0";
// The port of the PCIe switch above each GPU, and its folder in sysfs.
inline constexpr std::string_view kSwitchPort = "0000:16:08.0";
inline constexpr std::string_view kSecondSwitchPort = "0000:16:10.0";
std::string PortFolder(std::string_view gpu);
// Files with the answers of others.
inline constexpr std::string_view kAgentStatus = "heard/agent.json";
inline constexpr std::string_view kAgentHealth = "heard/health.json";
inline constexpr std::string_view kNode = "heard/node.json";
inline constexpr std::string_view kPods = "heard/pods.json";
inline constexpr std::string_view kAgentSets = "heard/sets.json";
inline constexpr std::string_view kRpmPackages = "heard/rpm";
inline constexpr std::string_view kRuncVersion = "heard/runc-version";
inline constexpr std::string_view kKubeletVersion = "heard/kubelet-version";

struct SaidByAgent {
  bool is_ready = true;
  std::string_view obstacle{};
  std::string_view state = "Registered";
  size_t devices = 2;
  size_t unhealthy = 0;
  std::string_view reason = "XidError";  // of the unhealthy ones
};

struct SaidByCluster {
  std::string_view labels = R"("nvidia.com/gpu.present": "true", "nvidia.com/gpu.count": "2")";
  std::string_view taints{};
  std::string_view conditions{};
  unsigned capacity = 2;
  unsigned allocatable = 2;
};

// The host's two GPUs, healthy and with samples; `change` modifies them.
DriverAnswer HealthyDriver(
    const std::function<void(device::Snapshot&, device::SampleSet&)>& change = {});

// Debian 12, two A100 behind a PCIe switch, DKMS, Secure Boot with an enrolled key, driver
// 535.104.05, containerd, a kubelet and an agent, node n1 of a cluster. For other families: their
// library and module folders, compressed and signed modules, and their packages.
class HealthyHost {
 public:
  explicit HealthyHost(host::Family family = host::Family::kDebian);

  const TestHost& tree() const { return host_; }
  const TempDir& dir() const { return host_.dir(); }
  // False if device nodes cannot be created: tests that need them skip.
  bool has_nodes() const { return has_nodes_; }

  void Write(std::string_view path, std::string_view text) const { dir().WriteFile(path, text); }
  // A file of the GPU in sysfs.
  void WriteGpu(std::string_view name, std::string_view text) const;
  void Remove(std::string_view path) const;
  void Link(std::string_view target, std::string_view path) const;
  void AddProcess(int pid, const std::string& name, const std::vector<std::string>& argv) const;
  // /proc/modules with these modules, all of them live.
  void Load(const std::vector<std::string>& modules) const;
  // Without the driver in the kernel, its files in /proc and its binding to the GPUs.
  void Unload() const;

  // A socket that answers, for as long as the host lives.
  void Listen(std::string_view path) const;
  // The devices of nvidia.com/gpu in the kubelet's checkpoint.
  void SetRegistered(const std::vector<std::string>& ids) const;
  void SetAgent(const SaidByAgent& said) const;
  void SetNode(const SaidByCluster& said) const;
  // The driver's answer; by default, both GPUs are healthy.
  void SetDriver(DriverAnswer answer) const { *driver_ = std::move(answer); }

  // `engine_root`: what the container engine calls "/"; empty: the host. `only`: ids of checks.
  Diagnosis Look(const std::string& engine_root = "",
                 const std::vector<std::string>& only = {}) const;
  std::vector<std::string> Ids() const;
  // Ids of errors and warnings.
  std::vector<std::string> Troubles() const;
  // Runs --fix.
  void Fix() const;

 private:
  void AddGpu(std::string_view address) const;
  void AddKernel() const;
  void AddDistribution(host::Family family) const;
  void AddEngine() const;
  void AddKubelet() const;
  Heard Hear() const;

  TestHost host_;
  std::unique_ptr<std::vector<sys::UnixListener>> listeners_ =
      std::make_unique<std::vector<sys::UnixListener>>();
  std::unique_ptr<DriverAnswer> driver_ = std::make_unique<DriverAnswer>(HealthyDriver());
  bool has_nodes_ = false;
};

// A broken host: only the check `id` finds something on it.
struct Broken {
  std::string_view id;
  std::function<void(const HealthyHost&)> break_it;
};
std::vector<Broken> BrokenHardware();
std::vector<Broken> BrokenKernels();
std::vector<Broken> BrokenDrivers();
std::vector<Broken> BrokenGpus();
std::vector<Broken> BrokenContainers();
std::vector<Broken> BrokenKubelets();
std::vector<Broken> BrokenClusters();

}  // namespace kgpu::doctor
