#include "src/container/engine/recipes.h"

#include <fmt/format.h>

#include <iterator>

#include "src/platform/base/strings.h"

namespace kgpu::engine {
namespace {

void AppendFlags(const Settings& settings, std::string& text) {
  for (const std::string& registry : settings.insecure_registries) {
    fmt::format_to(std::back_inserter(text), " \\\n  --insecure-registry={}", registry);
  }
  for (const std::string& mirror : settings.registry_mirrors) {
    fmt::format_to(std::back_inserter(text), " \\\n  --registry-mirror={}", mirror);
  }
  text += "\n";
}

// minikube's docker driver runs the node as a container of the host's Docker, which brings the GPUs
// into it: by CDI names, or by the runtime behind --gpus. Source: minikube start --help; --gpus=all
// since 1.32, nvidia.com since 1.37.
std::string Minikube(const Settings& settings) {
  const bool is_by_runtime = settings.runtime || settings.cdi == false;
  std::string text =
      "# With bpf_jit_harden above 0, containers in the node do not start:\n"
      "#   sysctl -w net.core.bpf_jit_harden=0\n";
  if (is_by_runtime) {
    text +=
        "# Once on the host, because the node is started with docker run --gpus:\n"
        "#   kgpu runtime configure --engine docker --set-default --restart\n"
        "minikube start --driver=docker --container-runtime=docker --gpus=all";
    AppendFlags(settings, text);
  } else {
    text +=
        "# Once on the host, whose Docker must support CDI (25 or newer); minikube 1.37 or newer:\n"
        "#   kgpu runtime configure --engine docker --restart\n"
        "#   kgpu cdi generate\n"
        "# (older ones: kgpu runtime configure --print minikube --set-default)\n"
        "minikube start --driver=docker --container-runtime=docker --gpus=nvidia.com";
    AppendFlags(settings, text);
  }
  text +=
      "\n"
      "# A node that is the host itself (as root) uses the host's engine:\n"
      "#   kgpu runtime configure --restart\n"
      "#   minikube start --driver=none\n";
  return text;
}

void AppendContainerd(const Settings& settings, const NamedRuntime& runtime, std::string& text) {
  text +=
      "# group_vars/k8s_cluster/k8s-cluster.yml\n"
      "container_manager: containerd\n\n";
  if (settings.cdi.value_or(true)) {
    text +=
        "# group_vars/all/containerd.yml: containerd reads the CDI specs that kgpu writes.\n"
        "enable_cdi: true\n";
  } else {
    text +=
        "# group_vars/all/containerd.yml; containerd 2 supports CDI without enable_cdi.\n"
        "containerd_extra_runtime_args:\n"
        "  enable_cdi: false\n";
  }
  if (settings.runtime) {
    fmt::format_to(std::back_inserter(text),
                   "# Runtime {0} for pods with runtimeClassName: {0}.\n"
                   "containerd_additional_runtimes:\n"
                   "  - name: {0}\n"
                   "    type: io.containerd.runc.v2\n"
                   "    options:\n"
                   "      BinaryName: {1}\n"
                   "      Root: \"\"\n"
                   "      SystemdCgroup: \"{{{{ containerd_use_systemd_cgroup | ternary('true', "
                   "'false') }}}}\"\n",
                   runtime.name, runtime.path);
  }
  if (settings.set_default) {
    fmt::format_to(std::back_inserter(text), "containerd_default_runtime: {}\n", runtime.name);
  }
  if (!settings.insecure_registries.empty() || !settings.registry_mirrors.empty()) {
    text += "containerd_registries_mirrors:\n";
  }
  for (const std::string& registry : settings.insecure_registries) {
    fmt::format_to(std::back_inserter(text),
                   "  - prefix: \"{0}\"\n    mirrors:\n      - host: https://{0}\n"
                   "        capabilities: [\"pull\", \"resolve\"]\n        skip_verify: true\n",
                   registry);
  }
  if (!settings.registry_mirrors.empty()) {
    text += "  - prefix: docker.io\n    mirrors:\n";
    for (const std::string& mirror : settings.registry_mirrors) {
      fmt::format_to(std::back_inserter(text),
                     "      - host: {}\n        capabilities: [\"pull\", \"resolve\"]\n"
                     "        skip_verify: false\n",
                     mirror);
    }
  }
}

void AppendCrio(const Settings& settings, const NamedRuntime& runtime, std::string& text) {
  text +=
      "\n"
      "# With CRI-O instead (container_manager: crio), CDI is always enabled";
  if (!settings.runtime) {
    text += ": nothing to set.\n";
    return;
  }
  fmt::format_to(
      std::back_inserter(text),
      ".\n"
      "# group_vars/all/cri-o.yml; the list replaces Kubespray's, so it also names crun.\n"
      "crio_runtimes:\n"
      "  - name: crun\n"
      "    path: \"{{{{ crio_runtime_bin_dir }}}}/crun\"\n"
      "    type: oci\n"
      "    root: /run/crun\n"
      "  - name: {0}\n"
      "    path: {1}\n"
      "    type: oci\n"
      "    root: /run/{0}\n",
      runtime.name, runtime.path);
  if (settings.set_default) {
    fmt::format_to(std::back_inserter(text), "crio_default_runtime: {}\n", runtime.name);
  }
}

// Source: Kubespray, roles/container-engine/{containerd,cri-o}/defaults/main.yml.
std::string Kubespray(const Settings& settings) {
  const NamedRuntime runtime = settings.runtime.value_or(NamedRuntime{});
  std::string text;
  AppendContainerd(settings, runtime, text);
  AppendCrio(settings, runtime, text);
  text +=
      "\n"
      "# Kubespray's own nvidia_accelerator_enabled installs driver 390 and another device\n"
      "# plugin: keep it disabled.\n"
      "nvidia_accelerator_enabled: false\n";
  return text;
}

}  // namespace

StatusOr<std::string> Recipe(std::string_view tool, const Settings& settings) {
  if (tool == "minikube") {
    return Minikube(settings);
  }
  if (tool == "kubespray") {
    return Kubespray(settings);
  }
  return InvalidArgument("--print: \"{}\" must be minikube or kubespray", Printable(tool, 40));
}

}  // namespace kgpu::engine
