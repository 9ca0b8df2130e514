#include "src/container/engine/recipes.h"

#include <fmt/format.h>

#include <iterator>

#include "src/platform/base/strings.h"

namespace kgpu::engine {
namespace {

void AppendFlags(const Wish& wish, std::string& text) {
  for (const std::string& registry : wish.insecure_registries) {
    fmt::format_to(std::back_inserter(text), " \\\n  --insecure-registry={}", registry);
  }
  for (const std::string& mirror : wish.registry_mirrors) {
    fmt::format_to(std::back_inserter(text), " \\\n  --registry-mirror={}", mirror);
  }
  text += "\n";
}

// minikube's docker driver runs the node as a container of the host's Docker, which brings the GPUs
// into it: by CDI names, or by the runtime behind --gpus. Source: minikube start --help; --gpus=all
// since 1.32, nvidia.com since 1.37.
std::string Minikube(const Wish& wish) {
  const bool is_by_runtime = wish.runtime || wish.cdi == false;
  std::string text =
      "# With bpf_jit_harden above 0 containers in the node do not start:\n"
      "#   sysctl -w net.core.bpf_jit_harden=0\n";
  if (is_by_runtime) {
    text +=
        "# Once on the host, for the node is started with docker run --gpus:\n"
        "#   kgpu runtime configure --engine docker --set-default --restart\n"
        "minikube start --driver=docker --container-runtime=docker --gpus=all";
    AppendFlags(wish, text);
  } else {
    text +=
        "# Once on the host, whose Docker has to read CDI (25 or newer); minikube 1.37 or newer:\n"
        "#   kgpu runtime configure --engine docker --restart\n"
        "#   kgpu cdi generate\n"
        "# (older ones: kgpu runtime configure --print minikube --set-default)\n"
        "minikube start --driver=docker --container-runtime=docker --gpus=nvidia.com";
    AppendFlags(wish, text);
  }
  text +=
      "\n# A node that is the host itself (as root) takes what the host's engine has:\n"
      "#   kgpu runtime configure --restart\n"
      "#   minikube start --driver=none\n";
  return text;
}

void AppendContainerd(const Wish& wish, const NamedRuntime& runtime, std::string& text) {
  text +=
      "# group_vars/k8s_cluster/k8s-cluster.yml\n"
      "container_manager: containerd\n\n";
  if (wish.cdi.value_or(true)) {
    text +=
        "# group_vars/all/containerd.yml: containerd reads the CDI specs that kgpu writes.\n"
        "enable_cdi: true\n";
  } else {
    text +=
        "# group_vars/all/containerd.yml; enable_cdi: false leaves it to containerd 2, which reads "
        "CDI.\n"
        "containerd_extra_runtime_args:\n"
        "  enable_cdi: false\n";
  }
  if (wish.runtime) {
    fmt::format_to(std::back_inserter(text),
                   "# The runtime {0}, for pods with runtimeClassName: {0}.\n"
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
  if (wish.set_default) {
    fmt::format_to(std::back_inserter(text), "containerd_default_runtime: {}\n", runtime.name);
  }
  if (!wish.insecure_registries.empty() || !wish.registry_mirrors.empty()) {
    text += "containerd_registries_mirrors:\n";
  }
  for (const std::string& registry : wish.insecure_registries) {
    fmt::format_to(std::back_inserter(text),
                   "  - prefix: \"{0}\"\n    mirrors:\n      - host: https://{0}\n"
                   "        capabilities: [\"pull\", \"resolve\"]\n        skip_verify: true\n",
                   registry);
  }
  if (!wish.registry_mirrors.empty()) {
    text += "  - prefix: docker.io\n    mirrors:\n";
    for (const std::string& mirror : wish.registry_mirrors) {
      fmt::format_to(std::back_inserter(text),
                     "      - host: {}\n        capabilities: [\"pull\", \"resolve\"]\n"
                     "        skip_verify: false\n",
                     mirror);
    }
  }
}

void AppendCrio(const Wish& wish, const NamedRuntime& runtime, std::string& text) {
  text += "\n# With CRI-O instead (container_manager: crio) CDI is always read";
  if (!wish.runtime) {
    text += ": nothing to set.\n";
    return;
  }
  fmt::format_to(
      std::back_inserter(text),
      ".\n# group_vars/all/cri-o.yml; the list replaces Kubespray's, so crun stays named.\n"
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
  if (wish.set_default) {
    fmt::format_to(std::back_inserter(text), "crio_default_runtime: {}\n", runtime.name);
  }
}

// Source: Kubespray, roles/container-engine/{containerd,cri-o}/defaults/main.yml.
std::string Kubespray(const Wish& wish) {
  const NamedRuntime runtime = wish.runtime.value_or(NamedRuntime{});
  std::string text;
  AppendContainerd(wish, runtime, text);
  AppendCrio(wish, runtime, text);
  text +=
      "\n# Kubespray's own nvidia_accelerator_enabled installs driver 390 and a device plugin\n"
      "# beside kgpu's: leave it off.\n"
      "nvidia_accelerator_enabled: false\n";
  return text;
}

}  // namespace

StatusOr<std::string> Recipe(std::string_view tool, const Wish& wish) {
  if (tool == "minikube") {
    return Minikube(wish);
  }
  if (tool == "kubespray") {
    return Kubespray(wish);
  }
  return InvalidArgument("--print: \"{}\" must be minikube or kubespray", Printable(tool, 40));
}

}  // namespace kgpu::engine
