#include "tests/e2e/image_tree.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "tests/e2e/program.h"

namespace kgpu::e2e {
namespace {

constexpr const char* kImageScript = KGPU_SOURCE_DIR "/scripts/container.sh";

// Makes the image's loader search RHEL's folders instead of Debian's: the list is four strings in
// the loader's read-only data, and "/lib64////" is "/lib64". A loader built elsewhere would need
// another distribution's package.
void PatchLoaderFolders(const std::string& loader) {
  std::ifstream in(loader, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  in.close();
  for (const std::string_view folder : {"/usr/lib", "/lib"}) {
    const size_t at = bytes.find(std::string(1, '\0') + std::string(folder) + "/x86_64-linux-gnu/");
    const size_t alternative =
        bytes.find(std::string(1, '\0') + std::string(folder) + "/aarch64-linux-gnu/");
    const size_t found = std::min(at, alternative);
    if (found == std::string::npos) {
      ADD_FAILURE() << "the loader does not name " << folder << "/<multiarch>/";
      return;
    }
    const size_t begin = found + 1 + folder.size();
    const size_t end = bytes.find('\0', begin);
    bytes.replace(begin, end - begin, "64" + std::string(end - begin - 2, '/'));
  }
  std::ofstream out(loader, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// Moves the C library to where a RHEL-like image has it.
void BecomeRhelLike(const std::string& rootfs) {
  namespace fs = std::filesystem;
  fs::create_directories(rootfs + "/usr/lib64");
  for (const char* parent : {"/lib", "/usr/lib"}) {
    if (!fs::is_directory(rootfs + parent)) {
      continue;
    }
    for (const auto& folder : fs::directory_iterator(rootfs + parent)) {
      for (const auto& library : fs::directory_iterator(folder)) {
        fs::rename(library, rootfs + "/usr/lib64/" + library.path().filename().string());
      }
    }
    fs::remove_all(rootfs + parent);
  }
  for (const auto& loader : fs::directory_iterator(rootfs + "/lib64")) {
    PatchLoaderFolders(loader.path().string());
  }
}

void BecomeMusl(const std::string& rootfs) {
  namespace fs = std::filesystem;
  for (const char* folder : {"/lib", "/usr/lib", "/lib64"}) {
    fs::remove_all(rootfs + folder);
  }
  fs::create_directories(rootfs + "/lib");
  std::ofstream(rootfs + "/lib/ld-musl-x86_64.so.1") << "";
}

}  // namespace

void MakeImageTree(const std::string& rootfs, ImageFamily family,
                   const std::vector<std::string>& programs) {
  std::string script = fmt::format("set -euo pipefail\n. {}\nmake_rootfs {}", kImageScript, rootfs);
  for (const std::string& program : programs) {
    fmt::format_to(std::back_inserter(script), " {}", ProgramPath(program));
  }
  const Result made = RunProgram({"/bin/bash", "-c", script});
  EXPECT_EQ(made.code, 0) << made.err;
  if (family == ImageFamily::kRhelLike) {
    BecomeRhelLike(rootfs);
  } else if (family == ImageFamily::kMusl) {
    BecomeMusl(rootfs);
  }
}

}  // namespace kgpu::e2e
