// Red Hat Enterprise Linux CoreOS: modules built in the Driver Toolkit image of the node's release,
// which has the headers of exactly its kernel; user space next to them in a folder of its own.
#include <iterator>

#include <fmt/format.h>

#include "src/platform/base/strings.h"
#include "src/setup/driver/common_steps.h"
#include "src/setup/driver/immutable.h"
#include "src/setup/driver/pages.h"

namespace kgpu::driver {
namespace {

constexpr std::string_view kFolder = "/var/lib/kgpu/driver";
// Both /etc and /var are the node's own and stay over updates.
constexpr std::string_view kModulesUnit = "kgpu-driver.service";
constexpr std::string_view kPersistenceUnit = "kgpu-driver-persistence.service";

// The script that runs in the image: /driver.run is the installer, /out the folder on the node.
std::string BuildScript(const Planning& planning) {
  const std::string& release = planning.facts.kernel.release;
  const std::string_view sources =
      planning.choice.kind == ModuleKind::kOpen ? "kernel-open" : "kernel";
  std::string script = fmt::format(
      "set -e; sh /driver.run --extract-only --target /tmp/driver; cd /tmp/driver; "
      "make -C {0} -j\"$(nproc)\" SYSSRC=/usr/src/kernels/{1} modules; "
      "mkdir -p /out/modules/{1}; cp {0}/*.ko /out/modules/{1}/; ",
      sources, release);
  if (planning.choice.branch() >= 515) {
    // The installer would put it into the image, which is gone afterwards.
    fmt::format_to(std::back_inserter(script),
                   "mkdir -p /out/lib/firmware/nvidia/{0}; "
                   "cp firmware/*.bin /out/lib/firmware/nvidia/{0}/; ",
                   planning.choice.version);
  }
  fmt::format_to(std::back_inserter(script),
                 "./nvidia-installer --silent --no-kernel-module --no-x-check --no-nouveau-check "
                 "--no-install-compat32-libs --utility-prefix=/out/usr --opengl-prefix=/out/usr "
                 "--x-prefix=/out/usr{}",
                 planning.choice.branch() >= 550 ? " --no-rebuild-initramfs" : "");
  return script;
}

// Loads the modules now and at each start, as long as the kernel is the one they are built for.
std::string ModulesUnitText(const Planning& planning) {
  const std::string& release = planning.facts.kernel.release;
  const std::string program = fmt::format("{}/usr/bin/nvidia-modprobe", kFolder);
  return fmt::format(
      "# Written by kgpu.\n"
      "[Unit]\n"
      "Description=NVIDIA's kernel modules of {0}\n"
      "ConditionKernelVersion={1}\n"
      "Before=kubelet.service\n\n"
      "[Service]\n"
      "Type=oneshot\n"
      "RemainAfterExit=yes\n"
      "ExecStart=/bin/sh -c 'echo -n {0}/lib/firmware "
      ">/sys/module/firmware_class/parameters/path'\n"
      "ExecStart=-/usr/sbin/modprobe -a i2c_core ipmi_msghandler ipmi_devintf video\n"
      "ExecStart=/usr/sbin/insmod {0}/modules/{1}/nvidia.ko\n"
      "ExecStart=/usr/sbin/insmod {0}/modules/{1}/nvidia-uvm.ko\n"
      "ExecStart=/usr/sbin/insmod {0}/modules/{1}/nvidia-modeset.ko\n"
      "ExecStart={2}\n"
      "ExecStart={3}\n"
      "ExecStop=/usr/sbin/rmmod nvidia_modeset nvidia_uvm nvidia\n\n"
      "[Install]\n"
      "WantedBy=multi-user.target\n",
      kFolder, release, Join(GpuNodesCommand(planning.facts.gpus.size(), program), " "),
      Join(UvmNodesCommand(program), " "));
}

void AddBuilding(Planning& planning, const std::string& image) {
  const std::string podman = ProgramOr(planning.facts, "podman", "/usr/bin/podman");
  Plan& plan = planning.plan;
  AddCommand(plan, "toolkit-image", "download the Driver Toolkit image of this release",
             pages::kDriverToolkit,
             {podman, "pull", "--authfile", "/var/lib/kubelet/config.json", image},
             {podman, "rmi", "--ignore", image});
  AddCommand(plan, "folder", "create the driver's folder", pages::kDriverToolkit,
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
             {"/usr/bin/chcon", "-R", "-t", "modules_object_t",
              fmt::format("{}/modules/{}", kFolder, planning.facts.kernel.release)});
}

void AddUnits(Planning& planning) {
  Plan& plan = planning.plan;
  const std::string libraries = fmt::format("LD_LIBRARY_PATH={}/usr/lib64", kFolder);
  AddStep(plan, "modules-unit", "add the unit that loads the modules", pages::kDriverToolkit,
          WriteFile{.path = fmt::format("/etc/systemd/system/{}", kModulesUnit),
                    .text = ModulesUnitText(planning)});
  AddStep(plan, "load", "load the modules and create the device nodes, now and at each boot",
          pages::kDriverToolkit, StartUnits{.units = {std::string(kModulesUnit)}, .at_boot = true});
  AddStep(
      plan, "persistence-unit", "reload systemd for nvidia-persistenced", pages::kPersistence,
      WriteFile{.path = fmt::format("/etc/systemd/system/{}", kPersistenceUnit),
                .text = PersistenceUnit(fmt::format("{}/usr/bin/nvidia-persistenced", kFolder),
                                        fmt::format("Environment={}\n", libraries), kModulesUnit)});
  AddStep(plan, "persistence", "keep the GPUs initialized while idle", pages::kPersistence,
          StartUnits{.units = {std::string(kPersistenceUnit)}, .at_boot = true});
  RunCommand verify;
  verify.command.argv = {fmt::format("{}/usr/bin/nvidia-smi", kFolder), "-L"};
  verify.command.environment = {libraries};
  AddStep(plan, "verify", "verify that the driver reports its GPUs", pages::kPostInstall,
          std::move(verify));
}

}  // namespace

Status AddRhcosPlan(Planning& planning, const std::string& image) {
  const HostFacts& facts = planning.facts;
  if (!facts.file || facts.file->kind != FileKind::kDriverRun) {
    return InvalidArgument("--driver-toolkit: needs the driver's installer: set --source FILE.run");
  }
  if (facts.host.kernel.secure_boot.value_or(false)) {
    return FailedPrecondition(
        "Secure Boot is enabled, and the firmware does not trust modules built here: sign them in "
        "the cluster's build and load the kernel module image. Page: {}",
        pages::kDriverToolkit);
  }
  if (HasFabric(facts)) {
    return FailedPrecondition(
        "GPUs connected by NVSwitches need the fabric manager, which the driver's installer does "
        "not include and which cannot be installed on an image: deploy the driver and the fabric "
        "manager together in a container. Page: {}",
        pages::kFabricManager);
  }
  if (NeedsUnload(facts, planning.plan)) {
    return FailedPrecondition(
        "driver {} is loaded: drain the node, stop its source (often a driver container of the "
        "cluster), and plan again",
        facts.host.driver.module_version);
  }
  planning.traits.page = pages::kDriverToolkit;
  AddNouveauFile(planning.traits, planning.plan);
  AddBuilding(planning, image);
  if (IsRivalLoaded(facts)) {
    // A server does not draw with it: its console is the board's own. The kernel's arguments belong
    // to the cluster (MachineConfig).
    AddStep(planning.plan, "nouveau-unload", fmt::format("unload {}", facts.host.RivalInTheWay()),
            pages::kDriverToolkit, UnloadModules{{facts.host.RivalInTheWay()}});
  }
  AddUnits(planning);
  planning.plan.notes.push_back(fmt::format(
      "the driver is in {0}, not in the system: run kgpu with --driver-root {0}", kFolder));
  planning.plan.notes.emplace_back(
      "the modules are built for this kernel: after a cluster update no module loads until they "
      "are rebuilt");
  return OkStatus();
}

}  // namespace kgpu::driver
