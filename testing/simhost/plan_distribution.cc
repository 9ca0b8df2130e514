#include <fmt/format.h>

#include "testing/simhost/plan.h"

namespace kgpu::simhost {
namespace {

std::string_view OsRelease(Distro distro) {
  switch (distro) {
    case Distro::kUbuntu:
      return "PRETTY_NAME=\"Ubuntu 22.04.4 LTS\"\nNAME=\"Ubuntu\"\nVERSION_ID=\"22.04\"\n"
             "VERSION=\"22.04.4 LTS (Jammy Jellyfish)\"\nVERSION_CODENAME=jammy\nID=ubuntu\n"
             "ID_LIKE=debian\nUBUNTU_CODENAME=jammy\n";
    case Distro::kRhel:
      return "NAME=\"Red Hat Enterprise Linux\"\nVERSION=\"9.4 (Plow)\"\nID=\"rhel\"\n"
             "ID_LIKE=\"fedora\"\nVERSION_ID=\"9.4\"\nPLATFORM_ID=\"platform:el9\"\n"
             "PRETTY_NAME=\"Red Hat Enterprise Linux 9.4 (Plow)\"\n";
    case Distro::kSuse:
      return "NAME=\"SLES\"\nVERSION=\"15-SP5\"\nVERSION_ID=\"15.5\"\n"
             "PRETTY_NAME=\"SUSE Linux Enterprise Server 15 SP5\"\nID=\"sles\"\nID_LIKE=\"suse\"\n";
    case Distro::kDebian:
      break;
  }
  return "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian GNU/Linux\"\n"
         "VERSION_ID=\"12\"\nVERSION=\"12 (bookworm)\"\nVERSION_CODENAME=bookworm\nID=debian\n";
}

// Where the C library's loader is: fixed by each machine's ABI.
std::string_view LoaderName(const HostView& host) {
  return host.arch == Arch::kAarch64 ? "ld-linux-aarch64.so.1" : "ld-linux-x86-64.so.2";
}

// Ordinary libraries, so that readers of the cache meet more than the driver's.
void AddOrdinaryLibraries(const HostView& host, bool is_32bit, Tree& tree,
                          std::vector<LdCacheEntry>& cache) {
  const std::string folder = LibraryFolder(host, is_32bit);
  const std::string loader = is_32bit ? "ld-linux.so.2" : std::string(LoaderName(host));
  for (const std::string& name :
       {std::string("libc.so.6"), std::string("libm.so.6"), std::string("libdl.so.2"),
        std::string("libpthread.so.0"), std::string("libstdc++.so.6"), std::string("libz.so.1"),
        loader}) {
    tree.File(fmt::format("{}/{}", folder, name),
              StubSharedObject(MachineOf(host, is_32bit), name, {}), 0755);
    const std::string path = host.distro == Distro::kSuse ? folder : folder.substr(4);
    cache.push_back({name, fmt::format("/{}/{}", path, name), MachineOf(host, is_32bit)});
  }
}

void AddMergedFolders(const HostView& host, Tree& tree) {
  for (const std::string_view name : {"bin", "sbin", "lib"}) {
    tree.Link(name, fmt::format("usr/{}", name));
    tree.Folder(fmt::format("usr/{}", name));
  }
  // Debian's lib64 holds the loader alone; elsewhere it is the library folder.
  tree.Link("lib64", "usr/lib64");
  tree.Folder("usr/lib64");
  const bool is_multiarch = host.distro == Distro::kDebian || host.distro == Distro::kUbuntu;
  if (is_multiarch && host.arch == Arch::kX86_64) {
    tree.Link(fmt::format("usr/lib64/{}", LoaderName(host)),
              fmt::format("/{}/{}", LibraryFolder(host, false), LoaderName(host)));
  }
}

}  // namespace

void PlanDistribution(const HostView& host, Tree& tree, std::vector<LdCacheEntry> cache) {
  AddMergedFolders(host, tree);
  tree.File("usr/lib/os-release", std::string(OsRelease(host.distro)));
  tree.Link("etc/os-release", "../usr/lib/os-release");
  tree.File("etc/hostname", "simulated-gpu-host\n");
  tree.Folder("run");
  tree.Folder("run/udev/data");
  tree.Folder("tmp");
  tree.Folder("etc/cdi");
  tree.Link("var/run", "../run");
  tree.Folder("run/nvidia-persistenced");
  AddOrdinaryLibraries(host, false, tree, cache);
  if (host.has_32bit && host.arch == Arch::kX86_64) {
    AddOrdinaryLibraries(host, true, tree, cache);
  }
  tree.File("etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n");
  tree.File("etc/ld.so.conf.d/libraries.conf", fmt::format("/{}\n", LibraryFolder(host, false)));
  tree.File("etc/ld.so.cache", LdCache(std::move(cache)));
}

}  // namespace kgpu::simhost
