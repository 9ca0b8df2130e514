#include <fmt/format.h>

#include <array>

#include "src/platform/base/strings.h"
#include "testing/simhost/plan.h"

namespace kgpu::simhost {
namespace {

constexpr unsigned kForever = 9999;

// One library of the driver's user space, as NVIDIA's packages list them.
struct Library {
  std::string_view stem;    // "libcuda"
  std::string_view suffix;  // of the SONAME: "1"; empty: the SONAME is the file's own name
  bool has_plain_link;      // libcuda.so beside libcuda.so.1
  bool has_32bit;
  unsigned first_branch;  // driver branches that have it, inclusive
  unsigned last_branch;
  std::string_view own_version;  // "" the driver's; "-" none: the file's name is its SONAME
};

constexpr std::array<Library, 42> kLibraries = {{
    {"libcuda", "1", true, true, 0, kForever, ""},
    {"libcudadebugger", "1", false, false, 515, kForever, ""},
    {"libnvidia-ml", "1", true, true, 0, kForever, ""},
    {"libnvidia-ptxjitcompiler", "1", true, true, 0, kForever, ""},
    {"libnvidia-nvvm", "4", true, true, 470, kForever, ""},
    {"libnvidia-nvvm70", "4", false, false, 575, kForever, ""},
    {"libnvidia-compiler", "", false, true, 0, 470, ""},
    {"libnvidia-opencl", "1", false, true, 0, kForever, ""},
    {"libnvidia-cfg", "1", true, false, 0, kForever, ""},
    {"libnvidia-allocator", "1", true, true, 440, kForever, ""},
    {"libnvidia-encode", "1", true, true, 0, kForever, ""},
    {"libnvcuvid", "1", true, true, 0, kForever, ""},
    {"libnvidia-fbc", "1", true, true, 0, kForever, ""},
    {"libnvidia-ifr", "1", true, true, 0, 470, ""},
    {"libnvidia-opticalflow", "1", true, true, 0, kForever, ""},
    {"libnvidia-ngx", "1", true, false, 410, kForever, ""},
    {"libnvoptix", "1", false, false, 410, kForever, ""},
    {"libnvidia-rtcore", "", false, false, 410, kForever, ""},
    {"libGLX_nvidia", "0", false, true, 0, kForever, ""},
    {"libEGL_nvidia", "0", false, true, 0, kForever, ""},
    {"libGLESv2_nvidia", "2", false, true, 0, kForever, ""},
    {"libGLESv1_CM_nvidia", "1", false, true, 0, kForever, ""},
    {"libnvidia-glcore", "", false, true, 0, kForever, ""},
    {"libnvidia-eglcore", "", false, true, 0, kForever, ""},
    {"libnvidia-glsi", "", false, true, 0, kForever, ""},
    {"libnvidia-tls", "", false, true, 0, kForever, ""},
    {"libnvidia-glvkspirv", "", false, true, 0, kForever, ""},
    {"libnvidia-gpucomp", "", false, true, 545, kForever, ""},
    {"libnvidia-cbl", "", false, false, 410, 470, ""},
    {"libnvidia-gtk2", "", false, false, 0, kForever, ""},
    {"libnvidia-gtk3", "", false, false, 0, kForever, ""},
    {"libnvidia-wayland-client", "", false, false, 525, kForever, ""},
    {"libnvidia-pkcs11", "", false, false, 525, kForever, ""},
    {"libnvidia-pkcs11-openssl3", "", false, false, 530, kForever, ""},
    {"libnvidia-vksc-core", "1", true, false, 550, kForever, ""},
    {"libnvidia-sandboxutils", "1", true, false, 565, kForever, ""},
    {"libnvidia-present", "", false, false, 580, kForever, ""},
    {"libnvidia-api", "1", false, false, 525, kForever, "-"},
    {"libnvidia-egl-gbm", "1", false, true, 495, kForever, "1.1.0"},
    {"libnvidia-egl-wayland", "1", false, true, 0, kForever, "1.1.11"},
    {"libnvidia-egl-xcb", "1", false, true, 560, kForever, "1.0.0"},
    {"libnvidia-egl-xlib", "1", false, true, 560, kForever, "1.0.0"},
}};

std::string Stub(const HostView& host, bool is_32bit, std::string_view soname) {
  return StubSharedObject(MachineOf(host, is_32bit), soname, {"libc.so.6"});
}

// Places the libraries of one word size.
class LibraryPlanner {
 public:
  LibraryPlanner(const HostView& host, bool is_32bit, Tree& tree, std::vector<LdCacheEntry>& cache)
      : host_(host),
        is_32bit_(is_32bit),
        folder_(LibraryFolder(host, is_32bit)),
        branch_(static_cast<unsigned>(
            ParseUint(host.library_version.substr(0, host.library_version.find('.'))).value_or(0))),
        tree_(tree),
        cache_(cache) {}

  void Run();

 private:
  void Add(const Library& library);
  void AddExtras();
  void AddFile(const std::string& path, const std::string& soname, std::string_view stem);
  void AddAlternative(const std::string& link, const std::string& private_folder);
  void AddToCache(const std::string& soname);
  bool HasAlternatives() const { return host_.distro == Distro::kDebian; }
  // Debian keeps each driver branch in a folder of its own, chosen by update-alternatives.
  std::string PrivateFolder() const;

  const HostView& host_;
  bool is_32bit_;
  std::string folder_;
  unsigned branch_;
  Tree& tree_;
  std::vector<LdCacheEntry>& cache_;
};

std::string LibraryPlanner::PrivateFolder() const {
  return fmt::format("{}/nvidia/{}", folder_, branch_ == 470 ? "tesla-470" : "current");
}

void LibraryPlanner::AddToCache(const std::string& soname) {
  // ld.so finds libraries below /lib first, a link to usr/lib on merged systems.
  const bool is_merged = host_.distro != Distro::kSuse;
  const std::string path = is_merged ? folder_.substr(4) : folder_;
  cache_.push_back({soname, fmt::format("/{}/{}", path, soname), MachineOf(host_, is_32bit_)});
}

void LibraryPlanner::AddFile(const std::string& path, const std::string& soname,
                             std::string_view stem) {
  const bool is_native = host_.arch == Arch::kX86_64 && !is_32bit_;
  const auto library = stem == "libnvidia-ml" ? host_.nvml_library
                       : stem == "libcuda"    ? host_.cuda_library
                                              : nullptr;
  if (is_native && library != nullptr) {
    tree_.SharedFile(path, library, 0644);
    return;
  }
  tree_.File(path, Stub(host_, is_32bit_, soname));
}

// <folder>/libcuda.so.1 -> /etc/alternatives/nvidia--libcuda.so.1-<triplet> -> private folder.
void LibraryPlanner::AddAlternative(const std::string& link, const std::string& private_folder) {
  const std::string triplet = folder_.substr(folder_.rfind('/') + 1);
  const std::string alternative = fmt::format("etc/alternatives/nvidia--{}-{}", link, triplet);
  tree_.Link(fmt::format("{}/{}", folder_, link), "/" + alternative);
  tree_.Link(alternative, fmt::format("/{}/{}", private_folder, link));
}

void LibraryPlanner::Add(const Library& library) {
  const bool is_private =
      HasAlternatives() && !library.suffix.empty() && library.own_version.empty();
  const std::string folder = is_private ? PrivateFolder() : folder_;
  const std::string soname_link = fmt::format("{}.so.{}", library.stem, library.suffix);
  const std::string_view version =
      library.own_version.empty() ? std::string_view(host_.library_version) : library.own_version;
  const std::string file =
      version == "-" ? soname_link : fmt::format("{}.so.{}", library.stem, version);
  const std::string soname = library.suffix.empty() ? file : soname_link;
  AddFile(fmt::format("{}/{}", folder, file), soname, library.stem);
  std::vector<std::string> links;
  if (soname != file) {
    tree_.Link(fmt::format("{}/{}", folder, soname), file);
    links.push_back(soname);
  }
  if (library.has_plain_link) {
    const std::string plain = fmt::format("{}.so", library.stem);
    tree_.Link(fmt::format("{}/{}", folder, plain), soname);
    links.push_back(plain);
  }
  if (is_private) {
    for (const std::string& link : links) {
      AddAlternative(link, folder);
    }
  }
  AddToCache(soname);
  if (library.has_plain_link) {
    AddToCache(fmt::format("{}.so", library.stem));
  }
}

// Files outside the folders that ld.so searches.
void LibraryPlanner::AddExtras() {
  const std::string& version = host_.library_version;
  const std::string vdpau = fmt::format("{}/vdpau/libvdpau_nvidia.so", folder_);
  tree_.File(fmt::format("{}.{}", vdpau, version), Stub(host_, is_32bit_, "libvdpau_nvidia.so.1"));
  tree_.Link(vdpau + ".1", "libvdpau_nvidia.so." + version);
  if (is_32bit_) {
    return;
  }
  tree_.Link(folder_ + "/gbm/nvidia-drm_gbm.so", "../libnvidia-allocator.so.1");
  const std::string xorg = host_.distro == Distro::kRhel || host_.distro == Distro::kSuse
                               ? "usr/lib64/xorg/modules"
                               : "usr/lib/xorg/modules";
  const std::string glx = "libglxserver_nvidia.so";
  tree_.File(xorg + "/drivers/nvidia_drv.so", Stub(host_, false, "nvidia_drv.so"));
  tree_.File(fmt::format("{}/extensions/{}.{}", xorg, glx, version), Stub(host_, false, glx));
  tree_.Link(fmt::format("{}/extensions/{}", xorg, glx), fmt::format("{}.{}", glx, version));
  if (!host_.nvswitches.empty()) {
    tree_.File(fmt::format("{}/libnvidia-nscq.so.{}", folder_, version),
               Stub(host_, false, "libnvidia-nscq.so.2"));
    tree_.Link(folder_ + "/libnvidia-nscq.so.2", "libnvidia-nscq.so." + version);
    AddToCache("libnvidia-nscq.so.2");
  }
}

void LibraryPlanner::Run() {
  for (const Library& library : kLibraries) {
    if (branch_ >= library.first_branch && branch_ <= library.last_branch &&
        (!is_32bit_ || library.has_32bit)) {
      Add(library);
    }
  }
  AddExtras();
}

}  // namespace

void PlanLibraries(const HostView& host, Tree& tree, std::vector<LdCacheEntry>& cache) {
  LibraryPlanner(host, false, tree, cache).Run();
  if (host.has_32bit && host.arch == Arch::kX86_64) {
    LibraryPlanner(host, true, tree, cache).Run();
  }
}

}  // namespace kgpu::simhost
