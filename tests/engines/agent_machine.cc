#include "tests/engines/agent_machine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <filesystem>

#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"
#include "tests/integration/kubelet_times.h"
#include "tests/integration/wait_for_file.h"

namespace kgpu::engines {
namespace {

constexpr const char* kGpuResource = "nvidia.com/gpu";
constexpr std::chrono::seconds kLimit{30};

}  // namespace

AgentImage::AgentImage() : name_(fmt::format("localhost/kgpu-test:{}", getpid())) {
  const e2e::Result built = e2e::RunProgram(
      {KGPU_SOURCE_DIR "/scripts/image.sh", "--programs",
       std::filesystem::path(e2e::ProgramPath("kgpu")).parent_path(), "--output", archive(), name_},
      std::chrono::minutes(5));
  EXPECT_EQ(built.code, 0) << built.err;
}

AgentImage::~AgentImage() {
  const e2e::Result removed = e2e::RunProgram({"/usr/bin/buildah", "rmi", name_});
  EXPECT_EQ(removed.code, 0) << removed.err;
}

AgentMachine::AgentMachine() : host_("4xT4") {
  host_.dir().MakeDir("host/var/lib");
  kubelet_ = std::make_unique<kubelet::FakeKubelet>(kubelet::FakeKubelet::Options{
      .root = host_.path() + "/var/lib/kubelet", .constants = integration::ShortTimes()});
  EXPECT_OK(kubelet_->Start());
  host_.dir().MakeDir("host/run/kgpu");
}

void AgentMachine::LiveIn(EngineBox& box) {
  box_ = &box;
  box.BecomeHost(host_.path());
}

std::vector<kubelet::BindMount> AgentMachine::MountsOf(const AgentPod& pod) {
  std::vector<kubelet::BindMount> mounts;
  for (const AgentPod::Mount& mount : pod.mounts) {
    std::string source;
    if (const auto files = pod.config_files.find(mount.volume); files != pod.config_files.end()) {
      host_.dir().MakeDir(mount.volume);
      for (const auto& [name, text] : files->second) {
        host_.dir().WriteFile(fmt::format("{}/{}", mount.volume, name), text);
      }
      // As the kubelet does: what is mounted below needs its folder here, where nothing can be
      // made.
      for (const AgentPod::Mount& inner : pod.mounts) {
        if (inner.path.starts_with(mount.path + "/")) {
          host_.dir().MakeDir(mount.volume + inner.path.substr(mount.path.size()));
        }
      }
      source = host_.dir().At(mount.volume);
    } else {
      const std::string& path = pod.host_paths.at(mount.volume);
      source = path == "/proc" ? box_->proc() : path == "/dev" ? path : host_.path() + path;
      if (path != "/proc" && path != "/dev") {
        std::filesystem::create_directories(source);
      }
    }
    mounts.push_back({.container_path = mount.path,
                      .host_path = std::move(source),
                      .read_only = mount.is_read_only});
  }
  return mounts;
}

std::string AgentMachine::Status(const std::string& output) const {
  return e2e::RunProgram({"kgpu", "status", "--run-dir", run_dir(), "--output", output}).out;
}

std::string AgentMachine::NodeStatus() const {
  return e2e::RunProgram({"kgpu", "node", "status", "--run-dir", run_dir()}).out;
}

bool AgentMachine::Wait(const std::function<bool()>& is_there) const {
  return integration::WaitInFolder(run_dir(), is_there, kLimit);
}

std::pair<kubelet::ContainerOptions, std::set<unsigned>> AgentMachine::Allocate(
    const std::string& pod, int64_t gpus) {
  EXPECT_OK(kubelet_->AddPod(kubelet::SimplePod(pod, kGpuResource, gpus)));
  EXPECT_TRUE(kubelet_->WaitForPhase(pod, kubelet::PodPhase::kRunning, kLimit));
  const kubelet::ContainerStatus container = kubelet_->FindPod(pod)->status.containers.at(0);
  const auto devices =
      doc::Parse(host_.Kgpu({"devices", "--output", "json"}).out, doc::Format::kJson, "devices");
  EXPECT_OK(devices.status());
  std::set<unsigned> minors;
  unsigned minor = 0;
  for (const boost::json::value& gpu : devices->at("gpus").as_array()) {
    if (container.devices.at(kGpuResource).contains(std::string(gpu.at("uuid").as_string()))) {
      minors.insert(minor);
    }
    ++minor;
  }
  return {container.options, minors};
}

}  // namespace kgpu::engines
