#include "tests/engines/containerd.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "testing/status_matchers.h"

namespace kgpu::engines {
namespace {

// Version 2 is read by all of them; later ones convert it. {0}: the box's folder, {1}: the image,
// {2}: lines of the CRI plugin's table, {3}: more tables, {4}: the
// socket. The kernel may not let the pod's first
// process be harder to kill than we are.
constexpr const char* kConfig = R"(version = 2
root = "{0}/root"
state = "{0}/state"

[grpc]
  address = "{4}"

[plugins."io.containerd.internal.v1.opt"]
  path = "{0}/opt"

[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true
  sandbox_image = "{1}"
  disable_tcp_service = true
{2}
  [plugins."io.containerd.grpc.v1.cri".cni]
    conf_dir = "{0}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
{3})";

constexpr const char* kHandler = R"(
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.{0}]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.{0}.options]
      BinaryName = "{1}"
)";

}  // namespace

void ContainerdEngine::AddHandler(const std::string& name, const std::string& program) {
  handlers_ += fmt::format(fmt::runtime(kHandler), name, program);
}

void ContainerdEngine::Start(Image& image) {
  box_.dir().WriteFile(
      "config.toml",
      fmt::format(fmt::runtime(kConfig), box_.dir().path(), kImageName,
                  origin_ == Origin::kTrixie ? "  enable_cdi = true" : "", handlers_, socket_));
  std::filesystem::create_directories(std::filesystem::path(socket_).parent_path());
  const std::string containerd = FindProgram("containerd", origin_);
  // The shim of the same version is looked for in the path.
  const std::string folder = std::filesystem::path(containerd).parent_path();
  box_.StartDaemon({"/usr/bin/env", fmt::format("PATH={}:/usr/sbin:/usr/bin:/sbin:/bin", folder),
                    containerd, "--config", box_.At("config.toml")});
  ASSERT_TRUE(box_.WaitForSocket(socket_)) << box_.log();
  ASSERT_NO_FATAL_FAILURE(Load(image.archive()));
  auto cri = CriClient::Connect(socket_, box_.cgroup_parent());
  ASSERT_OK(cri);
  cri_ = *std::move(cri);
}

void ContainerdEngine::Load(const std::string& archive) {
  const e2e::Result loaded =
      e2e::RunProgram({FindProgram("ctr", origin_), "--address", socket_, "--namespace", "k8s.io",
                       "images", "import", archive});
  ASSERT_EQ(loaded.code, 0) << loaded.err << box_.log();
}

Report ContainerdEngine::RunReport(CriClient::Container container) {
  container.image = kImageName;
  const auto result = cri_->Run(container, {"/bin/sh", "/report"});
  EXPECT_OK(result) << box_.log();
  Report report = ParseReport(result.ok() ? result->out : "");
  EXPECT_TRUE(report.is_complete) << (result.ok() ? result->err : "");
  return report;
}

Status ContainerdEngine::TryRun(CriClient::Container container) {
  container.image = kImageName;
  return cri_->Run(container, {"/bin/true"}).status();
}

}  // namespace kgpu::engines
