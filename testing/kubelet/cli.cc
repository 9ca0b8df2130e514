#include "testing/kubelet/cli.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <utility>

#include "src/platform/base/status_macros.h"

namespace kgpu::kubelet {
namespace {

constexpr const char* kFooter =
    "DIR is the kubelet's root folder: plugins use DIR/device-plugins/kubelet.sock and\n"
    "DIR/plugins_registry, monitoring agents DIR/pod-resources/kubelet.sock.\n"
    "POD is a name, or namespace/name. Times are in seconds, 0.5 or 30.\n"
    "Exit codes: 0 ok, 1 failed, 2 usage error.\n"
    "\n"
    "  kgpu sim kubelet start /tmp/kubelet\n"
    "  (a device plugin registers at /tmp/kubelet/device-plugins/kubelet.sock)\n"
    "  kgpu sim kubelet wait /tmp/kubelet --resource nvidia.com/gpu --allocatable 8\n"
    "  kgpu sim kubelet pod /tmp/kubelet train --resource nvidia.com/gpu=2\n"
    "  kgpu sim kubelet status /tmp/kubelet\n"
    "  kgpu sim kubelet calls /tmp/kubelet\n"
    "  kgpu sim kubelet restart /tmp/kubelet      (check that the plugin registers again)\n"
    "  kgpu sim kubelet stop /tmp/kubelet";

}  // namespace

CLI::App* AddFolderVerb(CLI::App& parent, simhost::CliContext& context, const char* name,
                        const char* description,
                        std::function<Status(const std::string& folder)> run) {
  auto folder = std::make_shared<std::string>();
  CLI::App* verb = parent.add_subcommand(name, description);
  verb->add_option("DIR", *folder, "Kubelet root folder")->required();
  verb->callback([folder, run = std::move(run), &context] {
    context.action = [folder, run]() -> Status {
      ASSIGN_OR_RETURN(const std::string path, simhost::AbsoluteFolder(*folder));
      return run(path);
    };
  });
  return verb;
}

void AddKubeletVerbs(CLI::App& app, simhost::CliContext& context) {
  CLI::App* kubelet = app.add_subcommand(
      "kubelet", "Simulate a node's kubelet 1.36 for device plugins, without Kubernetes");
  kubelet->footer(kFooter);
  kubelet->require_subcommand(0, 1);
  AddServeVerbs(*kubelet, context);
  AddPodVerbs(*kubelet, context);
  AddLookVerbs(*kubelet, context);
  AddInjectVerbs(*kubelet, context);
}

}  // namespace kgpu::kubelet
