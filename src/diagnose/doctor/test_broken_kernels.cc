#include <fmt/format.h>

#include "src/diagnose/doctor/test_healthy_host.h"

namespace kgpu::doctor {
namespace {

void StartXorg(const HealthyHost& host) {
  host.AddProcess(812, "Xorg", {"/usr/lib/xorg/Xorg", ":0"});
  host.Link("/dev/nvidia0", "proc/812/fd/11");
}

constexpr std::string_view kSecureBoot =
    "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";

std::string Modules(std::string_view file) {
  return fmt::format("lib/modules/{}/{}", kRelease, file);
}

void NoModule(const HealthyHost& host) {
  host.Unload();
  host.Write(Modules("modules.dep"), "kernel/drivers/gpu/drm/nouveau/nouveau.ko:\n");
}

void Unsigned(const HealthyHost& host) {
  host.Unload();
  host.Write(Modules("updates/dkms/nvidia.ko"), "code without a signature, long enough");
}

}  // namespace

std::vector<Broken> BrokenKernels() {
  return {
      {"rhel-not-entitled",
       [](const HealthyHost& host) {
         host.Write("etc/os-release", "ID=\"rhel\"\nVERSION_ID=\"9.4\"\n");
       }},
      {"kernel-modules-gone",
       [](const HealthyHost& host) {
         host.Unload();
         host.Remove(Modules(""));
       }},
      {"driver-module-missing",
       [](const HealthyHost& host) {
         NoModule(host);
         host.Remove("var/lib/dkms/nvidia");
       }},
      {"driver-module-unbuilt",
       [](const HealthyHost& host) {
         NoModule(host);
         host.Remove(fmt::format("var/lib/dkms/nvidia/535.104.05/{}", kRelease));
       }},
      {"kernel-next-without-driver",
       [](const HealthyHost& host) {
         host.Write(Modules("modules.builtin"), "");
         host.Write("lib/modules/99.1.0-1-amd64/modules.builtin", "");
         host.Write("lib/modules/99.1.0-1-amd64/modules.dep", "kernel/fs/ext4/ext4.ko:\n");
       }},
      {"kernel-headers-missing", [](const HealthyHost& host) { host.Remove(Modules("build")); }},
      {"kernel-compiler-missing",
       [](const HealthyHost& host) {
         host.Remove("usr/bin/gcc");
         host.Remove("usr/bin/gcc-12");
       }},
      {"kernel-compiler-differs",
       [](const HealthyHost& host) {
         host.Remove("usr/bin/gcc-12");
         host.Write("usr/bin/gcc-11", "");
         host.Link("gcc-11", "usr/bin/gcc");
       }},
      {"kernel-loading-refused",
       [](const HealthyHost& host) {
         host.Unload();
         host.Write("proc/sys/kernel/modules_disabled", "1\n");
       }},
      {"secureboot-module-unsigned", Unsigned},
      {"secureboot-key-unknown",
       [](const HealthyHost& host) {
         host.Unload();
         host.Write("var/lib/dkms/mok.pub", "a key that nobody has enrolled");
       }},
      {"kernel-signature-enforced",
       [](const HealthyHost& host) {
         Unsigned(host);
         host.Remove(kSecureBoot);
         host.Write("sys/module/module/parameters/sig_enforce", "Y\n");
       }},
      {"driver-module-not-loaded", [](const HealthyHost& host) { host.Unload(); }},
      {"driver-nouveau-loaded",
       [](const HealthyHost& host) {
         host.Unload();
         host.Load({"nouveau"});
       }},
      {"driver-nouveau-not-blacklisted",
       [](const HealthyHost& host) { host.Remove("etc/modprobe.d/nouveau.conf"); }},
      {"driver-module-blacklisted",
       [](const HealthyHost& host) {
         host.Load({"nvidia"});
         host.Write("lib/modprobe.d/prime.conf", "# graphics\nblacklist nvidia-uvm\n");
       }},
      {"display-runs", &StartXorg},
      {"display-starts",
       [](const HealthyHost& host) {
         host.Link("/usr/lib/systemd/system/gdm.service",
                   "etc/systemd/system/display-manager.service");
         host.Link("/usr/lib/systemd/system/graphical.target", "etc/systemd/system/default.target");
       }},
  };
}

}  // namespace kgpu::doctor
