// Red Hat Enterprise Linux CoreOS: modules built in the Driver Toolkit image of the node's release,
// which has the headers of exactly its kernel; user space beside them in a folder of its own.
#include <algorithm>

#include <fmt/format.h>

#include "src/driver/common_steps.h"
#include "src/driver/immutable.h"
#include "src/driver/pages.h"

namespace kgpu::driver {
namespace {

constexpr std::string_view kFolder = "/var/lib/kgpu/driver";

// What runs in the image: /driver.run is the installer, /out the folder on the node.
std::string BuildScript(const Planning& planning) {
  const std::string& release = planning.facts.kernel.release;
  const bool is_open = planning.choice.kind == ModuleKind::kOpen;
  return fmt::format(
      "set -e; sh /driver.run --extract-only --target /tmp/driver; cd /tmp/driver; "
      "make -C {} -j\"$(nproc)\" SYSSRC=/usr/src/kernels/{} modules; "
      "mkdir -p /out/modules/{}; cp {}/*.ko /out/modules/{}/; "
      "./nvidia-installer --silent --no-kernel-module --no-x-check --no-nouveau-check "
      "--no-install-compat32-libs --utility-prefix=/out/usr --opengl-prefix=/out/usr "
      "--x-prefix=/out/usr --no-rebuild-initramfs",
      is_open ? "kernel-open" : "kernel", release, release, is_open ? "kernel-open" : "kernel",
      release);
}

void AddToolkitSteps(Planning& planning, const std::string& image) {
  const std::string podman = ProgramOr(planning.facts, "podman", "/usr/bin/podman");
  const std::string modules = fmt::format("{}/modules/{}", kFolder, planning.facts.kernel.release);
  Plan& plan = planning.plan;
  AddCommand(plan, "toolkit-image", "fetch the Driver Toolkit image of this release",
             pages::kDriverToolkit,
             {podman, "pull", "--authfile", "/var/lib/kubelet/config.json", image},
             {podman, "rmi", "--ignore", image});
  AddCommand(plan, "folder", "make the folder of the driver", pages::kDriverToolkit,
             {"/usr/bin/mkdir", "-p", std::string(kFolder)},
             {"/usr/bin/rm", "-rf", std::string(kFolder)});
  RunCommand build;
  build.command.deadline = std::chrono::minutes{30};
  build.command.argv = {
      podman,
      "run",
      "--rm",
      "--network=none",
      "--security-opt=label=disable",
      fmt::format("--volume={}:/driver.run:ro", planning.facts.file.value_or(DriverFile{}).path),
      fmt::format("--volume={}:/out", kFolder),
      image,
      "/bin/sh",
      "-c",
      BuildScript(planning)};
  AddStep(plan, "build", "build the modules and unpack the user space", pages::kDriverToolkit,
          std::move(build));
  AddCommand(plan, "label", "let SELinux load the modules", pages::kDriverToolkit,
             {"/usr/bin/chcon", "-R", "-t", "modules_object_t", modules});
  for (const char* module : {"nvidia", "nvidia-uvm", "nvidia-modeset"}) {
    std::string loaded = module;
    std::ranges::replace(loaded, '-', '_');
    AddCommand(plan, fmt::format("load-{}", module), fmt::format("load {}", module),
               pages::kDriverToolkit,
               {"/usr/sbin/insmod", fmt::format("{}/{}.ko", modules, module)},
               {"/usr/sbin/rmmod", loaded});
  }
  AddCommand(plan, "device-nodes", "make the device nodes", pages::kPostInstall,
             {fmt::format("{}/usr/bin/nvidia-modprobe", kFolder), "-c", "0", "-u"});
  plan.notes.push_back(fmt::format(
      "the driver is in {0}, not in the system: name it to kgpu with --driver-root {0}", kFolder));
  plan.notes.emplace_back(
      "the modules are for this kernel: an update of the cluster needs them built anew");
}

void AddNouveauArgument(Planning& planning) {
  constexpr std::string_view kArgument = "modprobe.blacklist=nouveau";
  if (!planning.facts.doctor.driver.is_nouveau_loaded) {
    return;
  }
  AddCommand(planning.plan, "nouveau-off-at-boot", "keep nouveau from being loaded",
             pages::kDriverToolkit,
             {"/usr/bin/rpm-ostree", "kargs", fmt::format("--append-if-missing={}", kArgument)},
             {"/usr/bin/rpm-ostree", "kargs", fmt::format("--delete-if-present={}", kArgument)});
  AddStep(planning.plan, "reboot", "start the host without nouveau", pages::kDriverToolkit,
          Reboot{"nouveau has the GPUs"});
}

}  // namespace

Status AddRhcosPlan(Planning& planning, const std::string& image) {
  if (!planning.facts.file || planning.facts.file->kind != FileKind::kDriverRun) {
    return InvalidArgument(
        "--driver-toolkit: the driver's installer is built in it: name it with --source FILE.run");
  }
  if (planning.facts.doctor.kernel.secure_boot.value_or(false)) {
    return FailedPrecondition(
        "Secure Boot is on, and modules built here are signed by nobody whom the firmware trusts: "
        "sign them in the cluster's build and load the kernel module image. Page: {}",
        pages::kDriverToolkit);
  }
  planning.traits.page = pages::kDriverToolkit;
  AddNouveauArgument(planning);
  AddToolkitSteps(planning, image);
  return OkStatus();
}

}  // namespace kgpu::driver
